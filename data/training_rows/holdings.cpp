#include "data/training_rows/holdings.hpp"

#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace troupe {

namespace {

// ---- What a holding knows of its rows ----

/// Of each column, over its values that are there.
std::vector<column_statistics> column_facts_of(const dataset& rows) {
  std::vector<column_statistics> result;
  std::vector<float> values;
  for (size_t j = 0; j < rows.feature_count; ++j) {
    values.clear();
    for (size_t i = j; i < rows.features.size(); i += rows.feature_count)
      if (!std::isnan(rows.features[i]))
        values.push_back(rows.features[i]);
    result.push_back(values.empty() ? column_statistics{} : column_statistics_of(values, 1));
  }
  return result;
}

std::vector<float> magnitudes_of(const dataset& rows) {
  std::vector<float> result(rows.feature_count);
  for (size_t i = 0; i < rows.sparse.values.size(); ++i) {
    auto& largest = result[rows.sparse.features[i]];
    largest = std::max(largest, std::fabs(rows.sparse.values[i]));
  }
  return result;
}

column_statistics targets_of(const dataset& rows) {
  return rows.targets.empty() ? column_statistics{}
                              : column_statistics_of(rows.targets, rows.target_count);
}

column_statistics scaled_targets_of(const dataset& rows, target_scale_kind kind) {
  if (rows.targets.empty())
    return {};
  target_scale_fit fit{kind, rows.target_count};
  fit.add(rows.targets);
  return {fit.row_count(), fit.means(), fit.squares()};
}

size_t counted_rows(const dataset& rows) {
  return static_cast<size_t>(std::ranges::count_if(rows.weights, [](float x) { return x > 0; }));
}

/// Where it is known how rows are scaled, nothing is said of their features and targets.
holding_facts facts_of(const prepared_data& part, const prepare_options& options) {
  holding_facts result;
  const auto& train = part.train;
  result.size = {train.row_count, part.test.row_count, part.validation.row_count};
  const bool fills_by_mean =
    train.columns.missing == missing_rule::mean && train.columns.fill.empty();
  const bool is_known = options.features && !fills_by_mean;
  if (train.is_sparse())
    result.largest = is_known ? std::vector<float>(train.feature_count) : magnitudes_of(train);
  else
    result.features =
      is_known ? std::vector<column_statistics>(train.feature_count) : column_facts_of(train);
  if (!options.scale)
    result.targets = scaled_targets_of(train, options.target_scale);
  result.test_targets = targets_of(part.test);
  result.validation_targets = targets_of(part.validation);
  result.train_class_rows.resize(part.train.classes.size());
  for (const auto label : part.train.labels)
    ++result.train_class_rows[static_cast<size_t>(label)];
  result.class_rows.resize(part.train.classes.size());
  for (const auto* rows : {&part.train, &part.test, &part.validation}) {
    result.entry_count += rows->sparse.values.size();
    for (const auto label : rows->labels)
      ++result.class_rows[static_cast<size_t>(label)];
    for (const auto target : rows->targets)
      result.target_minimum = std::min(result.target_minimum, static_cast<double>(target));
  }
  result.is_weighted = !part.train.weights.empty();
  result.counted = {counted_rows(part.train), counted_rows(part.test),
                    counted_rows(part.validation)};
  return result;
}

// ---- What is made of it ----

std::vector<float> fill_of(const std::vector<column_statistics>& columns, const dataset& table) {
  std::vector<float> result;
  for (size_t j = 0; j < columns.size(); ++j) {
    if (columns[j].row_count == 0)
      throw failure(failure_code::bad_data,
                    "the column " + shown_text(table.feature_names[j]) +
                      " has no value in any row for training, and so no mean",
                    {}, "leave it out: data.ignore");
    result.push_back(static_cast<float>(columns[j].means.front()));
  }
  return result;
}

standardization map_of(const holding_facts& all, const column_plan& plan) {
  standardization map;
  if (all.features.empty()) {
    map.deviation = all.largest;
    std::ranges::replace(map.deviation, 0.0f, 1.0f);
    return map;
  }
  for (size_t j = 0; j < all.features.size(); ++j) {
    const auto& column = all.features[j];
    const auto gaps = all.size.train - column.row_count;
    const auto one = standardization_of(
      gaps == 0 ? column : column + column_statistics{gaps, {plan.fill.at(j)}, {0}});
    map.mean.push_back(one.mean.front());
    map.deviation.push_back(one.deviation.front());
  }
  leave_marks(plan, map);
  return map;
}

void require_weights(const holding_facts& all) {
  if (!all.is_weighted)
    return;
  for (const auto& [part, use] :
       {std::pair{&holding_size::train, "training"}, std::pair{&holding_size::test, "testing"},
        std::pair{&holding_size::validation, "validation"}})
    if (all.size.*part > 0 && all.counted.*part == 0)
      throw failure(failure_code::bad_data, std::string{"all rows for "} + use + " have weight 0",
                    "data.weight", "use other shares, or give those rows a weight");
}

/// Fills and scales the rows of a part as `learned` says.
void apply(const prepared_data& learned, prepared_data& part) {
  for (auto* rows : {&part.train, &part.test, &part.validation}) {
    fill_gaps(learned.train.columns, rows->features);
    if (learned.features.empty())
      continue;
    if (rows->is_sparse())
      standardize(learned.features, rows->sparse.features, rows->sparse.values);
    else
      standardize(learned.features, rows->features);
  }
}

// ---- One data set of all ----

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
  from = {};
}

/// Takes the rows of `from`, whose memory is given back on the way.
void append(dataset& to, dataset&& from) {
  to.row_count += from.row_count;
  append(to.features, from.features);
  append(to.labels, from.labels);
  append(to.targets, from.targets);
  append(to.weights, from.weights);
  if (!from.is_sparse())
    return;
  const auto entries = to.sparse.values.size();
  for (size_t i = 1; i < from.sparse.starts.size(); ++i)
    to.sparse.starts.push_back(entries + from.sparse.starts[i]);
  append(to.sparse.features, from.sparse.features);
  append(to.sparse.values, from.sparse.values);
}

/// Which rows of the source are for training, where their numbers alone decide.
std::shared_ptr<const std::vector<uint32_t>> source_rows_of(const prepared_data& part,
                                                            size_t row_count) {
  if (part.source_rows)
    return part.source_rows;
  std::vector<uint32_t> result;
  for (size_t row = 0; row < row_count; ++row)
    if (part.part_of(row) == row_part::train)
      result.push_back(static_cast<uint32_t>(row));
  return std::make_shared<const std::vector<uint32_t>>(std::move(result));
}

/// One holding is its rows.
std::string fingerprint_of(const dataset& table, const std::vector<held_rows>& holdings) {
  if (holdings.size() == 1)
    return holdings.front().fingerprint;
  auto text = content_fingerprint(table);
  for (const auto& one : holdings)
    text += one.fingerprint;
  return sha256_hex(std::as_bytes(std::span{text}));
}

/// The form of the table, what was learned of all, and no rows.
prepared_data learned_of(const dataset& table, const learned_scales& learned,
                         const holding_facts& all, std::vector<held_rows> holdings) {
  prepared_data result;
  result.train = without_rows(table);
  result.fingerprint = fingerprint_of(table, holdings);
  result.holdings = std::move(holdings);
  result.held_facts = all;
  result.train.columns.fill = learned.fill;
  result.features = learned.features;
  result.scale = learned.targets;
  result.test = result.validation = result.train;
  return result;
}

/// Takes a part's rows, and what is said of them.
void take(prepared_data& part, const std::string& name, prepared_data& out) {
  apply(out, part);
  append(out.train, std::move(part.train));
  append(out.test, std::move(part.test));
  append(out.validation, std::move(part.validation));
  for (const auto& column : part.row_names)
    if (std::ranges::find(out.row_names, column) == out.row_names.end())
      out.row_names.push_back(column);
  std::ranges::move(part.remarks, std::back_inserter(out.remarks));
  if (!part.split_words.empty())
    out.split_words += (out.split_words.empty() ? "" : "; ") + name + ": " + part.split_words;
}

} // namespace

learned_scales learn_scales(const dataset& table, const holding_facts& all,
                            const prepare_options& options) {
  const default_rounding rounding;
  require_weights(all);
  learned_scales result;
  auto plan = table.columns;
  if (plan.missing == missing_rule::mean && plan.fill.empty())
    plan.fill = fill_of(all.features, table);
  if (options.features)
    result.features = *options.features;
  else if (options.standardize)
    result.features = map_of(all, plan);
  result.fill = std::move(plan.fill);
  if (table.is_classification())
    return result;
  if (options.scale) {
    result.targets = *options.scale;
  } else if (options.target_scale != target_scale_kind::none) {
    target_scale_fit fit{options.target_scale, table.target_count};
    fit.set(all.targets.row_count, all.targets.means, all.targets.squares);
    result.targets = fit.result();
  }
  return result;
}

holding_facts operator+(const holding_facts& a, const holding_facts& b) {
  if (a.size == holding_size{})
    return b;
  auto result = a;
  result.size = a.size + b.size;
  for (size_t j = 0; j < a.features.size(); ++j)
    result.features[j] = a.features[j] + b.features[j];
  for (size_t j = 0; j < a.largest.size(); ++j)
    result.largest[j] = std::max(a.largest[j], b.largest[j]);
  result.entry_count += b.entry_count;
  result.targets = a.targets + b.targets;
  result.test_targets = a.test_targets + b.test_targets;
  result.validation_targets = a.validation_targets + b.validation_targets;
  result.target_minimum = std::min(a.target_minimum, b.target_minimum);
  for (size_t k = 0; k < a.class_rows.size(); ++k) {
    result.train_class_rows[k] += b.train_class_rows[k];
    result.class_rows[k] += b.class_rows[k];
  }
  result.counted = a.counted + b.counted;
  return result;
}

split_holding split_at_home(holding x, const dataset& table, const prepare_options& options) {
  const default_rounding rounding;
  if (const auto unknown = renumber_classes(x.rows, table.classes))
    throw failure(failure_code::bad_data,
                  "the class " + shown_text(*unknown) + " is not in the table", x.name,
                  "was the file changed? the table is agreed on once, when a run begins");
  x.rows.feature_count = table.feature_count; // of sparse rows, which have only those that occur
  auto alone = options;
  alone.leaves_gaps = true;
  const auto row_count = x.rows.row_count;
  split_holding result;
  try {
    result.part = prepare(std::move(x.rows), alone);
  } catch (const failure& error) {
    const bool names_key = error.code() == failure_code::bad_job;
    throw failure(error.code(), names_key ? x.name + ": " + error.reason() : error.reason(),
                  names_key ? error.where() : x.name, error.hint());
  }
  result.facts = facts_of(result.part, options);
  result.rows = {
    x.name, x.fingerprint, result.facts.size, {}, source_rows_of(result.part, row_count)};
  return result;
}

prepared_data prepare_holdings(std::vector<holding> holdings, const dataset& table,
                               const prepare_options& options) {
  const default_rounding rounding;
  std::vector<split_holding> parts;
  std::vector<held_rows> known;
  holding_facts all;
  for (auto& one : holdings) {
    parts.push_back(split_at_home(std::move(one), table, options));
    known.push_back(parts.back().rows);
    all = all + parts.back().facts;
  }
  auto result = learned_of(table, learn_scales(table, all, options), all, std::move(known));
  for (auto& one : parts)
    take(one.part, one.rows.name, result);
  return result;
}

prepared_data prepare_at_home(std::optional<split_holding> own, std::optional<size_t> place,
                              const dataset& table, const learned_scales& learned,
                              const holding_facts& all, std::vector<held_rows> holdings) {
  const default_rounding rounding;
  if (own)
    holdings.at(*place).source_rows = own->rows.source_rows;
  auto result = learned_of(table, learned, all, std::move(holdings));
  result.own_holding = place;
  if (own)
    take(own->part, own->rows.name, result);
  return result;
}

double total_squares(const prepared_data& data, row_part part) {
  const bool is_test = part == row_part::test;
  const auto& all = is_test ? data.held_facts.test_targets : data.held_facts.validation_targets;
  return all.row_count == 0 ? total_squares(is_test ? data.test : data.validation)
                            : std::accumulate(all.squares.begin(), all.squares.end(), 0.0);
}

} // namespace troupe
