// The JSON header of a safetensors file, as it stands there. The grammar is so small that it is
// read as a stream of events: no document is built, nothing can nest deeper than the format does,
// and a name that comes twice is seen.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
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
  std::string dtype = "F32";
};

struct safetensors_header {
  std::map<std::string, std::string> metadata;
  std::vector<safetensors_entry> tensors; ///< in the order of the header
};

/// The types of tensors that hold models.
inline constexpr std::array<std::string_view, 1> model_dtypes{"F32"};

/// Reads a header. Throws failure(bad_data), with `path` as where, when `json` is anything but a
/// header whose tensors are all of these types and have a name of their own, a shape and two
/// offsets.
safetensors_header
parse_safetensors_header(std::string_view json, const std::string& path,
                         std::span<const std::string_view> dtypes = model_dtypes);

/// The header as it stands in a file behind its length, padded with spaces so that both together
/// fill whole groups of 8 bytes. Throws std::invalid_argument for a name or a text of the metadata
/// that is not UTF-8, and for a tensor called "__metadata__".
std::string safetensors_header_text(const safetensors_header& header);

/// The length of a header's text, as it stands in the first 8 bytes of a file.
std::array<std::byte, 8> safetensors_length(size_t header_bytes);

} // namespace troupe
