#include "troupe/data/rows_file/write_rows.hpp"

#include "troupe/data/rows_file/rows_writer.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

rows_header rows_header_of(const dataset& rows, std::optional<uint64_t> chunk_rows) {
  rows_header result;
  result.row_count = rows.row_count;
  result.feature_count = rows.feature_count;
  result.type = std::ranges::all_of(
                  rows.features, [](float x) { return x >= 0 && x <= 255 && std::trunc(x) == x; })
                  ? feature_type::u8
                  : feature_type::f32;
  result.feature_names = rows.feature_names;
  result.target_names = rows.target_names;
  result.classes = rows.classes;
  result.class_rows.assign(rows.classes.size(), 0);
  for (const auto label : rows.labels)
    ++result.class_rows[static_cast<size_t>(label)];
  if (!rows.targets.empty()) {
    const auto [least, most] = std::ranges::minmax(rows.targets);
    result.target_minimum = least;
    result.target_maximum = most;
  }
  result.chunk_rows = std::min<uint64_t>(
    chunk_rows.value_or(default_chunk_rows(rows.row_count, result.feature_bytes())),
    rows.row_count);
  return result;
}

void write_rows(const std::string& path, const dataset& rows, std::optional<uint64_t> chunk_rows) {
  rows_writer writer{path, rows_header_of(rows, chunk_rows)};
  writer.append({rows.features, rows.labels, rows.targets});
  writer.publish();
}

rows_header write_part(const rows_file& file, uint64_t begin, uint64_t end,
                       const std::string& path) {
  const auto& whole = file.header();
  auto header = whole;
  header.row_count = end - begin;
  header.chunk_rows = std::min(whole.chunk_rows, header.row_count);
  header.class_rows.assign(whole.classes.size(), 0);
  const auto for_each_row = [&](auto read, auto take) {
    for (auto number = begin / whole.chunk_rows; number * whole.chunk_rows < end; ++number) {
      const auto first = number * whole.chunk_rows;
      const rows_chunk chunk = read(number);
      for (auto row = std::max(begin, first); row < std::min(end, first + chunk.row_count); ++row)
        take(chunk, row - first);
    }
  };
  for_each_row([&](uint64_t number) { return file.read_targets(number); },
               [&](const rows_chunk& chunk, size_t row) {
                 if (whole.is_classification())
                   ++header.class_rows[static_cast<size_t>(chunk.labels[row])];
               });
  rows_writer writer{path, header};
  std::vector<float> features(whole.feature_count);
  for_each_row(
    [&](uint64_t number) { return file.read_chunk(number); },
    [&](const rows_chunk& chunk, size_t row) {
      file.copy_features(chunk, row, features);
      const auto width = whole.target_count();
      if (whole.is_classification())
        writer.append({features, std::span{chunk.labels}.subspan(row, 1), {}});
      else
        writer.append({features, {}, std::span{chunk.targets}.subspan(row * width, width)});
    });
  writer.publish();
  return header;
}

} // namespace troupe
