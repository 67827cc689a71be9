// How the cells of a file's columns become features: the one thing that training, prediction and a model's file
// have to agree on. It is plain data. Training learns it from a file (cell_coder.hpp) and writes it into the model's
// file (text_of), from where prediction has it.
//
//   cells of S columns  --cell_coder-->  S numbers a row  --expand-->  F features a row  --fill_gaps-->
//
//   number    its value                                            1 feature
//   boolean   1 or 0                                               1
//   date      days since 2000-01-01                                3: those days, month 1 .. 12, weekday 1 (Monday) .. 7
//   datetime  quarters of an hour since 2000-01-01 00:00           4: as a date, and the hour 0 .. 23.75
//   amount    its value, without thousands and unit                1
//   category  which of the plan's categories it is, or unseen      1 for each: 1 where it is that one, else 0
//
// and one more where the plan marks missing cells: 1 there, else 0. A gap is NaN until it is filled.

#pragma once

#include "models/training/row_options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// A column of the file, and what it becomes.
struct plan_column {
  std::string name; ///< its index where the file names none
  column_kind kind = column_kind::number;
  std::vector<std::string> categories{}; ///< of a category, in the order of their features
  bool marks_missing = false;            ///< the last of its features says where cells are missing
  date_form order = date_form::year_first; ///< of a date
  std::string unit{}; ///< of an amount: the sign that its cells have; empty: none

  friend bool operator==(const plan_column&, const plan_column&) = default;
};

/// Shapes: S columns, F features.
struct column_plan {
  std::vector<plan_column> columns{}; ///< S; none: features are the columns' numbers
  missing_rule missing = missing_rule::error;
  std::vector<std::string> missing_cells{}; ///< texts that say that there is no value; so does none
  std::vector<float> fill{};                ///< F: what stands for gaps; none: there are none
  std::optional<plan_column> target{};      ///< where the target's cells are amounts

  bool empty() const { return columns.empty(); }
  friend bool operator==(const column_plan&, const column_plan&) = default;
};

/// What a category that the plan does not have is as a number.
inline constexpr float unseen_category = -1;

/// Of the columns (S).
std::vector<std::string> names_of(const column_plan& plan);

/// Of the features (F): "age", "city=Oslo", "when month", "city is missing".
std::vector<std::string> feature_names_of(const column_plan& plan);

/// Whether each feature (F) is one for a category or for missing cells: 0 or 1, and never standardised.
std::vector<bool> is_mark(const column_plan& plan);

/// Features (N x F) of coded cells (N x S).
std::vector<float> expand(const column_plan& plan, std::span<const float> cells);

/// Puts the plan's values into gaps of features (N x F), if it has any.
void fill_gaps(const column_plan& plan, std::span<float> features);

// A column plan as text: a JSON object, as it stands in a model's file and in what names a job's data.
//
//   {"columns": [{"kind": "number", "name": "age"},
//                {"categories": ["Bergen", "Oslo"], "kind": "category", "marks_missing": true, "name": "city"}],
//    "missing": "mean", "missing_cells": ["NA"], "target": {"kind": "amount", "name": "price", "unit": "$"}}

/// Without what fills gaps.
std::string text_of(const column_plan& plan);

/// Nothing for a text that is no plan: no JSON, no column, a kind or a rule that does not exist, names that are
/// not, columns or categories that come twice, what belongs to columns of another kind.
std::optional<column_plan> plan_of(const std::string& text);

} // namespace troupe
