#include "troupe/data/training_rows/prepare.hpp"

#include "troupe/data/text/digest.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/models/base/numerics.hpp"
#include "troupe/models/base/random.hpp"
#include "troupe/models/math/tree_accumulator.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace troupe {

namespace {

/// Statistics run over chunks of this many rows, whose sums are added in a tree.
constexpr size_t statistics_chunk_rows = 4096;

/// A vector of doubles that adds element by element; the empty one is 0.
struct column_sums {
  std::vector<double> values;

  friend column_sums operator+(const column_sums& a, const column_sums& b) {
    column_sums result = a;
    for (size_t j = 0; j < b.values.size(); ++j)
      result.values[j] += b.values[j];
    return result;
  }
};

// Sums over all rows of term(value, column), column by column.
template <class Term>
std::vector<double> sum_columns(const dataset& source, Term term) {
  tree_accumulator<column_sums> sums;
  for (size_t begin = 0; begin < source.row_count; begin += statistics_chunk_rows) {
    column_sums chunk{std::vector<double>(source.feature_count, 0.0)};
    const auto end = std::min(begin + statistics_chunk_rows, source.row_count);
    for (size_t i = begin; i < end; ++i) {
      const auto row = source.row(i);
      for (size_t j = 0; j < row.size(); ++j)
        chunk.values[j] += term(row[j], j);
    }
    sums.push(std::move(chunk));
  }
  return sums.total().values;
}

standardization statistics_of(const dataset& source) {
  const auto count = static_cast<double>(source.row_count);
  auto mean = sum_columns(source, [](float x, size_t) { return static_cast<double>(x); });
  for (auto& x : mean)
    x /= count;
  const auto squares = sum_columns(source, [&](float x, size_t j) {
    const double difference = x - mean[j];
    return difference * difference;
  });
  standardization result;
  for (size_t j = 0; j < mean.size(); ++j) {
    const auto deviation = static_cast<float>(std::sqrt(squares[j] / count));
    result.mean.push_back(static_cast<float>(mean[j]));
    result.deviation.push_back(deviation > 0 ? deviation : 1.0f); // a constant column becomes 0
  }
  return result;
}

enum class part : uint8_t { train, test, validation };

struct part_sizes {
  size_t test = 0;
  size_t validation = 0;
};

// The rows with the smallest random keys are for testing, the next ones for validation: shares of
// any size, the same on every machine, and the second does not move the first.
std::vector<part> choose_parts(size_t row_count, const part_sizes& sizes, uint64_t seed) {
  std::vector<part> chosen(row_count, part::train);
  std::vector<std::pair<uint64_t, size_t>> keys(row_count);
  const random_sequence sequence{seed, random_purpose::split, 0};
  for (size_t i = 0; i < row_count; ++i) {
    const auto words = sequence.block(static_cast<uint32_t>(i));
    keys[i] = {uint64_t{words[1]} << 32 | words[0], i};
  }
  const auto test_end = keys.begin() + static_cast<std::ptrdiff_t>(sizes.test);
  const auto validation_end = test_end + static_cast<std::ptrdiff_t>(sizes.validation);
  std::ranges::nth_element(keys, test_end);
  std::ranges::nth_element(test_end, validation_end, keys.end());
  for (auto key = keys.begin(); key != validation_end; ++key)
    chosen[key->second] = key < test_end ? part::test : part::validation;
  return chosen;
}

dataset without_rows(const dataset& source) {
  dataset result;
  result.feature_count = source.feature_count;
  result.feature_names = source.feature_names;
  result.classes = source.classes;
  result.target_count = source.target_count;
  result.target_names = source.target_names;
  return result;
}

void append_row(const dataset& source, size_t i, dataset& out) {
  const auto row = source.row(i);
  out.features.insert(out.features.end(), row.begin(), row.end());
  if (source.is_classification())
    out.labels.push_back(source.labels[i]);
  for (size_t t = 0; t < source.target_count; ++t)
    out.targets.push_back(source.targets[i * source.target_count + t]);
  ++out.row_count;
}

dataset& dataset_of(part which, prepared_data& out) {
  return which == part::train ? out.train : which == part::test ? out.test : out.validation;
}

void split(dataset&& source, const std::vector<part>& parts, prepared_data& out) {
  for (auto* each : {&out.train, &out.test, &out.validation})
    *each = without_rows(source);
  for (size_t i = 0; i < source.row_count; ++i)
    append_row(source, i, dataset_of(parts[i], out));
}

// A fraction is the double next to what was written: 0.29 of 100 rows is 29, though the product
// falls short of it by a last place or two.
size_t share_of(size_t row_count, double fraction) {
  constexpr double rounding_max = 0x1p-51;
  const double product = fraction * static_cast<double>(row_count);
  const double nearest = std::round(product);
  const bool is_whole = std::fabs(product - nearest) <= nearest * rounding_max;
  return static_cast<size_t>(is_whole ? nearest : std::floor(product));
}

part_sizes sizes_of(size_t row_count, const prepare_options& options) {
  const part_sizes result{share_of(row_count, options.test_fraction),
                          share_of(row_count, options.validation_fraction)};
  if (row_count <= result.test + result.validation)
    throw failure(failure_code::bad_data, "no rows are left for training", {},
                  "use more data, or a smaller data.test_fraction or data.validation_fraction");
  return result;
}

/// Fewer rows rise by chance.
constexpr size_t row_names_rows_min = 10;

bool is_called_row_name(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name == "id" || name == "index" || name == "unnamed: 0" || name == "row" ||
         name.ends_with("_id");
}

bool never_repeats(const dataset& source, size_t column) {
  std::vector<float> values;
  for (size_t i = 0; i < source.row_count; ++i)
    values.push_back(source.row(i)[column]);
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) == values.end();
}

bool names_rows(const dataset& source, size_t column) {
  bool rises = true;
  for (size_t i = 0; i < source.row_count; ++i) {
    const auto x = source.row(i)[column];
    rises = rises && (i == 0 || x > source.row(i - 1)[column]);
    if (std::trunc(x) != x || (!rises && !is_called_row_name(source.feature_names[column])))
      return false;
  }
  return rises || never_repeats(source, column);
}

std::vector<std::string> row_names_of(const dataset& source) {
  std::vector<std::string> result;
  for (size_t j = 0; j < source.feature_names.size(); ++j)
    if (source.row_count >= row_names_rows_min && names_rows(source, j))
      result.push_back(source.feature_names[j]);
  return result;
}

void add_text(sha256& digest, const std::string& text) {
  const uint64_t size = text.size();
  digest.update(std::as_bytes(std::span{&size, 1}));
  digest.update(std::as_bytes(std::span{text}));
}

} // namespace

std::string content_fingerprint(const dataset& source) {
  sha256 digest;
  const uint64_t shape[] = {source.row_count, source.feature_count, source.classes.size(),
                            source.target_count};
  digest.update(std::as_bytes(std::span{shape}));
  for (const auto* names : {&source.feature_names, &source.classes, &source.target_names})
    for (const auto& name : *names)
      add_text(digest, name);
  digest.update(std::as_bytes(std::span{source.features}));
  digest.update(std::as_bytes(std::span{source.labels}));
  digest.update(std::as_bytes(std::span{source.targets}));
  return digest.hex();
}

void standardize(const standardization& map, std::span<float> rows) {
  const default_rounding rounding;
  const auto width = map.mean.size();
  for (size_t begin = 0; begin + width <= rows.size(); begin += width)
    for (size_t j = 0; j < width; ++j) {
      auto& x = rows[begin + j];
      x = (x - map.mean[j]) / map.deviation[j];
    }
}

prepared_data prepare(dataset&& source, const prepare_options& options) {
  const default_rounding rounding;
  prepared_data result;
  result.fingerprint = content_fingerprint(source);
  result.row_names = row_names_of(source);
  const auto sizes = sizes_of(source.row_count, options);
  if (sizes.test + sizes.validation == 0) {
    result.test = result.validation = without_rows(source);
    result.train = std::move(source);
  } else {
    const auto parts = choose_parts(source.row_count, sizes, options.seed);
    split(std::move(source), parts, result);
  }
  if (options.standardize) {
    result.features = statistics_of(result.train);
    for (auto* rows : {&result.train, &result.test, &result.validation})
      standardize(result.features, rows->features);
  }
  return result;
}

} // namespace troupe
