// Reads a file part by part, whatever its format: for files that are larger than memory, and where
// nobody knows beforehand which columns are features.
//
//   csv_reader reader{"rows.csv", csv_header::automatic};
//   reader.set_targets({reader.column_count() - 1});
//   for (table_chunk rows; reader.next(rows, 4096);)
//     use(rows.features, rows.target_cells);
//
// What a format is, and what is an error in it, is said where it is read whole (csv.hpp,
// libsvm.hpp, read_array.hpp): the same rows and the same complaints.

#pragma once

#include "data/table/dataset.hpp"
#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/batch.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Rows as they stand in the file. Shapes: N rows, F feature columns, T target columns.
struct table_chunk {
  size_t row_count = 0;                  ///< N
  std::vector<float> features;           ///< N x F, row-major, finite; empty: rows are sparse
  sparse_matrix sparse = {};             ///< N rows; none: rows are dense
  std::vector<std::string> target_cells; ///< N x T, trimmed text, never empty
  std::vector<double> target_numbers;    ///< N x T; NaN where a cell is text
  std::vector<std::string> kept_cells{}; ///< N x K, as texts: see row_reader::keep
  std::vector<size_t> lines;             ///< N, from 1; empty where a file has no lines

  /// The rows, without their targets. They look at the chunk.
  batch rows() const;

  /// Without rows; what was allocated is kept.
  void clear();
};

class row_reader {
public:
  virtual ~row_reader() = default;

  const std::string& path() const noexcept { return path_; }
  bool has_header() const noexcept { return has_header_; }
  size_t column_count() const noexcept { return names_.size(); }

  /// Every column's name; its index as the format counts where the file names none.
  const std::vector<std::string>& column_names() const noexcept { return names_; }

  /// The column that "last", a name or a 0-based index means. Throws failure(bad_data).
  size_t find_column(const std::string& wanted) const;

  /// What was to be found and may be meant in two ways: "the column '3' is taken to be the one of index 0, called
  /// '3', and not that of index 3".
  const std::set<std::string>& doubts() const noexcept { return doubts_; }

  /// Which columns are targets, in the order their cells are wanted; none at first. Before `next`.
  /// Throws std::invalid_argument for a column that is not there or comes twice.
  void set_targets(const std::vector<size_t>& columns);

  /// Nobody wants to know what targets are: their cells may hold anything. Before `next`.
  void ignore_targets() noexcept { ignores_targets_ = true; }

  /// Which columns are features, in the order their numbers are wanted; at first all that are no
  /// targets. The others are not looked at. After `set_targets`, before `next`; for files whose
  /// columns have names. Throws std::invalid_argument for a column that is not there, comes twice
  /// or is a target.
  void set_features(const std::vector<size_t>& columns);

  /// Leaves these columns, as `find_column` finds them, out of the features, whatever is in them. After
  /// `set_targets`, before `next`. Throws failure(bad_data) for a column that is not there or is a target,
  /// and when no feature is left.
  void ignore(const std::vector<std::string>& columns);

  /// Which columns' cells are wanted as texts beside all else, whatever they are otherwise, in this order. Before
  /// `next`; for CSV files. Throws failure(bad_data) for a column that is not there.
  void keep(const std::vector<std::string>& columns);

  /// Names of the features, in the order of their numbers.
  std::vector<std::string> feature_names() const;

  /// Reads up to `rows_max` (>= 1) rows; false, with no rows, at the end. Throws failure(bad_data)
  /// as the reader of whole files does.
  bool next(table_chunk& out, size_t rows_max);

  /// Throws failure(bad_data) for target cell `i` of `rows`, the part that `next` gave last, naming
  /// its place as the format does: of a text "path:line".
  [[noreturn]] virtual void fail_at_target(const table_chunk& rows, size_t i,
                                           const std::string& reason,
                                           const std::string& hint) const;

protected:
  static constexpr size_t no_target = static_cast<size_t>(-1);
  static constexpr size_t no_feature = no_target;

  /// `names_place` is where the file names its columns, for messages.
  row_reader(std::string path, std::string names_place)
    : path_(std::move(path)), names_place_(std::move(names_place)) {}
  row_reader(row_reader&&) = default;

  void set_columns(std::vector<std::string> names, bool has_header);

  /// The place of `column` among the features, or no_feature.
  size_t feature_slot(size_t column) const { return feature_slot_[column]; }
  size_t feature_count() const noexcept { return feature_count_; }
  /// Whether all columns that are no targets are features, in the file's order.
  bool features_are_the_rest() const noexcept { return features_are_the_rest_; }
  /// The place of `column` among the kept ones, or no_feature.
  size_t kept_slot(size_t column) const {
    return kept_slot_.empty() ? no_feature : kept_slot_[column];
  }
  size_t kept_count() const noexcept { return kept_count_; }
  /// The place of `column` among the targets, or no_target.
  size_t target_slot(size_t column) const { return target_slot_[column]; }
  bool ignores_targets() const noexcept { return ignores_targets_; }
  /// As `set_targets` was given them.
  const std::vector<size_t>& target_columns() const noexcept { return target_columns_; }

  /// `next`, in default rounding whatever the caller's is.
  virtual bool read_rows(table_chunk& out, size_t rows_max) = 0;

private:
  [[noreturn]] void refuse_column(const std::string& wanted, bool is_index) const;

  std::string path_;
  std::string names_place_;
  bool has_header_ = false;
  std::vector<std::string> names_;
  std::vector<size_t> target_slot_;
  std::vector<size_t> feature_slot_;
  size_t feature_count_ = 0;
  std::vector<size_t> kept_slot_; ///< empty: none is kept
  size_t kept_count_ = 0;
  bool features_are_the_rest_ = true;
  bool ignores_targets_ = false;
  std::vector<size_t> target_columns_;
  mutable std::set<std::string> doubts_;
};

/// Numbers that are different in a file and one as float32, in which models compute: time stamps in milliseconds, long
/// ids, decimals far from 0. The first numbers of each column tell.
class lost_digits {
public:
  /// Looks at 1,000 rows, or at fewer of ten columns or more: 1 ms, which a small file takes to be read.
  explicit lost_digits(size_t column_count = 10)
    : cells_left_(std::min<size_t>(1000 * column_count, 10'000)) {}

  bool wants_more() const noexcept { return cells_left_ > 0; }

  /// The next cell of a column. While it `wants_more`.
  void add(size_t column, std::string_view cell) {
    double exact = 0;
    add(column, read_number(cell, exact) == number_status::number ? exact : 0.0);
  }
  void add(size_t column, double exact) {
    --cells_left_;
    if (static_cast<double>(static_cast<float>(exact)) != exact)
      columns_[column].push_back(exact);
  }

  /// Appends to `remarks` what is lost in the file. `name_of(column)`: its name; empty for one that models do not read
  /// as numbers.
  template <class NameOf>
  void add_remarks(const std::string& path, NameOf name_of,
                   std::vector<std::string>& remarks) const {
    for (const auto& [column, numbers] : columns_)
      if (const auto lost = loss_of(numbers); !lost.empty())
        if (const std::string name = name_of(column); !name.empty())
          remarks.push_back(path + ": the column " + shown_text(name) + " loses digits: " + lost +
                            ", in which models compute; subtract a number near them in the file "
                            "(of times the first "
                            "one), or leave the column out");
  }

private:
  /// "40 different numbers are 1 as float32", if more than a tenth of them are lost; else nothing.
  static std::string loss_of(std::vector<double> numbers) {
    std::ranges::sort(numbers);
    const auto count = [&](const auto& are_one) {
      numbers.erase(std::unique(numbers.begin(), numbers.end(), are_one), numbers.end());
      return numbers.size();
    };
    const auto exact = count(std::equal_to<>{});
    const auto rounded =
      count([](double a, double b) { return static_cast<float>(a) == static_cast<float>(b); });
    return 10 * rounded >= 9 * exact ? std::string{}
                                     : std::to_string(exact) + " different numbers are " +
                                         std::to_string(rounded) + " as float32";
  }

  std::map<size_t, std::vector<double>> columns_; ///< those that float32 does not have
  size_t cells_left_;
};

} // namespace troupe
