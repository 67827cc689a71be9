// Permutation importance: how much worse a model predicts when the cells of one column are dealt out anew among
// rows (Breiman 2001; Fisher, Rudin & Dominici 2019). A column that the model makes nothing of costs nothing. Of two
// columns that say the same, each may seem to cost little.
//
// Which row gets which cell is a function of seed, column and repetition, and figures are sums over chunks in their
// order: the same bits with any number of threads.

#pragma once

#include "data/model_file/saved_model.hpp"
#include "data/table/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct importance_options {
  size_t repeats = 5; ///< 1 to 2^20
  uint64_t seed = 0;
  size_t threads = 1; ///< >= 1; never part of the result
};

/// A figure's mean over repetitions, and its deviation (divisor: their number).
struct repeated_figure {
  double mean = 0;
  double deviation = 0;
};

struct column_importance {
  std::string column;    ///< of the file: all features made of it are dealt out together
  repeated_figure loss;  ///< how much greater the mean loss is
  repeated_figure score; ///< how much less the accuracy, or R2, is
};

struct importance_figures {
  double loss = 0;                        ///< of the rows as they are: mean
  double score = 0;                       ///< accuracy, or R2
  std::vector<column_importance> columns; ///< in the order of the model's
};

/// Of rows as read (N >= 1, not standardised), with labels or targets. Throws std::invalid_argument for sparse rows, which
/// have no columns, and for sizes that do not fit.
importance_figures importance_of(const saved_model& model, const dataset& rows,
                                 const importance_options& options);

} // namespace troupe
