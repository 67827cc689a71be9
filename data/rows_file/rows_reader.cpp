#include "data/rows_file/rows_reader.hpp"

#include "data/source/text_source.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "data/text/number_text.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

namespace troupe {

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

dataset names_of(const rows_header& header) {
  dataset result;
  result.feature_count = header.feature_count;
  result.feature_names = header.feature_names;
  result.classes = header.classes;
  result.target_count = header.target_count();
  result.target_names = header.target_names;
  return result;
}

dataset read_rows(const rows_file& file, uint64_t bytes_max) {
  const auto& header = file.header();
  const auto bytes =
    header.row_count * (header.feature_count * sizeof(float) + header.target_bytes());
  const auto room = bytes_max > 0 ? bytes_max : memory_available();
  if (bytes > room)
    throw failure(failure_code::bad_data,
                  "its rows need " + std::to_string(bytes) + " bytes of memory, " +
                    std::to_string(room) + " are available",
                  file.path(),
                  "leave them on the disk: data.shuffle = \"lanes\" trains on windows of them");
  auto result = names_of(header);
  result.row_count = header.row_count;
  result.features.resize(header.row_count * header.feature_count);
  size_t row = 0;
  for (uint64_t number = 0; number < header.chunk_count(); ++number) {
    reading_stop::check();
    const auto chunk = file.read_chunk(number);
    for (size_t i = 0; i < chunk.row_count; ++i, ++row)
      file.copy_features(
        chunk, i,
        std::span{result.features}.subspan(row * header.feature_count, header.feature_count));
    result.labels.insert(result.labels.end(), chunk.labels.begin(), chunk.labels.end());
    result.targets.insert(result.targets.end(), chunk.targets.begin(), chunk.targets.end());
  }
  return result;
}

} // namespace troupe
