// Predictions on their way out: CSV to standard output or a file, or NPY, the array format of
// NumPy. They are written as they come; a file gets its name when it is whole.
//
// CSV begins with a header. A classification has the predicted class, in a column called after the
// target ("prediction" when it has no name), and if asked the probability of each class in columns
// p(CLASS). A regression has one column for each target. Numbers have as many digits as it takes to
// read the same float32 back.
//
// NPY is one array: probabilities or targets are float32 of shape (rows, columns); classes are
// int64 of shape (rows), the classes' own values when all are whole numbers, else their numbers
// counted from 0.

#pragma once

#include "data/disk/atomic_file.hpp"
#include "data/model_file/saved_model.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class prediction_writer {
public:
  /// `path` ends in .csv or .npy, or is empty for standard output. The model must outlive this.
  /// Throws failure: usage for another ending, and for probabilities of a regression; what
  /// atomic_file throws.
  prediction_writer(const saved_model& model, const std::string& path, bool probabilities);

  /// Appends rows of predictions (N x K).
  void write(std::span<const float> predictions);

  /// The end: a file takes its name.
  void finish();

  /// Whether class numbers stand for classes: NPY of classes that are no whole numbers.
  bool numbers_classes() const { return is_npy_ && labels_only() && class_values_.empty(); }

private:
  bool labels_only() const { return model_.is_classification() && !probabilities_; }
  void write_csv(std::span<const float> predictions);
  void write_npy(std::span<const float> predictions);
  std::string csv_header_line() const;
  std::string npy_header(uint64_t row_count) const;
  void send(std::string_view bytes);

  const saved_model& model_;
  bool probabilities_;
  bool is_npy_ = false;
  std::optional<atomic_file> file_;   ///< none: standard output
  std::vector<int64_t> class_values_; ///< of classes that are all whole numbers
  uint64_t row_count_ = 0;
  std::string text_; ///< of one part; kept for its memory
};

} // namespace troupe
