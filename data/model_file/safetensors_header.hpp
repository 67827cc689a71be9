// The JSON header of a safetensors file, as it stands there. The grammar is so small that it is
// read as a stream of events: no document is built, nothing can nest deeper than the format does,
// and a name that comes twice is seen.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A longer header is refused; the limit of the format's own reader.
inline constexpr size_t safetensors_header_bytes_max = 100'000'000;

/// More tensors are refused: a layout looks each new name up among all others, so twice as many
/// take four times as long (these take a fraction of a second). Large models have some thousand.
inline constexpr size_t safetensors_tensors_max = 16'384;

/// One tensor of a header; its numbers are not checked against each other.
struct safetensors_entry {
  std::string name;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> data_offsets; ///< begin and end in bytes: two numbers
};

struct safetensors_header {
  std::map<std::string, std::string> metadata;
  std::vector<safetensors_entry> tensors; ///< in the order of the header
};

/// Reads a header. Throws failure(bad_data), with `path` as where, when `json` is anything but a
/// header whose tensors are all "F32" and have a name of their own, a shape and two offsets.
safetensors_header parse_safetensors_header(std::string_view json, const std::string& path);

} // namespace troupe
