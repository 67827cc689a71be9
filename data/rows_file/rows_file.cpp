#include "data/rows_file/rows_file.hpp"

#include "data/source/text_source.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/number_text.hpp"
#include "models/math/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

constexpr std::array<std::string_view, 5> dtypes{"F32", "U8", "I32", "U64", "F64"};

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span{values});
}

} // namespace

rows_file::rows_file(const std::string& path)
  : file_(open_to_read(*posix_disk(), path), path, dtypes,
          "the file is damaged, or not one of rows: make it anew with 'troupe data convert'") {
  read_header();
}

void rows_file::read_header() {
  auto told = parse_rows_header(file_);
  header_ = std::move(told.header);
  places_ = told.places;
  header_.checksums.resize(header_.chunk_count());
  header_.column_means.resize(header_.feature_count);
  header_.column_squares.resize(header_.feature_count);
  file_.read(places_.checksums, bytes_of(header_.checksums));
  file_.read(places_.means, bytes_of(header_.column_means));
  file_.read(places_.squares, bytes_of(header_.column_squares));
  for (size_t j = 0; j < header_.feature_count; ++j)
    if (!std::isfinite(header_.column_means[j]) || !std::isfinite(header_.column_squares[j]) ||
        header_.column_squares[j] < 0)
      file_.refuse("the statistics of column " + std::to_string(j) + " cannot be");
  fingerprint_ = fingerprint_of(header_, file_.front());
}

void rows_file::refuse_chunk(uint64_t number, const std::string& what, uint64_t place) const {
  const auto first = number * header_.chunk_rows;
  const auto last = std::min(first + header_.chunk_rows, header_.row_count) - 1;
  file_.refuse(what + " of chunk " + std::to_string(number) + " (rows " + std::to_string(first) +
                 " to " + std::to_string(last) + ", from byte " + std::to_string(place) + ")",
               "'troupe data check' lists all that is damaged; make the file anew with 'troupe "
               "data convert'");
}

void rows_file::read_part(uint64_t number, chunk_part part, uint64_t place,
                          std::span<std::byte> out) const {
  const std::string name = part == chunk_part::features ? "features" : "targets";
  if (!file_.read_at(place, out))
    refuse_chunk(
      number, "the file is shorter than when it was opened and ends before the end of the " + name,
      place);
  if (short_checksum_of(out) != header_.checksums[number][static_cast<size_t>(part)])
    refuse_chunk(number, "the checksum is not that of the " + name, place);
}

rows_chunk rows_file::read_targets(uint64_t number) const {
  const auto first = number * header_.chunk_rows;
  const auto place = places_.targets + first * header_.target_bytes();
  rows_chunk chunk;
  chunk.row_count = std::min(header_.chunk_rows, header_.row_count - first);
  chunk.labels.resize(header_.is_classification() ? chunk.row_count : 0);
  chunk.targets.resize(chunk.row_count * header_.target_count());
  read_part(number, chunk_part::targets, place,
            header_.is_classification() ? bytes_of(chunk.labels) : bytes_of(chunk.targets));
  const auto classes = static_cast<int32_t>(header_.classes.size());
  if (std::ranges::any_of(chunk.labels, [&](int32_t x) { return x < 0 || x >= classes; }))
    refuse_chunk(number, "a label is none of the classes", place);
  if (!all_finite(chunk.targets.data(), chunk.targets.size()))
    refuse_chunk(number, "a target is not a finite number", place);
  return chunk;
}

rows_chunk rows_file::read_chunk(uint64_t number) const {
  auto chunk = read_targets(number);
  const auto place = places_.features + number * header_.chunk_rows * header_.feature_bytes();
  chunk.features.resize(chunk.row_count * header_.feature_bytes());
  read_part(number, chunk_part::features, place, chunk.features);
  const auto* values = reinterpret_cast<const float*>(chunk.features.data());
  if (header_.type == feature_type::f32 &&
      !all_finite(values, chunk.features.size() / sizeof(float)))
    refuse_chunk(number, "a feature is not a finite number", place);
  return chunk;
}

rows_reader::rows_reader(const std::string& path) : row_reader(path, path), file_(path) {
  auto names = file_.header().feature_names;
  for (const auto& name : file_.header().target_names)
    names.push_back(name);
  features_.resize(file_.header().feature_count);
  set_columns(std::move(names), true);
}

bool rows_reader::read_rows(table_chunk& out, size_t rows_max) {
  out.clear();
  while (out.row_count < rows_max) {
    if (row_ == chunk_.row_count) {
      if (next_chunk_ == file_.header().chunk_count())
        break;
      chunk_ = file_.read_chunk(next_chunk_++);
      row_ = 0;
    }
    append_row(out);
  }
  rows_given_ += out.row_count;
  return out.row_count > 0;
}

void rows_reader::append_row(table_chunk& out) {
  file_.copy_features(chunk_, row_, features_);
  const auto begin = out.features.size();
  out.features.resize(begin + feature_count());
  for (size_t column = 0; column < column_count(); ++column)
    if (const auto slot = feature_slot(column); slot != no_feature)
      out.features[begin + slot] =
        column < features_.size() ? features_[column]
        : chunk_.targets.empty()
          ? static_cast<float>(chunk_.labels[row_])
          : chunk_.targets[row_ * file_.header().target_count() + column - features_.size()];
  for (const auto column : target_columns())
    append_target(out, column);
  ++out.row_count;
  ++row_;
}

void rows_reader::append_target(table_chunk& out, size_t column) const {
  if (column >= features_.size() && file_.header().is_classification()) {
    const auto& name = file_.header().classes[static_cast<size_t>(chunk_.labels[row_])];
    double value = 0;
    const bool is_number = read_number(name, value) == number_status::number;
    out.target_cells.push_back(name);
    out.target_numbers.push_back(is_number ? value : std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const auto value =
    column < features_.size()
      ? features_[column]
      : chunk_.targets[row_ * file_.header().target_count() + column - features_.size()];
  out.target_cells.push_back(fmt::format("{:.9g}", value));
  out.target_numbers.push_back(value);
}

void rows_reader::fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                 const std::string& hint) const {
  const auto width = rows.target_cells.size() / rows.row_count;
  const auto row = rows_given_ - rows.row_count + i / width;
  throw failure(failure_code::bad_data, reason, path() + ": row " + std::to_string(row), hint);
}

} // namespace troupe
