// The table that holdings agree on: which rows are one holding, what their columns, categories and classes are.

#include "data/table/cell_coder.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "data/training_rows/holdings.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
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

} // namespace

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

bool are_numbered(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] != std::to_string(i))
      return false;
  return true;
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
  if (rows.feature_names == form.feature_names || rows.is_sparse() ||
      are_numbered(form.feature_names) || are_numbered(rows.feature_names))
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

} // namespace troupe
