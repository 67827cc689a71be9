#include "data/training_rows/prepare.hpp"

#include "data/table/column_plan.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/rounding.hpp"
#include "models/math/tree_accumulator.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
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

standardization largest_of(const dataset& source) {
  standardization result;
  result.deviation.resize(source.feature_count);
  const auto& rows = source.sparse;
  for (size_t i = 0; i < rows.values.size(); ++i) {
    auto& largest = result.deviation[rows.features[i]];
    largest = std::max(largest, std::fabs(rows.values[i]));
  }
  std::ranges::replace(result.deviation, 0.0f, 1.0f);
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
  if (source.overlap) // codes
    return result;
  for (size_t j = 0; j < source.feature_names.size(); ++j)
    if (source.row_count >= row_names_rows_min && names_rows(source, j))
      result.push_back(source.feature_names[j]);
  return result;
}

// In chunks, so that it is the same where nobody has all rows (rows_file/rows_writer.hpp).
column_statistics statistics_of_chunks(const dataset& rows, size_t chunk_rows) {
  tree_accumulator<column_statistics> sums;
  const auto width = rows.feature_count;
  for (size_t begin = 0; begin < rows.row_count; begin += chunk_rows)
    sums.push(
      column_statistics_of(std::span{rows.features}.subspan(
                             begin * width, std::min(chunk_rows, rows.row_count - begin) * width),
                           width));
  return sums.total();
}

/// The means of features with gaps over the rows for training.
std::vector<float> fill_of(const dataset& rows,
                           const std::function<row_part(size_t row)>& part_of) {
  std::vector<double> sums(rows.feature_count);
  std::vector<size_t> counts(rows.feature_count);
  for (size_t i = 0; i < rows.row_count; ++i) {
    if (part_of(i) != row_part::train)
      continue;
    const auto row = rows.row(i);
    for (size_t j = 0; j < row.size(); ++j)
      if (!std::isnan(row[j])) {
        sums[j] += row[j];
        ++counts[j];
      }
  }
  std::vector<float> result;
  for (size_t j = 0; j < sums.size(); ++j) {
    if (counts[j] == 0)
      throw failure(failure_code::bad_data,
                    "the column " + shown_text(rows.feature_names[j]) +
                      " has no value in any row for training, and so no mean",
                    {}, "leave it out: data.ignore");
    result.push_back(static_cast<float>(sums[j] / static_cast<double>(counts[j])));
  }
  return result;
}

void fill_gaps(dataset& rows, const std::function<row_part(size_t row)>& part_of) {
  if (rows.columns.missing != missing_rule::mean)
    return;
  rows.columns.fill = fill_of(rows, part_of);
  troupe::fill_gaps(rows.columns, rows.features);
}

/// Marks of categories and of gaps stay 0 or 1.
void leave_marks(const column_plan& plan, standardization& map) {
  const auto marks = is_mark(plan);
  for (size_t j = 0; j < marks.size(); ++j)
    if (marks[j]) {
      map.mean[j] = 0;
      map.deviation[j] = 1;
    }
}

void prepare_chunks(const prepare_options& options, prepared_data& out) {
  const chunk_split parts{options.seed,
                          out.train.row_count,
                          options.chunk_rows,
                          {options.test_fraction, options.validation_fraction}};
  out.chunk_rows = options.chunk_rows;
  out.chunk_begins = parts.begins_of(row_part::train);
  std::vector<row_part> of_chunk;
  const auto part_of = [&](size_t row) {
    if (row % options.chunk_rows == 0)
      of_chunk = parts.parts_of(row / options.chunk_rows);
    return of_chunk[row % options.chunk_rows];
  };
  fill_gaps(out.train, part_of);
  if (options.standardize) {
    out.features = standardization_of(statistics_of_chunks(out.train, options.chunk_rows));
    leave_marks(out.train.columns, out.features);
    standardize(out.features, out.train.features);
  }
  split(out.train, parts.sizes(), part_of, out.test, out.validation);
}

/// Which rows of the source they are.
std::shared_ptr<const std::vector<uint32_t>>
rows_for_training(size_t row_count, const std::function<row_part(size_t row)>& part_of) {
  std::vector<uint32_t> result;
  for (size_t row = 0; row < row_count; ++row)
    if (part_of(row) == row_part::train)
      result.push_back(static_cast<uint32_t>(row));
  return std::make_shared<const std::vector<uint32_t>>(std::move(result));
}

void split_by_numbers(const prepare_options& options, prepared_data& out) {
  const auto row_count = out.train.row_count;
  const auto sizes =
    sizes_of_parts(row_count, {options.test_fraction, options.validation_fraction});
  const part_choice choice{options.seed, row_count, sizes};
  const auto part_of = [&](size_t row) { return choice.of(row); };
  fill_gaps(out.train, part_of);
  split(out.train, sizes, part_of, out.test, out.validation);
}

/// Rows of a sequence, as row_split.hpp cuts them. Those for training are rows of the source by number.
void split_by_position(const prepare_options& options, prepared_data& out) {
  const position_split parts{out.train.row_count,
                             *std::exchange(out.train.overlap, std::nullopt),
                             {options.test_fraction, options.validation_fraction},
                             options.fold};
  out.split_words = parts.words();
  const auto part_of = [&](size_t row) { return parts.of(row); };
  out.source_rows = rows_for_training(out.train.row_count, part_of);
  split(out.train, parts.sizes(), part_of, out.test, out.validation);
}

// By classes, groups or folds.
void split_with_care(const prepare_options& options, prepared_data& out) {
  auto found = split_rows(out.train, {options.seed,
                                      {options.test_fraction, options.validation_fraction},
                                      options.by_class,
                                      options.fold});
  out.split_words = std::move(found.words);
  out.train.groups = {};
  out.train.group_names = {};
  const auto part_of = [&](size_t row) { return found.parts[row]; };
  out.source_rows = rows_for_training(found.parts.size(), part_of);
  fill_gaps(out.train, part_of);
  split(out.train, found.sizes, part_of, out.test, out.validation);
}

/// What the rows say of their parts and what the job says cannot both be heeded.
void require_one_split(const dataset& rows, const prepare_options& options) {
  const bool in_groups = !rows.groups.empty();
  if (!in_groups && !rows.overlap)
    return;
  const std::string what =
    in_groups ? "the rows are in groups" : "the rows are those of a sequence";
  if (options.chunk_rows > 0)
    throw failure(failure_code::bad_job, what + ", which chunks would tear apart", "data.shuffle",
                  "use data.shuffle = \"rows\"");
  if (options.by_class)
    throw failure(failure_code::bad_job, what + ", and not split by class", "data.stratify",
                  "leave data.stratify out");
}

void add_text(sha256& digest, const std::string& text) {
  const uint64_t size = text.size();
  digest.update(std::as_bytes(std::span{&size, 1}));
  digest.update(std::as_bytes(std::span{text}));
}

void require_weight(const dataset& rows, const std::string& use) {
  if (!rows.weights.empty() && std::ranges::all_of(rows.weights, [](float x) { return x == 0; }))
    throw failure(failure_code::bad_data, "all rows for " + use + " have weight 0", "data.weight",
                  "use another job.seed or other shares, or give those rows a weight");
}

void require_weights(const prepared_data& data) {
  require_weight(data.train, "training");
  require_weight(data.test, "testing");
  require_weight(data.validation, "validation");
}

} // namespace

standardization standardization_of(const column_statistics& columns) {
  standardization result;
  for (size_t j = 0; j < columns.means.size(); ++j) {
    const auto deviation =
      static_cast<float>(std::sqrt(columns.squares[j] / static_cast<double>(columns.row_count)));
    result.mean.push_back(static_cast<float>(columns.means[j]));
    result.deviation.push_back(deviation > 0 ? deviation : 1.0f); // a constant column becomes 0
  }
  return result;
}

std::string content_fingerprint(const dataset& source) {
  sha256 digest;
  const uint64_t shape[] = {source.row_count, source.feature_count, source.classes.size(),
                            source.target_count};
  digest.update(std::as_bytes(std::span{shape}));
  for (const auto* names : {&source.feature_names, &source.classes, &source.target_names})
    for (const auto& name : *names)
      add_text(digest, name);
  if (!source.columns.empty())
    add_text(digest, text_of(source.columns));
  digest.update(
    std::as_bytes(source.lent.exist() ? source.lent.values : std::span{source.features}));
  if (source.is_sparse()) {
    add_text(digest, "sparse");
    digest.update(std::as_bytes(std::span{source.sparse.starts}));
    digest.update(std::as_bytes(std::span{source.sparse.features}));
    digest.update(std::as_bytes(std::span{source.sparse.values}));
  }
  digest.update(std::as_bytes(std::span{source.labels}));
  digest.update(std::as_bytes(std::span{source.targets}));
  if (!source.clients.empty()) {
    add_text(digest, "clients");
    digest.update(std::as_bytes(std::span{source.clients}));
  }
  if (!source.weights.empty()) {
    add_text(digest, "weights");
    digest.update(std::as_bytes(std::span{source.weights}));
  }
  if (source.overlap) // it decides which rows are for what
    add_text(digest, "overlap " + std::to_string(*source.overlap));
  if (!source.groups.empty()) {
    add_text(digest, "groups");
    for (const auto& name : source.group_names)
      add_text(digest, name);
    digest.update(std::as_bytes(std::span{source.groups}));
  }
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

void standardize(const standardization& map, std::span<const uint32_t> features,
                 std::span<float> values) {
  const default_rounding rounding;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] /= map.deviation[features[i]];
}

prepared_data prepare(dataset&& source, const prepare_options& options) {
  const default_rounding rounding;
  require_sound(source);
  require_one_split(source, options);
  prepared_data result;
  result.fingerprint = content_fingerprint(source);
  result.row_names = row_names_of(source);
  result.remarks = std::exchange(source.remarks, {});
  result.train = std::move(source);
  if (options.chunk_rows > 0) {
    if (const auto lent = std::exchange(result.train.lent, {}); lent.exist())
      result.train.features.assign(lent.values.begin(), lent.values.end());
    prepare_chunks(options, result);
    require_weights(result);
    return result;
  }
  if (result.train.overlap)
    split_by_position(options, result);
  else if (options.by_class || options.fold.count > 0 || !result.train.groups.empty())
    split_with_care(options, result);
  else
    split_by_numbers(options, result);
  require_weights(result);
  if (options.standardize) {
    const bool sparse = result.train.is_sparse();
    result.features = sparse ? largest_of(result.train) : statistics_of(result.train);
    leave_marks(result.train.columns, result.features);
    for (auto* rows : {&result.train, &result.test, &result.validation})
      if (sparse)
        troupe::standardize(result.features, rows->sparse.features, rows->sparse.values);
      else
        standardize(result.features, rows->features);
  }
  return result;
}

} // namespace troupe
