// Loops compiled for several instruction sets, chosen when the program starts.
//
// TROUPE_MULTIVERSION in front of a function makes the compiler emit it for plain x86-64, AVX2 and
// AVX-512. By the numeric law all of them give the same bits: sums run in 16 fixed lanes and
// nothing is fused or reordered (-ffp-contract=off), so only the speed differs. Functions so marked
// should be loops over raw pointers; what they call must be inlined into them to profit.

#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) &&    \
  !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TROUPE_MULTIVERSION __attribute__((target_clones("default", "avx2", "avx512f")))
#else
// Sanitizers are not ready when the dynamic linker picks a version.
#define TROUPE_MULTIVERSION
#endif

#define TROUPE_ALWAYS_INLINE __attribute__((always_inline)) inline
