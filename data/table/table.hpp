// A table as it stands in a file: feature columns as numbers, the target column still undecided
// between numbers and labels. Readers make it; `to_dataset` decides, once the loss is known.

#pragma once

#include "data/table/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// A data set without targets, and without labels unless its format says what the classes are: target cells stand
/// for them. Features without a header are called "0",
/// "1", .. (the file's column index).
struct table : dataset {
  std::string target_name;
  std::vector<std::string> target_cells; ///< N, trimmed text
  std::vector<double> target_numbers;    ///< N if every target cell is a finite number, else empty
  std::string source;                    ///< the path, for messages
  size_t first_text_line = 0;            ///< line of the first target that is no number; 0: none
  std::string first_text_cell;           ///< its text
};

/// What the targets should become.
enum class target_use {
  by_content, ///< what they look like; see to_dataset
  labels,
  known_labels, ///< of classes that other rows tell: one of them will do
  numbers,
};

/// `by_content` takes whole numbers that repeat for labels up to this many different values, ..
inline constexpr size_t class_count_max_by_content = 20;

/// .. and for numbers above this many. In between only the user can tell: ages, points and counts
/// have as many values as some lists of classes.
inline constexpr size_t class_count_max_to_ask = 100;

/// Moves a table into a data set.
///
/// `by_content`: labels when a cell is no number, or when all are whole numbers that repeat (at
/// least two rows a value on average) with at most `class_count_max_by_content` different values;
/// numbers when one is no whole number, when they hardly repeat, or when more than
/// `class_count_max_to_ask` differ. Throws failure(bad_job), for the key model.loss, in between.
/// Throws failure(bad_data), naming line and cell, when `numbers` meets text, and when `labels`
/// finds fewer than two classes.
dataset to_dataset(table&& source, target_use use);

} // namespace troupe
