// A trained model as it lies in a file, ready to predict: what actors/run/model_writer.cpp wrote,
// read back and checked.
//
// The file says what the model is (metadata: kind, activation, loss, names, standardisation) and
// what it learned (tensors). Neither is believed before both agree: a model is built from the
// metadata and the tensors' shapes, and its layout must be that of the file. A new kind of model
// takes part by one row in the table of builders in saved_model.cpp.

#pragma once

#include "data/formats/csv/csv_options.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/table/cell_coder.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/base/buffer.hpp"
#include "models/metrics/threshold.hpp"
#include "models/network/model.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Rows of one call of a model's `predict` and `evaluate`: the chunks of evaluation during training
/// (coordinators/step/timeline.hpp), because a row's bits depend on the number of rows in its call.
inline constexpr size_t prediction_chunk_rows = 256;

/// Shapes: F features, C outputs, P parameters.
struct saved_model {
  std::string path;                       ///< for messages
  std::unique_ptr<const model> network;   ///< never null
  const_buffer parameters;                ///< P
  standardization features;               ///< empty when the model takes features as they are
  std::vector<std::string> feature_names; ///< F; "0", "1", .. when the training data had no names;
                                          ///< none when its rows were sparse
  column_plan columns;                    ///< how cells become features; empty: they are numbers
  csv_dialect dialect;                    ///< of the file it was trained on
  bool has_header = false;                ///< the job said that row 1 of that file is one
  size_t index_base = 1;                  ///< of that file, if it was libsvm
  bool reads_text = false;                ///< features are characters: numbers of the classes
  size_t hash_bits = 0;                   ///< of features that are hashed; 0: as they are
  std::vector<std::string> target_names;  ///< one for each target; a classification has one
  std::vector<std::string> classes;       ///< of a classification; else empty
  std::optional<decision_threshold>
    threshold; ///< of two classes; absent: the likeliest is decided for
  std::map<std::string, std::string> metadata; ///< as it stands in the file
  std::string data_sha256;                     ///< of the file's data section, hexadecimal

  bool is_classification() const { return !classes.empty(); }

  /// What columns of a file are called that features are made of.
  std::vector<std::string> column_names() const {
    return columns.empty() ? feature_names : names_of(columns);
  }

  /// The class that a row of K probabilities speaks for.
  size_t decide(std::span<const float> probabilities) const {
    return decided_class(probabilities, threshold);
  }

  /// Columns of a prediction (K): one for each class, or one for each target.
  size_t prediction_count() const {
    return is_classification() ? classes.size() : network->output_count();
  }
};

/// Reads a model file. Throws failure: bad_data naming the file and the metadata key or tensor that
/// is missing or wrong; what read_safetensors throws.
saved_model read_model(const std::string& path);

/// The same for a file already in memory.
saved_model to_saved_model(safetensors_file&& file, const std::string& path);

/// Predicts rows with memory of its own: one for each thread. The model must outlive it.
class predictor {
public:
  /// Throws failure(mismatch) where arithmetic is not what it is everywhere (models/base/arithmetic.hpp).
  explicit predictor(const saved_model& source);

  /// Predictions for N rows, as they stand in a data file, to `out` (N x K): class
  /// probabilities, or targets. A row's are the same among any others.
  ///
  /// Throws std::invalid_argument when sizes do not fit.
  void predict(const batch& rows, std::span<float> out);

  /// The same for dense rows: N x F features.
  void predict(std::span<const float> rows, std::span<float> out);

  /// The model's own sums over rows with labels (N) or targets (N x T), in the same chunks: the
  /// loss a job reports as test_loss.
  batch_sums evaluate(const batch& rows);

private:
  void require_rows(const batch& rows) const;
  /// Rows [begin, begin + count) as the network reads them: standardised, and sparse where it was
  /// trained so.
  batch chunk(const batch& rows, size_t begin, size_t count);
  void standardize_dense(batch& rows);
  void standardize_sparse(batch& rows);
  /// Keeps what is not 0.
  void make_sparse(batch& rows);

  const saved_model& source_;
  std::vector<float> features_;
  sparse_matrix sparse_;
  workspace memory_;
};

} // namespace troupe
