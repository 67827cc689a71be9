#include "models/device/opened_device.hpp"

#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

// The sources of kernels, as they lie in the project.
#define TROUPE_TEXT(name, file)                                                                    \
  asm(".pushsection .rodata\n.global troupe_" #name "\ntroupe_" #name ":\n.incbin \"" file         \
      "\"\n.byte 0\n.popsection\n");                                                               \
  extern "C" const char troupe_##name[]
TROUPE_TEXT(cl_dialect, "models/device/dialect.cl");
TROUPE_TEXT(cl_elementary, "models/shared/elementary.hpp");
TROUPE_TEXT(cl_activations, "models/shared/activations.hpp");
TROUPE_TEXT(cl_losses, "models/shared/losses.hpp");
TROUPE_TEXT(cl_kernels, "models/device/kernels.cl");
#undef TROUPE_TEXT

namespace troupe {

namespace {

using opencl::check, opencl::loaded;

opencl::owned<cl_context> make_context(const device_facts& which, cl_device_id id) {
  cl_int code = CL_SUCCESS;
  auto* const made = loaded()->clCreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
  check(code, which.name, "a context");
  return opencl::own(made);
}

std::string build_log(cl_program program, cl_device_id id) {
  size_t size = 0;
  loaded()->clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string result(size, '\0');
  loaded()->clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, result.data(), nullptr);
  return result.substr(0, 2000);
}

opencl::owned<cl_program> make_program(const device_facts& which, cl_context context,
                                       cl_device_id id, size_t product_values) {
  const char* texts[] = {troupe_cl_dialect, troupe_cl_elementary, troupe_cl_activations,
                         troupe_cl_losses, troupe_cl_kernels};
  cl_int code = CL_SUCCESS;
  auto result = opencl::own(
    loaded()->clCreateProgramWithSource(context, std::size(texts), texts, nullptr, &code));
  check(code, which.name, "its program");
  auto options = "-w -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt -DEACH=" +
                 std::to_string(product_values);
  // For tests: a product that is not the right one.
  if (const char* broken = std::getenv("TROUPE_TEST_BROKEN_DEVICE");
      broken != nullptr && std::string_view{broken} == "product")
    options += " -DBROKEN";
  code = loaded()->clBuildProgram(result.get(), 1, &id, options.c_str(), nullptr, nullptr);
  if (code == CL_BUILD_PROGRAM_FAILURE)
    throw device_error(which.name +
                       ": its compiler refuses the kernels: " + build_log(result.get(), id));
  check(code, which.name, "compiling the kernels");
  return result;
}

} // namespace

device::device(const device_facts& which, cl_device_id id)
  : facts_(which),
    id_(id),
    context_(make_context(which, id)),
    program_(make_program(which, context_.get(), id, product_values())) {}

} // namespace troupe
