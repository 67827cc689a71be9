// The system's OpenCL library, loaded when somebody asks: its functions, and its errors in words. For the sources of
// this folder alone; C headers of OpenCL 1.2 (Debian: opencl-c-headers).

#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include "models/device/device_facts.hpp"

#include <CL/cl.h>

#include <memory>
#include <string>
#include <type_traits>

namespace troupe::opencl {

#define TROUPE_OPENCL_FUNCTIONS(use)                                                               \
  use(clGetPlatformIDs) use(clGetPlatformInfo) use(clGetDeviceIDs) use(clGetDeviceInfo)            \
    use(clCreateContext) use(clReleaseContext) use(clCreateCommandQueue)                           \
      use(clReleaseCommandQueue) use(clCreateProgramWithSource) use(clBuildProgram)                \
        use(clGetProgramBuildInfo) use(clReleaseProgram) use(clCreateKernel) use(clReleaseKernel)  \
          use(clGetKernelInfo) use(clSetKernelArg) use(clEnqueueNDRangeKernel) use(clCreateBuffer) \
            use(clReleaseMemObject) use(clEnqueueFillBuffer) use(clEnqueueReadBuffer)              \
              use(clEnqueueWriteBuffer) use(clWaitForEvents) use(clReleaseEvent) use(clFlush)

struct library {
#define TROUPE_MEMBER(name) decltype(&::name) name = nullptr;
  TROUPE_OPENCL_FUNCTIONS(TROUPE_MEMBER)
#undef TROUPE_MEMBER
};

/// Null where there is none.
const library* loaded();

/// Throws device_error "NAME: doing this: CL_OUT_OF_RESOURCES (-5)" unless `code` says that all went well.
void check(cl_int code, const std::string& device, const char* what);

/// What ends with clRelease...
template <class T>
using owned = std::unique_ptr<std::remove_pointer_t<T>, void (*)(T)>;

inline owned<cl_context> own(cl_context x) {
  return {x, [](cl_context y) { loaded()->clReleaseContext(y); }};
}
inline owned<cl_program> own(cl_program x) {
  return {x, [](cl_program y) { loaded()->clReleaseProgram(y); }};
}
inline owned<cl_command_queue> own(cl_command_queue x) {
  return {x, [](cl_command_queue y) { loaded()->clReleaseCommandQueue(y); }};
}
inline owned<cl_kernel> own(cl_kernel x) {
  return {x, [](cl_kernel y) { loaded()->clReleaseKernel(y); }};
}
inline owned<cl_mem> own(cl_mem x) {
  return {x, [](cl_mem y) { loaded()->clReleaseMemObject(y); }};
}

} // namespace troupe::opencl
