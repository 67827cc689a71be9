#include "troupe/data/checkpoint/checkpoint_names.hpp"

#include "troupe/data/disk/disk.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace troupe {

namespace {

constexpr std::string_view name_start = "checkpoint-";
constexpr std::string_view name_end = ".troupe";
constexpr size_t version_digits = 12;

} // namespace

std::string checkpoint_name(uint64_t version) {
  const auto digits = std::to_string(version);
  const auto zeros = version_digits > digits.size() ? version_digits - digits.size() : 0;
  return std::string{name_start} + std::string(zeros, '0') + digits + std::string{name_end};
}

std::optional<uint64_t> version_in(std::string_view name) {
  if (!name.starts_with(name_start) || !name.ends_with(name_end) ||
      name.size() < name_start.size() + version_digits + name_end.size())
    return std::nullopt;
  const auto digits =
    name.substr(name_start.size(), name.size() - name_start.size() - name_end.size());
  uint64_t version = 0;
  const auto end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, version);
  if (error != std::errc{} || stop != end || checkpoint_name(version) != name)
    return std::nullopt;
  return version;
}

std::map<uint64_t, std::string> checkpoints_in(const std::string& folder) {
  std::map<uint64_t, std::string> result;
  try {
    for (const auto& name : posix_disk()->list(folder))
      if (const auto version = version_in(name))
        result.emplace(*version, folder + '/' + name);
  } catch (const disk_error&) { // nothing to be found there
  }
  return result;
}

} // namespace troupe
