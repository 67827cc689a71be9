// A table as it stands in a file: feature columns as numbers, the target column still undecided
// between numbers and labels. Readers make it; `to_dataset` decides, once the loss is known.

#pragma once

#include "data/table/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Of rows whose format says what their classes are.
struct known_classes {
  std::vector<std::string> names; ///< none: it does not
  std::vector<int32_t> labels;    ///< N: the number of each row's
};

struct table {
  size_t row_count = 0;        ///< N
  size_t feature_count = 0;    ///< F
  std::vector<float> features; ///< N x F, row-major; empty: rows are sparse
  sparse_matrix sparse = {};   ///< N rows; none: rows are dense
  std::vector<std::string>
    feature_names; ///< F; "0", "1", .. (the file's column index) without a header; none if sparse
  std::string target_name;
  std::vector<std::string> target_cells; ///< N, trimmed text
  std::vector<double> target_numbers;    ///< N if every target cell is a finite number, else empty
  std::string source;                    ///< the path, for messages
  std::vector<uint32_t> clients = {};    ///< N, or none: numbers of ..
  std::vector<std::string> client_names = {}; ///< .. these, sorted by bytes
  std::vector<float> weights = {};            ///< N, or none
  std::vector<uint32_t> groups = {};          ///< likewise: numbers of ..
  std::vector<std::string> group_names = {};  ///< .. these, sorted by bytes
  column_plan columns = {};                   ///< as in dataset
  std::vector<std::string> remarks = {};      ///< likewise
  size_t first_text_line = 0;  ///< line of the first target that is no number; 0: none
  std::string first_text_cell; ///< its text
  known_classes known = {};    ///< in place of target cells where the format says what they are
  std::optional<size_t> overlap = {}; ///< as in dataset
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
