#include "data/rows_file/row_supply.hpp"

#include "data/source/text_source.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "models/math/tree_accumulator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

namespace troupe {

namespace {

/// What a supply tells of itself, before its rows are counted.
rows_header header_of(const row_supply& supply, std::optional<uint64_t> chunk_rows) {
  auto form = supply.form();
  form.row_count = 0;
  require_sound(form);
  rows_header result;
  result.row_count = supply.row_count();
  result.feature_count = form.feature_count;
  result.feature_names = std::move(form.feature_names);
  result.target_names = std::move(form.target_names);
  result.classes = std::move(form.classes);
  result.class_rows.assign(result.classes.size(), 0);
  if (!result.is_classification()) {
    result.target_minimum = std::numeric_limits<double>::infinity();
    result.target_maximum = -result.target_minimum;
  }
  result.chunk_rows = std::clamp<uint64_t>(
    chunk_rows.value_or(default_chunk_rows(result.row_count, result.feature_bytes())), 1,
    std::max<uint64_t>(result.row_count, 1));
  return result;
}

std::span<float> features_in(rows_chunk& x) {
  return {reinterpret_cast<float*>(x.features.data()), x.features.size() / sizeof(float)};
}

} // namespace

std::array<uint64_t, 2> checksums_of(const rows_chunk& x) {
  return {short_checksum_of(x.features), x.labels.empty()
                                           ? short_checksum_of(std::as_bytes(std::span{x.targets}))
                                           : short_checksum_of(std::as_bytes(std::span{x.labels}))};
}

supplied_rows::supplied_rows(std::shared_ptr<const row_supply> supply,
                             std::optional<uint64_t> chunk_rows)
  : supply_(std::move(supply)), header_(header_of(*supply_, chunk_rows)) {
  if (header_.row_count == 0 || header_.row_count > rows_count_max || header_.feature_count == 0)
    throw failure(failure_code::bad_data,
                  std::to_string(header_.row_count) + " rows of " +
                    std::to_string(header_.feature_count) + " features",
                  name_, "give 1 to " + std::to_string(rows_count_max) + " rows, and a feature");
  tree_accumulator<column_statistics> statistics;
  for (uint64_t number = 0; number < header_.chunk_count(); ++number) {
    reading_stop::check();
    const auto first = number * header_.chunk_rows;
    auto chunk = part(first, std::min(header_.chunk_rows, header_.row_count - first));
    for (const auto label : chunk.labels)
      ++header_.class_rows[static_cast<size_t>(label)];
    for (const double target : chunk.targets) {
      header_.target_minimum = std::min(header_.target_minimum, target);
      header_.target_maximum = std::max(header_.target_maximum, target);
    }
    header_.checksums.push_back(checksums_of(chunk));
    statistics.push(column_statistics_of(features_in(chunk), header_.feature_count));
  }
  auto all = statistics.total();
  header_.column_means = std::move(all.means);
  header_.column_squares = std::move(all.squares);
  fingerprint_ = fingerprint_of(header_, preamble_of(header_).text);
}

rows_chunk supplied_rows::part(uint64_t first, size_t count) const {
  const auto width = header_.feature_count, targets = header_.target_count();
  rows_chunk result;
  result.row_count = count;
  result.features.resize(result.row_count * header_.feature_bytes());
  result.labels.assign(header_.is_classification() ? result.row_count : 0, -1);
  constexpr auto none = std::numeric_limits<float>::quiet_NaN(); // of what is not written
  result.targets.assign(result.row_count * targets, none);
  const auto features = features_in(result);
  std::ranges::fill(features, none);
  try {
    supply_->read(first, {features, result.labels, result.targets});
  } catch (const failure&) {
    throw;
  } catch (const std::exception& error) {
    throw failure(failure_code::io_error, error.what(),
                  name_ + ": from row " + std::to_string(first));
  }
  const auto refuse = [&](size_t row, const std::string& what) {
    throw failure(failure_code::bad_data, what, name_ + ": row " + std::to_string(first + row),
                  "rows are numbered from 0; write all of them, finite numbers and labels");
  };
  const auto is_finite = [](float x) { return std::isfinite(x); };
  if (const auto odd = std::ranges::find_if_not(features, is_finite); odd != features.end()) {
    const auto place = static_cast<size_t>(odd - features.begin());
    refuse(place / width, "the value of feature '" + header_.feature_names[place % width] +
                            "' is not a finite number");
  }
  const auto classes = static_cast<int32_t>(header_.classes.size());
  for (size_t i = 0; i < result.labels.size(); ++i)
    if (result.labels[i] < 0 || result.labels[i] >= classes)
      refuse(i, "the label " + std::to_string(result.labels[i]) + " is none of " +
                  std::to_string(classes) + " classes");
  for (size_t i = 0; i < result.targets.size(); ++i)
    if (!is_finite(result.targets[i]))
      refuse(i / targets, "a target is not a finite number");
  return result;
}

rows_chunk supplied_rows::read_chunk(uint64_t number) const {
  const auto first = number * header_.chunk_rows;
  auto result = part(first, std::min(header_.chunk_rows, header_.row_count - first));
  if (checksums_of(result) != header_.checksums[number])
    refuse_change(first, result.row_count);
  return result;
}

void supplied_rows::refuse_change(uint64_t begin, size_t count) const {
  throw failure(failure_code::bad_data, "the rows are not those that were read at first",
                name_ + ": rows " + std::to_string(begin) + " to " +
                  std::to_string(begin + count - 1),
                "a supply gives the same rows each time: train on a copy of what changes");
}

rows_chunk supplied_rows::read_targets(uint64_t number) const {
  auto result = read_chunk(number);
  result.features.clear();
  return result;
}

} // namespace troupe
