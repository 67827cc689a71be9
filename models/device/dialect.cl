// What the shared functions (models/shared) are written in, for an OpenCL compiler. The C++ side: models/math/elementary.hpp.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define uint64_t ulong
#define TROUPE_SHARED static inline
#define TROUPE_SHARED_CONSTANT __constant
#define to_float(x) ((float)(x))
#define to_double(x) ((double)(x))
#define to_signed(x) ((long)(x))
#define to_bits(x) as_ulong(x)
#define from_bits(x) as_double((ulong)(x))

// OpenCL has functions of these names, with other bits.
#define exp shared_exp
#define expm1 shared_expm1
#define tanh shared_tanh
#define log shared_log
#define log1p shared_log1p
#define atan shared_atan
#define square_root(x) sqrt(x)
