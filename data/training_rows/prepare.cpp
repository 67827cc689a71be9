#include "data/training_rows/prepare.hpp"

#include "data/table/column_plan.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "data/training_rows/row_split.hpp"
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
  if (rows.columns.fill.empty()) // else a model to start from has said so
    rows.columns.fill = fill_of(rows, part_of);
  troupe::fill_gaps(rows.columns, rows.features);
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

using part_function = std::function<row_part(size_t row)>;

/// By position, class, group or fold: which rows are for training follows from no number alone.
part_function with_source_rows(part_function part_of, prepared_data& out) {
  out.source_rows = rows_for_training(out.train.row_count, part_of);
  return part_of;
}

/// What each row is for, and how many are for what. Chunks are asked for by rising row.
std::pair<part_function, part_sizes> choose_parts(const prepare_options& options,
                                                  prepared_data& out) {
  auto& rows = out.train;
  const auto row_count = rows.row_count;
  if (const auto chunk_rows = options.chunk_rows; chunk_rows > 0) {
    const chunk_split parts{options.seed, row_count, chunk_rows, options.parts};
    out.chunk_rows = chunk_rows;
    out.chunk_begins = parts.begins_of(row_part::train);
    return {[=, of_chunk = std::vector<row_part>{}](size_t row) mutable {
              if (row % chunk_rows == 0)
                of_chunk = parts.parts_of(row / chunk_rows);
              return of_chunk[row % chunk_rows];
            },
            parts.sizes()};
  }
  if (const auto overlap = std::exchange(rows.overlap, std::nullopt)) {
    const position_split parts{row_count, *overlap, options.parts};
    out.split_words = parts.words();
    return {with_source_rows([=](size_t row) { return parts.of(row); }, out), parts.sizes()};
  }
  if (options.parts.stratify || options.parts.folds || !rows.groups.empty()) {
    auto found = split_rows(rows, options.seed, options.parts);
    out.split_words = std::move(found.words);
    rows.groups = {};
    rows.group_names = {};
    auto part_of = [parts = std::move(found.parts)](size_t row) { return parts[row]; };
    return {with_source_rows(std::move(part_of), out), found.sizes};
  }
  const auto sizes = sizes_of_parts(row_count, options.parts);
  const part_choice choice{options.seed, row_count, sizes};
  return {[=](size_t row) { return choice.of(row); }, sizes};
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
  if (options.parts.stratify)
    throw failure(failure_code::bad_job, what + ", and not split by class", "data.stratify",
                  "leave data.stratify out");
}

void add_text(sha256& digest, const std::string& text) {
  const uint64_t size = text.size();
  digest.update(std::as_bytes(std::span{&size, 1}));
  digest.update(std::as_bytes(std::span{text}));
}

void require_weights(const prepared_data& data) {
  for (const auto& [rows, use] :
       {std::pair{&data.train, "training"}, std::pair{&data.test, "testing"},
        std::pair{&data.validation, "validation"}})
    if (!rows->weights.empty() &&
        std::ranges::all_of(rows->weights, [](float x) { return x == 0; }))
      throw failure(failure_code::bad_data, std::string{"all rows for "} + use + " have weight 0",
                    "data.weight",
                    "use another job.seed or other shares, or give those rows a weight");
}

} // namespace

void leave_marks(const column_plan& plan, standardization& map) {
  const auto marks = is_mark(plan);
  for (size_t j = 0; j < marks.size(); ++j)
    if (marks[j]) {
      map.mean[j] = 0;
      map.deviation[j] = 1;
    }
}

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
  const bool in_chunks = options.chunk_rows > 0;
  if (const auto lent = in_chunks ? std::exchange(result.train.lent, {}) : lent_rows{};
      lent.exist())
    result.train.features.assign(lent.values.begin(), lent.values.end());
  const auto [part_of, sizes] = choose_parts(options, result);
  result.part_of = part_of;
  if (!options.leaves_gaps)
    fill_gaps(result.train, part_of);
  const bool sparse = result.train.is_sparse();
  const auto learn = [&] {
    if (options.features)
      return *options.features;
    auto map = in_chunks
                 ? standardization_of(statistics_of_chunks(result.train, options.chunk_rows))
               : sparse ? largest_of(result.train)
                        : statistics_of(result.train);
    leave_marks(result.train.columns, map);
    return map;
  };
  if (options.standardizes() && in_chunks) {
    result.features = learn();
    standardize(result.features, result.train.features);
  }
  split(result.train, sizes, part_of, result.test, result.validation);
  if (options.leaves_gaps)
    return result;
  require_weights(result);
  if (options.scale && !result.train.is_classification()) {
    result.scale = *options.scale;
  } else if (!result.train.is_classification() && options.target_scale != target_scale_kind::none) {
    target_scale_fit fit{options.target_scale, result.train.target_count};
    fit.add(result.train.targets);
    result.scale = fit.result();
  }
  if (options.standardizes() && !in_chunks) {
    result.features = learn();
    for (auto* rows : {&result.train, &result.test, &result.validation})
      if (sparse)
        troupe::standardize(result.features, rows->sparse.features, rows->sparse.values);
      else
        standardize(result.features, rows->features);
  }
  return result;
}

} // namespace troupe
