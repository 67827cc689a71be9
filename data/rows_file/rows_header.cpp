#include "data/rows_file/rows_header.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
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

namespace {

[[noreturn]] void refuse_header(const std::string& path, const std::string& reason,
                                const std::string& hint = {}) {
  throw failure(failure_code::bad_data, reason, path,
                hint.empty() ? "the file is damaged: make it anew with 'troupe data convert'"
                             : hint);
}

uint64_t bytes_of_dtype(std::string_view dtype) {
  return dtype == "U8" ? 1 : dtype == "F32" || dtype == "I32" ? 4 : 8;
}

/// Reads a header's facts, each of which it refuses when it cannot be.
class header_parser {
public:
  header_parser(const safetensors_header& header, uint64_t header_bytes, uint64_t file_bytes,
                const std::string& path)
    : header_(header), header_bytes_(header_bytes), file_bytes_(file_bytes), path_(path) {
    for (const auto& tensor : header.tensors)
      tensors_.emplace(tensor.name, &tensor);
  }

  parsed_rows parse() {
    if (const auto found = header_.metadata.find("format");
        found == header_.metadata.end() || found->second != rows_format_name)
      refuse_header(
        path_, "the file holds tensors, but no rows for training",
        "a model? 'troupe inspect' shows one; rows are written by 'troupe data convert'");
    require_packed();
    parsed_rows result;
    auto& rows = result.header;
    const auto& features = tensor("features", {"F32", "U8"}, 2);
    rows.row_count = features.shape[0];
    rows.feature_count = features.shape[1];
    rows.type = features.dtype == "U8" ? feature_type::u8 : feature_type::f32;
    require(rows.row_count >= 1 && rows.row_count <= rows_count_max, "features",
            "1 to 4294967295 rows are allowed");
    require(rows.feature_count >= 1 && rows.feature_count <= rows_columns_max, "features",
            "1 to 16777216 columns are allowed");
    rows.chunk_rows = number("chunk_rows");
    if (rows.chunk_rows == 0 || rows.chunk_rows > rows.row_count)
      refuse_header(path_, "its chunks would have " + std::to_string(rows.chunk_rows) +
                             " rows of " + std::to_string(rows.row_count));
    rows.feature_names = names("features", rows.feature_count);
    tell_targets(rows);
    require_shape("chunk_checksums", {"U64"}, {rows.chunk_count(), 2});
    require_shape("column_means", {"F64"}, {rows.feature_count});
    require_shape("column_squares", {"F64"}, {rows.feature_count});
    require(header_.tensors.size() == 5, {}, "a file of rows has five tensors");
    auto& places = result.places;
    places.checksums = place_of("chunk_checksums");
    places.means = place_of("column_means");
    places.squares = place_of("column_squares");
    places.targets = place_of(rows.is_classification() ? "labels" : "targets");
    places.features = place_of("features");
    places.end = file_bytes_;
    // The fingerprint is of what lies before the rows: everything that tells of them.
    require(std::max({places.checksums, places.means, places.squares}) < places.targets &&
              places.targets < places.features,
            "chunk_checksums", "the tensors are not in the order of the format");
    return result;
  }

private:
  void require(bool holds, const std::string& name, const std::string& rule) const {
    if (!holds)
      refuse_header(path_, (name.empty() ? "" : "tensor " + shown_text(name) + ": ") + rule);
  }

  const safetensors_entry& tensor(const std::string& name,
                                  std::initializer_list<std::string_view> dtypes,
                                  size_t extents) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      refuse_header(path_, "the tensor " + shown_text(name) + " is missing");
    require(std::ranges::find(dtypes, found->second->dtype) != dtypes.end(), name,
            "its type is " + found->second->dtype);
    require(found->second->shape.size() == extents, name,
            "its shape does not have " + std::to_string(extents) + " extents");
    return *found->second;
  }

  void require_shape(const std::string& name, std::initializer_list<std::string_view> dtypes,
                     const std::vector<uint64_t>& shape) const {
    require(tensor(name, dtypes, shape.size()).shape == shape, name,
            "its shape does not fit the features'");
  }

  void tell_targets(rows_header& rows) const {
    rows.target_names = names("target", 0);
    const bool has_labels = tensors_.contains("labels");
    require(has_labels != tensors_.contains("targets"), {},
            "there are to be either 'labels' or 'targets'");
    if (has_labels) {
      require_shape("labels", {"I32"}, {rows.row_count});
      rows.classes = names("classes", 0);
      require(rows.classes.size() >= 2, "labels",
              "it has " + std::to_string(rows.classes.size()) + " classes");
      require(rows.target_names.size() == 1, "labels", "it has to have one name");
      rows.class_rows = counts("class_rows", rows.classes.size());
      const auto total =
        std::accumulate(rows.class_rows.begin(), rows.class_rows.end(), uint64_t{0});
      require(total == rows.row_count, "labels", "the rows of its classes are not all rows");
      return;
    }
    require(!rows.target_names.empty(), "targets", "it has no names");
    require_shape("targets", {"F32"}, {rows.row_count, rows.target_names.size()});
    rows.target_minimum = real("target_minimum");
    rows.target_maximum = real("target_maximum");
    require(rows.target_minimum <= rows.target_maximum, "targets",
            "its least value is above its greatest");
  }

  // Each tensor takes the bytes of its shape, begins where the one before it ends, and the last one
  // ends with the file.
  void require_packed() const {
    std::vector<const safetensors_entry*> order;
    for (const auto& tensor : header_.tensors)
      order.push_back(&tensor);
    std::ranges::sort(order, {}, [](const auto* x) { return x->data_offsets; });
    uint64_t end = 0;
    for (const auto* x : order) {
      auto bytes = bytes_of_dtype(x->dtype);
      for (const auto extent : x->shape) {
        require(extent > 0 && extent <= std::numeric_limits<uint64_t>::max() / bytes, x->name,
                "its shape cannot be");
        bytes *= extent;
      }
      require(x->data_offsets[0] == end, x->name, "it does not begin where others end");
      require(x->data_offsets[1] >= end && x->data_offsets[1] - end == bytes, x->name,
              "its offsets do not span the " + std::to_string(bytes) + " bytes of its shape");
      end = x->data_offsets[1];
    }
    if (end != file_bytes_ - header_bytes_)
      refuse_header(
        path_,
        "the file is " + std::to_string(file_bytes_) + " bytes long, but its tensors end " +
          (end > file_bytes_ - header_bytes_ ? "behind" : "before") + " that, at byte " +
          std::to_string(end) + " of the " + std::to_string(file_bytes_ - header_bytes_) +
          " behind the header",
        "was it copied to its end? 'ls -l' shows its size; else make it anew with 'troupe "
        "data convert'");
  }

  uint64_t place_of(const std::string& name) const {
    return header_bytes_ + tensors_.at(name)->data_offsets[0];
  }

  nlohmann::json value_of(const std::string& name) const {
    const auto found = header_.metadata.find(name);
    if (found == header_.metadata.end())
      refuse_header(path_, "the metadata do not tell " + shown_text(name));
    auto result = nlohmann::json::parse(found->second, nullptr, false);
    if (result.is_discarded())
      refuse_value(name);
    return result;
  }

  [[noreturn]] void refuse_value(const std::string& name) const {
    refuse_header(path_, "the metadata's " + shown_text(name) + " is " +
                           shown_text(header_.metadata.at(name)));
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

  const safetensors_header& header_;
  uint64_t header_bytes_;
  uint64_t file_bytes_;
  const std::string& path_;
  std::map<std::string, const safetensors_entry*> tensors_;
};

} // namespace

parsed_rows parse_rows_header(const safetensors_header& header, uint64_t header_bytes,
                              uint64_t file_bytes, const std::string& path) {
  return header_parser{header, header_bytes, file_bytes, path}.parse();
}

} // namespace troupe
