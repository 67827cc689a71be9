#include "data/rows_file/rows_header.hpp"

#include "data/model_file/safetensors_header.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

constexpr uint64_t chunk_bytes_wanted = uint64_t{1} << 20;

std::string names_text(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump();
}

/// Puts tensors one behind the other.
class packer {
public:
  explicit packer(safetensors_header& header) : header_(header) {}

  /// Where the tensor begins, counted from the first one.
  uint64_t add(std::string name, std::string dtype, std::vector<uint64_t> shape, uint64_t bytes) {
    const auto begin = std::exchange(end_, end_ + bytes);
    header_.tensors.push_back({std::move(name), std::move(shape), {begin, end_}, std::move(dtype)});
    return begin;
  }
  uint64_t end() const { return end_; }

private:
  safetensors_header& header_;
  uint64_t end_ = 0;
};

} // namespace

rows_preamble preamble_of(const rows_header& x) {
  safetensors_header header;
  auto& metadata = header.metadata;
  metadata["format"] = rows_format_name;
  metadata["chunk_rows"] = std::to_string(x.chunk_rows);
  metadata["features"] = names_text(x.feature_names);
  metadata["target"] = names_text(x.target_names);
  if (x.is_classification()) {
    metadata["classes"] = names_text(x.classes);
    metadata["class_rows"] = nlohmann::json(x.class_rows).dump();
  } else {
    metadata["target_minimum"] = nlohmann::json(x.target_minimum).dump();
    metadata["target_maximum"] = nlohmann::json(x.target_maximum).dump();
  }
  packer tensors{header};
  rows_places places;
  const auto n = x.row_count, f = x.feature_count, m = x.chunk_count();
  places.checksums = tensors.add("chunk_checksums", "U64", {m, 2}, m * 2 * sizeof(uint64_t));
  places.means = tensors.add("column_means", "F64", {f}, f * sizeof(double));
  places.squares = tensors.add("column_squares", "F64", {f}, f * sizeof(double));
  places.targets = x.is_classification()
                     ? tensors.add("labels", "I32", {n}, n * x.target_bytes())
                     : tensors.add("targets", "F32", {n, x.target_count()}, n * x.target_bytes());
  places.features = tensors.add("features", x.type == feature_type::u8 ? "U8" : "F32", {n, f},
                                n * x.feature_bytes());
  places.end = tensors.end();
  const auto text = safetensors_header_text(header);
  const auto length = safetensors_length(text.size());
  rows_preamble result{
    std::string(reinterpret_cast<const char*>(length.data()), length.size()) + text, places};
  for (auto* place : {&result.places.checksums, &result.places.means, &result.places.squares,
                      &result.places.targets, &result.places.features, &result.places.end})
    *place += result.text.size();
  return result;
}

uint64_t default_chunk_rows(uint64_t row_count, uint64_t feature_bytes) {
  return std::clamp<uint64_t>(chunk_bytes_wanted / std::max<uint64_t>(feature_bytes, 1), 1,
                              std::max<uint64_t>(row_count, 1));
}

bool looks_like_safetensors(std::string_view start) {
  constexpr size_t length_bytes = 8;
  // A header of more than 2^40 bytes is refused anyway, so three of the length's bytes are 0.
  return start.size() > length_bytes && start.substr(5, 3) == std::string_view("\0\0\0", 3) &&
         start[length_bytes] == '{';
}

} // namespace troupe
