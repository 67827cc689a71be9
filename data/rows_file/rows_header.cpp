#include "data/rows_file/rows_header.hpp"

#include "data/text/checksum.hpp"
#include "data/text/shown_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace troupe {

namespace {

constexpr uint64_t chunk_bytes_wanted = uint64_t{1} << 20;

std::string names_text(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump();
}

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
  const auto n = x.row_count, f = x.feature_count, m = x.chunk_count();
  add_packed(header, "chunk_checksums", "U64", {m, 2});
  add_packed(header, "column_means", "F64", {f});
  add_packed(header, "column_squares", "F64", {f});
  if (x.is_classification())
    add_packed(header, "labels", "I32", {n});
  else
    add_packed(header, "targets", "F32", {n, x.target_count()});
  add_packed(header, "features", x.type == feature_type::u8 ? "U8" : "F32", {n, f});
  auto text = safetensors_front(header);
  const auto begin = [&](size_t tensor) {
    return text.size() + header.tensors[tensor].data_offsets[0];
  };
  const rows_places places{begin(0), begin(1), begin(2), begin(3), begin(4)};
  return {std::move(text), places};
}

std::string fingerprint_of(const rows_header& header, std::string_view front) {
  sha256 digest;
  digest.update(std::as_bytes(std::span{front.substr(safetensors_length_bytes)}));
  digest.update(std::as_bytes(std::span{header.checksums}));
  digest.update(std::as_bytes(std::span{header.column_means}));
  digest.update(std::as_bytes(std::span{header.column_squares}));
  return digest.hex();
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

namespace {

/// Reads a header's facts, each of which it refuses when it cannot be.
class header_parser {
public:
  explicit header_parser(const tensor_file& file) : file_(file) {}

  parsed_rows parse() {
    if (file_.metadata("format") != rows_format_name)
      file_.refuse(
        "the file holds tensors, but no rows for training",
        "a model? 'troupe inspect' shows one; rows are written by 'troupe data convert'");
    parsed_rows result;
    auto& rows = result.header;
    const auto& features = file_.tensor("features", {"F32", "U8"}, 2);
    rows.row_count = features.shape[0];
    rows.feature_count = features.shape[1];
    rows.type = features.dtype == "U8" ? feature_type::u8 : feature_type::f32;
    require(rows.row_count >= 1 && rows.row_count <= rows_count_max, "features",
            "1 to 4294967295 rows are allowed");
    require(rows.feature_count >= 1 && rows.feature_count <= rows_columns_max, "features",
            "1 to 16777216 columns are allowed");
    rows.chunk_rows = number("chunk_rows");
    if (rows.chunk_rows == 0 || rows.chunk_rows > rows.row_count)
      file_.refuse("its chunks would have " + std::to_string(rows.chunk_rows) + " rows of " +
                   std::to_string(rows.row_count));
    rows.feature_names = names("features", rows.feature_count);
    require(file_.tensor_count() == 5, {}, "a file of rows has five tensors");
    auto& places = result.places;
    places.targets = tell_targets(rows);
    places.checksums = require_shape("chunk_checksums", "U64", {rows.chunk_count(), 2});
    places.means = require_shape("column_means", "F64", {rows.feature_count});
    places.squares = require_shape("column_squares", "F64", {rows.feature_count});
    places.features = features.data_offsets[0];
    // The fingerprint is of what lies before the rows: everything that tells of them.
    require(std::max({places.checksums, places.means, places.squares}) < places.targets &&
              places.targets < places.features,
            "chunk_checksums", "the tensors are not in the order of the format");
    return result;
  }

private:
  void require(bool holds, const std::string& name, const std::string& rule) const {
    if (!holds)
      file_.refuse((name.empty() ? "" : "tensor " + shown_text(name) + ": ") + rule);
  }

  /// Where the tensor begins.
  uint64_t require_shape(const std::string& name, std::string_view dtype,
                         const std::vector<uint64_t>& shape) const {
    const auto& tensor = file_.tensor(name, {dtype}, shape.size());
    require(tensor.shape == shape, name, "its shape does not fit the features'");
    return tensor.data_offsets[0];
  }

  /// Where they begin.
  uint64_t tell_targets(rows_header& rows) const {
    rows.target_names = names("target", 0);
    const bool has_labels = file_.has("labels");
    require(has_labels != file_.has("targets"), {}, "there are to be either 'labels' or 'targets'");
    if (has_labels) {
      const auto place = require_shape("labels", "I32", {rows.row_count});
      rows.classes = names("classes", 0);
      require(rows.classes.size() >= 2, "labels",
              "it has " + std::to_string(rows.classes.size()) + " classes");
      require(rows.target_names.size() == 1, "labels", "it has to have one name");
      rows.class_rows = counts("class_rows", rows.classes.size());
      const auto total =
        std::accumulate(rows.class_rows.begin(), rows.class_rows.end(), uint64_t{0});
      require(total == rows.row_count, "labels", "the rows of its classes are not all rows");
      return place;
    }
    require(!rows.target_names.empty(), "targets", "it has no names");
    const auto place = require_shape("targets", "F32", {rows.row_count, rows.target_names.size()});
    rows.target_minimum = real("target_minimum");
    rows.target_maximum = real("target_maximum");
    require(rows.target_minimum <= rows.target_maximum, "targets",
            "its least value is above its greatest");
    return place;
  }

  nlohmann::json value_of(const std::string& name) const {
    auto result = nlohmann::json::parse(file_.metadata(name), nullptr, false);
    if (result.is_discarded())
      refuse_value(name);
    return result;
  }

  [[noreturn]] void refuse_value(const std::string& name) const {
    file_.refuse("the metadata's " + shown_text(name) + " is " + shown_text(file_.metadata(name)));
  }

  uint64_t number(const std::string& name) const {
    const auto value = value_of(name);
    if (!value.is_number_unsigned())
      refuse_value(name);
    return value.get<uint64_t>();
  }

  double real(const std::string& name) const {
    const auto value = value_of(name);
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      refuse_value(name);
    return value.get<double>();
  }

  /// `count` of them; any number when that is 0.
  std::vector<std::string> names(const std::string& name, uint64_t count) const {
    const auto value = value_of(name);
    if (!value.is_array() || (count > 0 && value.size() != count))
      refuse_value(name);
    std::vector<std::string> result;
    for (const auto& one : value) {
      if (!one.is_string())
        refuse_value(name);
      result.push_back(one.get<std::string>());
    }
    return result;
  }

  std::vector<uint64_t> counts(const std::string& name, uint64_t count) const {
    const auto value = value_of(name);
    if (!value.is_array() || value.size() != count)
      refuse_value(name);
    std::vector<uint64_t> result;
    for (const auto& one : value) {
      if (!one.is_number_unsigned() || one.get<uint64_t>() > rows_count_max)
        refuse_value(name);
      result.push_back(one.get<uint64_t>());
    }
    return result;
  }

  const tensor_file& file_;
};

} // namespace

parsed_rows parse_rows_header(const tensor_file& file) {
  return header_parser{file}.parse();
}

} // namespace troupe
