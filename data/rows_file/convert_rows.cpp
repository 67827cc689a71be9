#include "data/rows_file/convert_rows.hpp"

#include "data/disk/open_file.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/rows_file/bucket_shuffle.hpp"
#include "data/rows_file/rows_header.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/source/text_source.hpp"
#include "data/table/row_reader.hpp"
#include "data/table/table.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// Finds out what a target column holds while its rows pass by: the classes and how many rows each
/// has, or the range of its numbers. The rules are those of `to_dataset` (data/table/table.hpp);
/// memory is for the different cells of a class column, not for rows.
class target_survey {
public:
  target_survey(std::string source, std::string target_name, target_use use);

  /// The cells of the next rows: one target each.
  void add(const table_chunk& rows);

  /// Writes classes and class_rows, or the range of the numbers, to `out`. Throws what to_dataset
  /// throws; failure(bad_data) when text comes behind what looked like numbers.
  void tell(rows_header& out) const;

private:
  bool keeps_cells() const;

  std::string source_;
  std::string target_name_;
  target_use use_;
  uint64_t row_count_ = 0;
  bool all_numbers_ = true;
  bool all_whole_ = true;
  bool gave_up_cells_ = false; ///< too many different numbers for classes
  double minimum_ = 0;
  double maximum_ = 0;
  std::map<std::string, uint64_t> rows_of_; ///< by cell
  std::vector<std::string> cells_;          ///< different ones, as they came
};

target_survey::target_survey(std::string source, std::string target_name, target_use use)
  : source_(std::move(source)),
    target_name_(std::move(target_name)),
    use_(use),
    minimum_(std::numeric_limits<double>::infinity()),
    maximum_(-std::numeric_limits<double>::infinity()) {}

// Numbers of which there are too many different ones are none of a class.
bool target_survey::keeps_cells() const {
  return use_ == target_use::labels || !all_numbers_ ||
         (use_ == target_use::by_content && all_whole_ &&
          cells_.size() <= 2 * class_count_max_to_ask);
}

void target_survey::add(const table_chunk& rows) {
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto number = rows.target_numbers[i];
    ++row_count_;
    if (std::isnan(number)) {
      all_numbers_ = false;
      if (use_ == target_use::numbers || gave_up_cells_)
        throw failure(failure_code::bad_data,
                      shown_text(rows.target_cells[i]) + " in the target " +
                        shown_text(target_name_) + " is no number, as those before it are",
                      source_, "are these classes? say so: --targets classes");
    } else {
      // As it will be stored: a float32.
      minimum_ = std::min<double>(minimum_, static_cast<float>(number));
      maximum_ = std::max<double>(maximum_, static_cast<float>(number));
      all_whole_ = all_whole_ && std::trunc(number) == number;
    }
    if (keeps_cells()) {
      if (rows_of_[rows.target_cells[i]]++ == 0)
        cells_.push_back(rows.target_cells[i]);
    } else if (!std::exchange(gave_up_cells_, true)) {
      rows_of_.clear();
      cells_.clear();
    }
  }
}

void target_survey::tell(rows_header& out) const {
  table seen;
  if (!gave_up_cells_) {
    // Each cell once, or twice where values repeat: that is what classes are told from numbers by.
    const auto times = row_count_ >= 2 * cells_.size() ? 2 : 1;
    for (int time = 0; time < times; ++time)
      for (const auto& cell : cells_)
        seen.target_cells.push_back(cell);
  }
  seen.row_count = seen.target_cells.size();
  seen.target_name = target_name_;
  seen.source = source_;
  if (all_numbers_)
    for (const auto& cell : seen.target_cells)
      seen.target_numbers.push_back(std::strtod(cell.c_str(), nullptr));
  const auto told = gave_up_cells_ ? dataset{} : to_dataset(std::move(seen), use_);
  if (!told.is_classification()) {
    if (!std::isfinite(minimum_) || !std::isfinite(maximum_))
      throw failure(failure_code::bad_data,
                    "a value of the target " + shown_text(target_name_) +
                      " does not fit a floating-point number",
                    source_, "numbers go up to 3.4e38: use another unit");
    out.target_minimum = minimum_;
    out.target_maximum = maximum_;
    return;
  }
  out.classes = told.classes;
  out.class_rows.assign(told.classes.size(), 0);
  const class_finder classes{out.classes};
  for (const auto& [cell, rows] : rows_of_)
    out.class_rows[classes.find(cell).value()] += rows;
}

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
