// How rows are read and scaled where something says so before they are read: a model to start from, or the table that
// `data.table` names.
//
//   model file, table.json --> known reading --form--> reader --> rows --fit--> rows as they are known
//                                            --apply-> options of `prepare`: what scales features and targets

#pragma once

#include "data/model_file/saved_model.hpp"
#include "data/table/dataset.hpp"
#include "data/training_rows/prepare.hpp"
#include "data/training_rows/row_table.hpp"

#include <string>

namespace troupe {

class known_reading {
public:
  /// Nothing is known: rows are read by what is in them.
  known_reading() = default;

  /// As a model reads them, with its map of features and the scale of its targets. `what`: it, for messages.
  known_reading(const saved_model& model, std::string what);

  /// As a table says.
  known_reading(row_reading reading, std::string what);

  /// Forgets how features are read, or classes and the scale of targets.
  void forget_features();
  void forget_targets();

  /// Rows are then read as is known, and their features stay as they were read.
  void leave_features_unscaled() { learned_.features = {}; }

  bool knows_features() const noexcept { return knows_features_; }
  const std::string& what() const noexcept { return what_; }

  /// The form of rows to train on, without rows: the plan of their columns, or their features' names, and their classes.
  const dataset& form() const noexcept { return form_; }

  /// What fills gaps and scales rows.
  const learned_scales& learned() const noexcept { return learned_; }

  /// Of all that is known, hexadecimal.
  std::string sha256() const;

  /// How rows are prepared, on top of what the job says.
  void apply(prepare_options& options) const;

  /// Gives the classes of `rows` the numbers that are known. Throws failure(bad_data) for other features or targets than
  /// are known, and for another class.
  void fit(dataset& rows) const;

  /// The same for rows that stay in a file, whose classes keep their numbers. `names`: a data set without rows.
  void require_same(dataset names) const;

private:
  void require_features(const dataset& rows) const;

  std::string what_, hint_;
  dataset form_;
  learned_scales learned_;
  bool knows_features_ = false, knows_scale_ = false;
};

/// Reads what `data.table` names: a model file, or a table of rows (data/training_rows/row_table.hpp). Throws failure:
/// missing_input or no_permission; bad_data, naming the path, for a file that is neither.
known_reading read_table_file(const std::string& path);

} // namespace troupe
