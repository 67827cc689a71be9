#include "data/rows_file/rows_writer.hpp"

#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe {

namespace {

uint8_t byte_of(float value) {
  return value >= 0 && value <= 255 ? static_cast<uint8_t>(value) : uint8_t{0};
}

} // namespace

rows_writer::rows_writer(const std::string& path, rows_header header)
  : header_(std::move(header)),
    preamble_(preamble_of(header_)),
    path_(path),
    file_(path),
    counts_(header_.classes.size()) {
  header_.checksums.clear();
}

void rows_writer::refuse() const {
  throw failure(failure_code::bad_data, "the rows are not those that were counted", path_,
                "did somebody write to the source meanwhile? begin again");
}

void rows_writer::append(const rows_part& rows) {
  const auto width = header_.feature_count;
  for (size_t i = 0; i * width < rows.features.size(); ++i) {
    append_row(rows, i);
    if (features_.size() == header_.chunk_rows * width)
      write_chunk();
  }
}

void rows_writer::append_row(const rows_part& rows, size_t i) {
  const auto width = header_.feature_count, targets = header_.target_count();
  const auto features = rows.features.subspan(i * width, width);
  features_.insert(features_.end(), features.begin(), features.end());
  if (header_.type == feature_type::u8)
    for (const auto value : features) {
      bytes_.push_back(byte_of(value));
      if (static_cast<float>(bytes_.back()) != value)
        refuse();
    }
  if (header_.is_classification()) {
    labels_.push_back(rows.labels[i]);
    ++counts_.at(static_cast<size_t>(rows.labels[i]));
    return;
  }
  for (const auto value : rows.targets.subspan(i * targets, targets)) {
    if (value < header_.target_minimum || value > header_.target_maximum)
      refuse();
    targets_.push_back(value);
  }
}

void rows_writer::write_chunk() {
  const auto row_count = features_.size() / header_.feature_count;
  if (written_ + row_count > header_.row_count)
    refuse();
  const auto features = header_.type == feature_type::u8 ? std::as_bytes(std::span{bytes_})
                                                         : std::as_bytes(std::span{features_});
  const auto targets = header_.is_classification() ? std::as_bytes(std::span{labels_})
                                                   : std::as_bytes(std::span{targets_});
  file_.write_at(preamble_.places.features + written_ * header_.feature_bytes(), features);
  file_.write_at(preamble_.places.targets + written_ * header_.target_bytes(), targets);
  header_.checksums.push_back({short_checksum_of(features), short_checksum_of(targets)});
  statistics_.push(column_statistics_of(features_, header_.feature_count));
  written_ += row_count;
  features_.clear();
  bytes_.clear();
  labels_.clear();
  targets_.clear();
}

void rows_writer::publish() {
  if (!features_.empty())
    write_chunk();
  if (written_ != header_.row_count || counts_ != header_.class_rows)
    refuse();
  const auto statistics = statistics_.total();
  file_.write_at(0, std::as_bytes(std::span{preamble_.text}));
  file_.write_at(preamble_.places.checksums, std::as_bytes(std::span{header_.checksums}));
  file_.write_at(preamble_.places.means, std::as_bytes(std::span{statistics.means}));
  file_.write_at(preamble_.places.squares, std::as_bytes(std::span{statistics.squares}));
  file_.publish();
}

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
