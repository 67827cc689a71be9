#include "troupe/data/rows_file/convert_rows.hpp"

#include "troupe/data/disk/open_file.hpp"
#include "troupe/data/model_file/saved_model.hpp"
#include "troupe/data/rows_file/bucket_shuffle.hpp"
#include "troupe/data/rows_file/rows_writer.hpp"
#include "troupe/data/rows_file/target_survey.hpp"
#include "troupe/data/source/reading_stop.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/shown_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe {

namespace {

constexpr size_t rows_at_once = 4096;

bool is_byte(float value) {
  return value >= 0 && value <= 255 && std::trunc(value) == value;
}

// Names go into JSON, which is UTF-8.
std::vector<std::string> as_utf8(std::vector<std::string> names) {
  for (auto& name : names)
    if (!is_utf8(name))
      name = shown_text(name);
  return names;
}

void tell(const convert_options& options, uint64_t done, uint64_t of) {
  reading_stop::check();
  if (options.on_progress)
    options.on_progress(done, of);
}

// The first reading.
rows_header survey(const row_opener& open, const convert_options& options) {
  const auto reader = open();
  rows_header result;
  result.feature_names = as_utf8(reader->feature_names());
  result.feature_count = result.feature_names.size();
  result.target_names = as_utf8({options.target_name});
  std::optional<target_survey> targets;
  bool all_bytes = true;
  for (table_chunk rows; reader->next(rows, rows_at_once);) {
    if (!targets) {
      targets.emplace(reader->path(), options.target_name, options.use);
    }
    targets->add(rows);
    all_bytes = all_bytes && std::ranges::all_of(rows.features, is_byte);
    result.row_count += rows.row_count;
    tell(options, result.row_count, 0);
  }
  if (result.row_count == 0 || result.row_count > rows_count_max)
    throw failure(failure_code::bad_data,
                  result.row_count == 0 ? "there are no rows" : "more than 4294967295 rows",
                  reader->path(), "");
  result.type = all_bytes ? feature_type::u8 : feature_type::f32;
  result.chunk_rows = std::min(
    options.chunk_rows.value_or(default_chunk_rows(result.row_count, result.feature_bytes())),
    result.row_count);
  targets->tell(result);
  return result;
}

/// The targets of a part of the second reading, as they are stored.
struct part_targets {
  std::vector<int32_t> labels;
  std::vector<float> numbers;

  void set(const table_chunk& rows, const class_finder& classes, const rows_header& header,
           const row_reader& reader) {
    labels.clear();
    numbers.clear();
    for (size_t i = 0; i < rows.row_count; ++i) {
      if (!header.is_classification()) {
        numbers.push_back(static_cast<float>(rows.target_numbers[i]));
        continue;
      }
      const auto found = classes.find(rows.target_cells[i]);
      if (!found)
        reader.fail_at_target(rows, i, "a class that was not there when rows were counted",
                              "did somebody write to the file meanwhile? begin again");
      labels.push_back(static_cast<int32_t>(*found));
    }
  }
};

} // namespace

rows_header convert_rows(const row_opener& open, const std::string& path,
                         const convert_options& options) {
  const auto header = survey(open, options);
  rows_writer writer{path, header};
  std::optional<bucket_shuffle> shuffle;
  if (options.shuffle)
    shuffle.emplace(folder_of(path), *options.shuffle, header);
  const auto reader = open();
  const class_finder classes{header.classes};
  part_targets targets;
  uint64_t done = 0;
  for (table_chunk rows; reader->next(rows, rows_at_once);) {
    targets.set(rows, classes, header, *reader);
    const rows_part part{rows.features, targets.labels, targets.numbers};
    if (shuffle)
      shuffle->append(part);
    else
      writer.append(part);
    tell(options, done += rows.row_count, header.row_count);
  }
  if (shuffle)
    shuffle->drain(writer);
  writer.publish();
  return header;
}

} // namespace troupe
