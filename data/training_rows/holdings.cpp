#include "data/training_rows/holdings.hpp"

#include "data/table/cell_coder.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace troupe {

namespace {

constexpr const char* same_columns_hint = "give all files the same columns, in any order, or name "
                                          "those that are no features in data.ignore";

[[noreturn]] void refuse(const holding& x, const std::string& reason, const std::string& hint) {
  throw failure(failure_code::bad_data, reason, x.name, hint);
}

std::vector<std::string> columns_of(const dataset& rows) {
  return rows.columns.empty() ? rows.feature_names : names_of(rows.columns);
}

void require_columns(const holding& first, const holding& next) {
  const auto here = columns_of(next.rows), there = columns_of(first.rows);
  for (const auto& [names, owner] : {std::pair{&here, &next}, std::pair{&there, &first}})
    if (std::set<std::string_view>{names->begin(), names->end()}.size() < names->size())
      refuse(*owner, "two columns have one name", "give each column a name of its own");
  for (const auto& [names, others, lacks, has] :
       {std::tuple{&there, &here, &next, &first}, std::tuple{&here, &there, &first, &next}}) {
    const std::set<std::string_view> known{others->begin(), others->end()};
    for (const auto& name : *names)
      if (!known.contains(name))
        refuse(*lacks,
               "the file has no column " + shown_text(name) + ", which " + shown_text(has->name) +
                 " has",
               same_columns_hint);
  }
}

void require_same_form(const holding& first, const holding& next) {
  const auto& a = first.rows;
  const auto& b = next.rows;
  if (a.is_sparse() != b.is_sparse())
    refuse(b.is_sparse() ? next : first,
           "the rows are sparse, and those of " + shown_text((b.is_sparse() ? first : next).name) +
             " are not",
           "say how all are to be read: data.dense = \"yes\" or \"no\"");
  if (a.is_classification() != b.is_classification() || a.target_count != b.target_count ||
      a.target_names != b.target_names)
    refuse(next,
           "the target " + (b.target_names.empty() ? "" : shown_text(b.target_names.front())) +
             " is not that of " + shown_text(first.name) + ", " +
             (a.target_names.empty() ? "" : shown_text(a.target_names.front())),
           "name the target's column: data.target");
  if (a.columns.empty() != b.columns.empty() || a.columns.missing != b.columns.missing ||
      a.columns.missing_cells != b.columns.missing_cells)
    refuse(next, "its cells and gaps are not read as those of " + shown_text(first.name),
           "set data.missing and how columns are read for all");
  if (!a.is_sparse())
    require_columns(first, next);
}

/// Adds what `other` knows of a column.
void join_column(plan_column& column, const plan_column& other, const holding& from) {
  if (column.kind != other.kind || column.order != other.order || column.unit != other.unit)
    refuse(from,
           "the cells of the column " + shown_text(other.name) + " are not written as elsewhere" +
             (column.unit == other.unit
                ? ""
                : ": " + (other.unit.empty() ? "without a unit" : "in " + other.unit)),
           "write the column in one way in all files");
  column.categories =
    joined_categories(std::vector{std::move(column.categories), other.categories});
  column.marks_missing = column.marks_missing || other.marks_missing;
}

column_plan joined_plan(const std::vector<holding>& holdings, size_t categories_max) {
  auto plan = holdings.front().rows.columns;
  size_t category_count = 0;
  for (auto& column : plan.columns) {
    for (const auto& one : holdings) {
      const auto& columns = one.rows.columns.columns;
      join_column(column, *std::ranges::find(columns, column.name, &plan_column::name), one);
    }
    category_count += column.categories.size();
  }
  if (category_count > categories_max)
    throw failure(failure_code::bad_job,
                  "all files together have " + std::to_string(category_count) + " categories",
                  "data.categories_max", "set it to as many, or leave a column out: data.ignore");
  for (const auto& one : holdings)
    if (plan.target != one.rows.columns.target)
      refuse(one, "the target's cells are not written as elsewhere",
             "write the column in one way in all files");
  return plan;
}

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

holding_facts facts_of(const prepared_data& part, target_scale_kind scale) {
  holding_facts result;
  result.size = {part.train.row_count, part.test.row_count, part.validation.row_count};
  if (part.train.is_sparse())
    result.largest = magnitudes_of(part.train);
  else
    result.features = column_facts_of(part.train);
  result.targets = scaled_targets_of(part.train, scale);
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

std::vector<std::string> sort_holdings(std::vector<holding>& holdings) {
  std::ranges::sort(holdings, {}, [](const holding& x) {
    return std::pair{x.fingerprint, x.name};
  });
  std::vector<std::string> remarks;
  std::vector<holding> kept;
  for (auto& one : holdings)
    if (!kept.empty() && kept.back().fingerprint == one.fingerprint)
      remarks.push_back(one.name + ": these are the rows of " + kept.back().name +
                        ", and are trained on once");
    else
      kept.push_back(std::move(one));
  holdings = std::move(kept);
  return remarks;
}

dataset agreed_table(const std::vector<holding>& holdings, size_t categories_max) {
  const auto& first = holdings.front();
  auto table = without_rows(first.rows);
  std::vector<std::vector<std::string>> classes;
  for (const auto& one : holdings) {
    require_same_form(first, one);
    classes.push_back(one.rows.classes);
    table.feature_count = std::max(table.feature_count, one.rows.feature_count);
  }
  table.classes = joined_classes(classes);
  if (!table.columns.empty()) {
    table.columns = joined_plan(holdings, categories_max);
    table.feature_names = feature_names_of(table.columns);
    table.feature_count = table.feature_names.size();
  }
  if (first.rows.is_classification() && table.classes.size() < 2)
    refuse(first,
           "the target " + shown_text(table.target_names.front()) +
             " has fewer than two classes in all files together",
           "is it the right column? a target's name or index can be given");
  return table;
}

dataset by_form(dataset rows, const dataset& form) {
  if (const auto lent = std::exchange(rows.lent, {}); lent.exist()) {
    rows.features.clear();
    for (size_t i = 0; i < rows.row_count; ++i) {
      const size_t place = lent.places.empty() ? i : lent.places[i];
      const auto row = lent.values.subspan(place * rows.feature_count, rows.feature_count);
      rows.features.insert(rows.features.end(), row.begin(), row.end());
    }
  }
  if (form.feature_count == 0 || rows.feature_names == form.feature_names || rows.is_sparse())
    return rows;
  std::vector<size_t> places;
  for (const auto& name : form.feature_names) {
    const auto found = std::ranges::find(rows.feature_names, name);
    if (found == rows.feature_names.end())
      throw failure(failure_code::bad_data, "the rows have no column " + shown_text(name), {},
                    same_columns_hint);
    places.push_back(static_cast<size_t>(found - rows.feature_names.begin()));
  }
  std::vector<float> features;
  features.reserve(rows.row_count * places.size());
  for (size_t i = 0; i < rows.row_count; ++i)
    for (const auto place : places)
      features.push_back(rows.row(i)[place]);
  rows.features = std::move(features);
  rows.feature_names = form.feature_names;
  rows.feature_count = form.feature_count;
  return rows;
}

void require_form(const dataset& rows, const dataset& table, const std::string& name) {
  if (differs(rows, table))
    throw failure(failure_code::bad_data, "the columns cannot be read in the order of the others",
                  name, "write them in one order in all files");
}

bool differs(const dataset& rows, const dataset& table) {
  return rows.feature_names != table.feature_names || rows.columns != table.columns;
}

split_holding split_at_home(holding x, const dataset& table, const prepare_options& options) {
  const default_rounding rounding;
  if (const auto unknown = renumber_classes(x.rows, table.classes))
    refuse(x, "the class " + shown_text(*unknown) + " is not in the table",
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
  result.facts = facts_of(result.part, options.target_scale);
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
