#include "data/source/binary_source.hpp"

#include "data/text/failure.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

binary_source::binary_source(const std::string& path) : source_(path) {
  while (start_bytes_ < start_.size()) {
    const auto count = source_.read(std::span(start_).subspan(start_bytes_));
    if (count == 0)
      return;
    start_bytes_ += count;
  }
}

/// What was read to look at it comes first.
size_t binary_source::read_some(std::span<char> out) {
  if (offset_ >= start_bytes_)
    return source_.read(out);
  const auto first = start().substr(offset_, out.size());
  std::copy(first.begin(), first.end(), out.begin());
  return first.size();
}

void binary_source::read(std::span<char> out, std::string_view what) {
  while (!out.empty()) {
    const auto count = read_some(out);
    if (count == 0)
      fail(offset_, "the file ends within " + std::string(what),
           "it is damaged or was not copied whole: get it again");
    offset_ += count;
    out = out.subspan(count);
  }
}

bool binary_source::expect_rest(uint64_t bytes) const {
  const auto size = source_.size();
  if (!size)
    return false;
  const auto rest = *size > offset_ ? *size - offset_ : 0;
  if (rest != bytes)
    fail(offset_,
         "the header promises " + std::to_string(bytes) + " bytes of values, " +
           std::to_string(rest) + " follow",
         "the file is damaged or was not copied whole: get it again");
  return true;
}

void binary_source::expect_end() {
  char surplus;
  if (read_some({&surplus, 1}) != 0)
    fail(offset_, "bytes follow the last value", "the file is damaged: get it again");
}

void binary_source::fail(uint64_t offset, const std::string& reason, std::string hint) const {
  throw failure(failure_code::bad_data, reason + ", at byte " + std::to_string(offset), path(),
                std::move(hint));
}

} // namespace troupe
