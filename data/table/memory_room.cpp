#include "data/table/memory_room.hpp"

#include "data/text/failure.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

constexpr auto no_limit = std::numeric_limits<uint64_t>::max();

/// The number a text begins with, after blanks; nothing for "max".
std::optional<uint64_t> number_in(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  uint64_t result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  return error == std::errc{} ? std::optional{result} : std::nullopt;
}

std::optional<uint64_t> number_in_file(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return number_in(line);
}

/// Of a file with lines "NAME NUMBER" or "NAME: NUMBER".
std::optional<uint64_t> number_called(const std::string& name, const std::string& path) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name))
      return number_in(std::string_view{line}.substr(name.size()));
  return std::nullopt;
}

uint64_t rest(uint64_t limit, uint64_t used) {
  return limit > used ? limit - used : 0;
}

uint64_t available_in_machine(const std::string& proc) {
  const auto found = number_called("MemAvailable:", proc + "/meminfo");
  return found ? *found * 1024 : no_limit; // it counts in KiB
}

/// The names of one version's files, and of the pages in memory.stat that can be had back.
struct group_files {
  const char *limit, *used, *files;
};
constexpr group_files second_version{"/memory.max", "/memory.current", "inactive_file "};
constexpr group_files first_version{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                    "total_inactive_file "};

uint64_t available_in_group(const std::string& folder, const group_files& names) {
  const auto limit = number_in_file(folder + names.limit);
  const auto used = number_in_file(folder + names.used);
  if (!limit || !used)
    return no_limit;
  const auto files = number_called(names.files, folder + "/memory.stat").value_or(0);
  return rest(*limit, rest(*used, files));
}

/// Of the group and all that it is in. In a container they are told by the names that they have
/// outside, and only the innermost is there: as the root.
uint64_t available_in_groups(const std::string& root, std::string path, const group_files& names) {
  uint64_t result = available_in_group(root, names);
  for (; path.size() > 1; path.erase(path.find_last_of('/')))
    result = std::min(result, available_in_group(root + path, names));
  return result;
}

/// Lines are "NUMBER:CONTROLLERS:PATH", of version 2 "0::PATH".
uint64_t available_in_groups(const memory_sources& from) {
  uint64_t result = no_limit;
  std::ifstream file{from.proc + "/self/cgroup"};
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const auto controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const auto path = line.substr(second + 1);
    if (controllers == ",,")
      result = std::min(result, available_in_groups(from.groups, path, second_version));
    else if (controllers.find(",memory,") != std::string::npos)
      result = std::min(result, available_in_groups(from.groups + "/memory", path, first_version));
  }
  return result;
}

std::optional<uint64_t> limit_of_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

uint64_t available_in_address_space(const std::string& proc) {
  const auto limit = limit_of_address_space();
  if (!limit)
    return no_limit;
  const auto pages = number_in_file(proc + "/self/statm").value_or(0);
  return rest(*limit, pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
}

} // namespace

free_memory memory_left(const memory_sources& from) {
  return {available_in_machine(from.proc), available_in_groups(from),
          available_in_address_space(from.proc)};
}

void spare_address_space() {
  if (limit_of_address_space())
    ::mallopt(M_ARENA_MAX, 1);
}

uint64_t memory_available(const memory_sources& from) {
  const auto left = memory_left(from);
  return std::min({left.machine, left.groups, left.address_space});
}

table_limit::table_limit(std::string path, uint64_t bytes_max)
  : path_(std::move(path)), bytes_max_(bytes_max ? bytes_max : memory_available()) {}

void table_limit::refuse(uint64_t bytes) const {
  throw failure(failure_code::bad_data,
                "the table needs at least " + std::to_string(bytes) + " bytes of memory, " +
                  std::to_string(bytes_max_) + " are available",
                path_, "train on a part of the rows, or on a machine with more memory");
}

} // namespace troupe
