#include "models/device/opencl.hpp"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace troupe::opencl {

namespace {

const library* load() {
  void* const found = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (found == nullptr)
    return nullptr;
  static library result;
#define TROUPE_FIND(name)                                                                          \
  result.name = reinterpret_cast<decltype(&::name)>(dlsym(found, #name));                          \
  if (result.name == nullptr)                                                                      \
    return nullptr;
  TROUPE_OPENCL_FUNCTIONS(TROUPE_FIND)
#undef TROUPE_FIND
  return &result;
}

#define TROUPE_NAMED_ERROR(name)                                                                   \
  std::pair<cl_int, const char*> {                                                                 \
    name, #name                                                                                    \
  }
constexpr std::array error_names{TROUPE_NAMED_ERROR(CL_DEVICE_NOT_AVAILABLE),
                                 TROUPE_NAMED_ERROR(CL_COMPILER_NOT_AVAILABLE),
                                 TROUPE_NAMED_ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
                                 TROUPE_NAMED_ERROR(CL_OUT_OF_RESOURCES),
                                 TROUPE_NAMED_ERROR(CL_OUT_OF_HOST_MEMORY),
                                 TROUPE_NAMED_ERROR(CL_BUILD_PROGRAM_FAILURE),
                                 TROUPE_NAMED_ERROR(CL_INVALID_BUFFER_SIZE),
                                 TROUPE_NAMED_ERROR(CL_INVALID_KERNEL_ARGS),
                                 TROUPE_NAMED_ERROR(CL_INVALID_KERNEL_NAME),
                                 TROUPE_NAMED_ERROR(CL_INVALID_WORK_GROUP_SIZE)};

std::string words_of(cl_int code) {
  for (const auto& [known, name] : error_names)
    if (known == code)
      return std::string{name} + " (" + std::to_string(code) + ')';
  return "OpenCL error " + std::to_string(code);
}

} // namespace

const library* loaded() {
  static const library* const result = load();
  return result;
}

void check(cl_int code, const std::string& device, const char* what) {
  if (code != CL_SUCCESS)
    throw device_error(device + ": " + what + ": " + words_of(code));
}

} // namespace troupe::opencl
