#include "models/device/device.hpp"

#include "models/device/opened_device.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

namespace troupe {

namespace {

using opencl::loaded;

struct found_device {
  device_facts facts;
  cl_device_id id;
};

template <class T>
T fact(cl_device_id id, cl_device_info what) {
  T result{};
  loaded()->clGetDeviceInfo(id, what, sizeof(result), &result, nullptr);
  return result;
}

template <class Id, class Get>
std::string text_of(const Get& get, Id id, cl_uint what) {
  size_t size = 0;
  if (get(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0)
    return "?";
  std::string result(size, '\0');
  get(id, what, size, result.data(), nullptr);
  result.resize(result.find('\0'));
  return result;
}

std::string missing(cl_device_id id) {
  const auto single = fact<cl_device_fp_config>(id, CL_DEVICE_SINGLE_FP_CONFIG);
  std::string result;
  const auto want = [&](bool is_there, const char* what) {
    if (!is_there)
      result += (result.empty() ? "" : ", ") + std::string{what};
  };
  want(fact<cl_bool>(id, CL_DEVICE_AVAILABLE) != 0, "being available");
  want(fact<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE) != 0, "a compiler");
  want(fact<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE) != 0, "little-endian numbers");
  want((single & CL_FP_FMA) != 0, "fused multiply-adds");
  want((single & CL_FP_DENORM) != 0, "subnormal numbers");
  want((single & CL_FP_INF_NAN) != 0, "infinities");
  want((single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0,
       "correctly rounded divisions and square roots");
  want(fact<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0, "double precision");
  want(fact<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE) >= 256, "work groups of 256 items");
  return result;
}

std::vector<found_device> find_devices() {
  std::vector<found_device> result;
  const auto* const cl = loaded();
  cl_uint platform_count = 0;
  if (cl == nullptr || cl->clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS)
    return result;
  std::vector<cl_platform_id> platforms(platform_count);
  cl->clGetPlatformIDs(platform_count, platforms.data(), nullptr);
  for (auto* const platform : platforms) {
    cl_uint count = 0;
    if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS)
      continue;
    std::vector<cl_device_id> ids(count);
    cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr);
    for (auto* const id : ids)
      result.push_back({{result.size(), text_of(cl->clGetDeviceInfo, id, CL_DEVICE_NAME),
                         text_of(cl->clGetPlatformInfo, platform, CL_PLATFORM_NAME),
                         (fact<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0,
                         fact<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE),
                         fact<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE), missing(id)},
                        id});
  }
  return result;
}

const std::vector<found_device>& found_devices() {
  static const auto result = find_devices();
  return result;
}

} // namespace

std::vector<device_facts> devices_here() {
  std::vector<device_facts> result;
  for (const auto& x : found_devices())
    result.push_back(x.facts);
  return result;
}

std::vector<device_facts> devices_called(std::string_view choice) {
  auto all = devices_here();
  if (choice == automatic_choice) {
    std::erase_if(all, [](const auto& x) { return x.is_processor || !x.lacks.empty(); });
    return all;
  }
  std::vector<device_facts> called;
  size_t number = 0;
  const auto [end, error] = std::from_chars(choice.data(), choice.data() + choice.size(), number);
  const bool is_number = error == std::errc{} && end == choice.data() + choice.size();
  std::string names;
  for (const auto& x : all) {
    names += (names.empty() ? "" : ", ") + std::to_string(x.number) + ": " + x.name;
    const bool is_called = is_number && number < all.size()
                             ? x.number == number
                             : !choice.empty() && x.name.find(choice) != std::string::npos;
    if (!is_called)
      continue;
    if (!x.lacks.empty())
      throw device_error(x.name + " lacks " + x.lacks +
                         ": it would give other bits than the processor");
    called.push_back(x);
  }
  if (!called.empty())
    return called;
  throw device_error("there is no device '" + std::string{choice} + "'; " +
                     (all.empty() ? "OpenCL finds none on this machine" : "here are " + names));
}

std::shared_ptr<device> open_device(const device_facts& which) {
  static std::mutex guard;
  // Never destroyed: drivers may have ended before this program's last objects do.
  static auto& opened = *new std::map<size_t, std::shared_ptr<device>>;
  const std::lock_guard lock{guard};
  auto& place = opened[which.number];
  if (!place)
    place = std::make_shared<device>(which, found_devices().at(which.number).id);
  return place;
}

} // namespace troupe
