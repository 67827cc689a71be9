// Reads a libsvm file part by part (row_reader.hpp), for a model that says how many features there
// are: the file itself tells only at its end. The format is that of libsvm.hpp.
//
// Columns are the features, called by their index as the file counts, and behind them the label,
// which is the target from the start and stays it. Of sparse rows the label is the only column.

#pragma once

#include "troupe/data/formats/libsvm/libsvm_rows.hpp"
#include "troupe/data/table/row_reader.hpp"

namespace troupe {

/// What the model is made for.
struct libsvm_form {
  bool sparse = false;
  size_t hash_bits = 0; ///< 0: features are as they are
};

class libsvm_reader : public row_reader {
public:
  /// Opens the file. `index_base` is the index of the first of `feature_count` (>= 1) features, 0
  /// or 1. Throws what libsvm_rows throws.
  libsvm_reader(const std::string& path, size_t index_base, size_t feature_count,
                const libsvm_form& form = {});

  /// Throws failure(bad_data) for an index beyond the features; what libsvm_rows throws.
  [[noreturn]] void fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const override;

protected:
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  void keep(table_chunk& out) const;

  libsvm_rows rows_;
  libsvm_row row_;
  size_t feature_count_;
  bool sparse_;
};

} // namespace troupe
