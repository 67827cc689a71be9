// Holdings: rows that stay together, each read, split and judged by itself, and trained on beside others.
//
// Before training all holdings agree on a table: which columns there are, in which order, what their categories are, which
// classes the target has. Then each is split on its own, and what scales features and targets, and what stands for gaps,
// is put together from what each knows of its training rows.
//
//   files --read--> forms --agreed_table--> table --read again, by it--> rows --prepare_holdings--> prepared data
//
// Holdings stand in the order of their fingerprints. So all of it follows from what the rows are, and not from what their
// files are called or when they came. Holdings with one fingerprint are one.

#pragma once

#include "data/table/dataset.hpp"
#include "data/training_rows/prepare.hpp"

#include <string>
#include <vector>

namespace troupe {

struct holding {
  std::string name; ///< for people: a file's path
  dataset rows;
  std::string fingerprint; ///< of the rows as they were read at first
};

/// Sorts by fingerprint, and leaves out whose rows another has. Returns a remark for each that was left out.
std::vector<std::string> sort_holdings(std::vector<holding>& holdings);

/// What all holdings have in common, as a data set without rows: the columns are those of the first, in its order;
/// categories and classes are those of all; sparse rows are as wide as the widest.
///
/// Throws failure: bad_data, naming the holding and the column, when columns differ in more than their order, or in how
/// their cells are read, when targets differ, some rows are sparse and others are not, and when there are fewer than
/// two classes; bad_job when there are more categories than `categories_max`.
dataset agreed_table(const std::vector<holding>& holdings, size_t categories_max);

/// Whether each is called by its number: rows had no names.
bool are_numbered(const std::vector<std::string>& names);

/// Rows in memory with their columns as the form has them; where either has no names, as they are. Throws failure(bad_data) for a
/// column that they do not have.
dataset by_form(dataset rows, const dataset& form);

/// Whether rows are to be read again, by the table: their columns are not as the table has them.
bool differs(const dataset& rows, const dataset& table);

/// What fills gaps and scales features and targets.
struct learned_scales {
  std::vector<float> fill{};  ///< empty: there are no gaps
  standardization features{}; ///< empty: features stay as they are
  target_scale targets{};
};

/// By the training rows of all; where a model to start from says how, by that. Throws failure(bad_data) when a column has
/// no value in any of them, and when all rows of a part have weight 0.
learned_scales learn_scales(const dataset& table, const holding_facts& all,
                            const prepare_options& options);

/// A holding's rows, split, with gaps and unscaled, and what is known of them.
struct split_holding {
  held_rows rows;
  holding_facts facts;
  prepared_data part;
};

/// Splits a holding by itself, as `prepare` does. Throws what `prepare` throws, naming the holding; failure(bad_data) for
/// a class that is not in the table.
split_holding split_at_home(holding x, const dataset& table, const prepare_options& options);

/// The rows of one holding, number `place` of these, and what is known of all. Without `own`: no row.
prepared_data prepare_at_home(std::optional<split_holding> own, std::optional<size_t> place,
                              const dataset& table, const learned_scales& learned,
                              const holding_facts& all, std::vector<held_rows> holdings);

/// Throws failure(bad_data), naming the holding, where rows that were read by the table are not as it has them.
void require_form(const dataset& rows, const dataset& table, const std::string& name);

/// Each holding is split by itself, as `prepare` does. Gaps, features and targets are filled and scaled by the training
/// rows of all, added in the order of the holdings; where a model to start from says how, by that. The parts of all lie
/// one behind the other.
///
/// `holdings`: at least two, sorted, of columns as the table has them. Throws what `split_at_home` throws.
prepared_data prepare_holdings(std::vector<holding> holdings, const dataset& table,
                               const prepare_options& options);

/// What R^2 compares the squared errors of this part with: `total_squares` of its rows, wherever they are.
double total_squares(const prepared_data& data, row_part part);

} // namespace troupe
