// The JSON header of a safetensors file, as it stands there. The grammar is so small that it is
// read as a stream of events: no document is built, nothing can nest deeper than the format does,
// and a name that comes twice is seen. All files that we write or read are packed: each tensor begins
// where the one before it ends.

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

/// The tensors in the order of their data. Throws failure(bad_data), with `path` and `hint`, unless the
/// offsets of each span the bytes of its shape and begin where the tensor before it ends.
std::vector<safetensors_entry> packed_tensors(std::vector<safetensors_entry> tensors,
                                              const std::string& path, const std::string& hint);

/// Adds a tensor behind the others.
void add_packed(safetensors_header& header, std::string name, std::string dtype,
                std::vector<uint64_t> shape);

/// Bytes of the number that a file begins with: the length of its header.
inline constexpr size_t safetensors_length_bytes = 8;

/// A file's first bytes: the length of the header and the header, padded with spaces to whole groups of 8
/// bytes, `bytes_min` at least. Throws std::invalid_argument for a name or a text of the metadata that is
/// not UTF-8, and for a tensor called "__metadata__".
std::string safetensors_front(const safetensors_header& header, size_t bytes_min = 0);

} // namespace troupe
