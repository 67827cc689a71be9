// Fitted model: what training came to, as a value that predicts from features as they stand in the rows: it scales them, fills
// gaps, and names classes. Copies share the parameters; a file keeps it.
//
//   auto result = troupe::train(system, job);
//   const troupe::fitted_model model{result};
//   auto guesses = model.predict_labels(more_rows);   // an xtensor expression or a matrix_view
//   model.save("model.safetensors");                  // `troupe predict` reads it too
//
// All functions may be called by several threads at a time.

#pragma once

#include "data/model_file/saved_model.hpp"

#include <xtensor/xtensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

struct training_result; // actors/run/training_result.hpp

/// Rows that the caller owns: dense, row-major.
struct matrix_view {
  std::span<const float> values; ///< rows x columns
  size_t rows = 0;
  size_t columns = 0;
};

/// Throws std::invalid_argument, "expected 3 features, got 2".
void require_size(const char* what, size_t expected, size_t actual);

// Two-dimensional xtensor expressions as rows.

using row_matrix = xt::xtensor<float, 2, xt::layout_type::row_major>;

inline matrix_view view_of(const row_matrix& rows) {
  return {{rows.data(), rows.size()}, rows.shape()[0], rows.shape()[1]};
}

template <class E>
row_matrix evaluated(const xt::xexpression<E>& features) {
  const auto& x = features.derived_cast();
  if (x.dimension() != 2)
    throw std::invalid_argument("features have two dimensions, rows and columns");
  return x;
}

/// Labels, of whole numbers; targets, of others.
template <class Values>
using target_value =
  std::conditional_t<std::is_integral_v<typename Values::value_type>, int32_t, float>;

/// Row by row, whatever layout an expression has.
template <class Values>
std::vector<target_value<Values>> in_rows(size_t row_count, const Values& values) {
  if constexpr (xt::is_xexpression<Values>::value)
    if (values.dimension() == 0 || values.shape()[0] != row_count)
      throw std::invalid_argument("each row of features needs a row of targets");
  std::vector<target_value<Values>> result;
  for (const auto x : values) {
    if constexpr (std::is_integral_v<typename Values::value_type>)
      if (!std::in_range<int32_t>(+x))
        throw std::invalid_argument("a label is beyond 32 bits");
    result.push_back(static_cast<target_value<Values>>(x));
  }
  return result;
}

/// Shapes: N rows, F features, K classes, T targets. Throws std::invalid_argument when sizes do not fit each other or the
/// model, std::logic_error for classes of a model of numbers, and the reverse.
class fitted_model {
public:
  /// Throws what to_saved_model throws.
  explicit fitted_model(const training_result& result);

  /// The model of a file. Throws failure as read_model does.
  static fitted_model load(const std::string& path);

  /// Writes the model file. Throws failure as write_safetensors does.
  void save(const std::string& path) const;

  /// N x T targets.
  std::vector<float> predict(const matrix_view& features) const;

  /// N labels: classes that are whole numbers are these numbers, others their places, from 0.
  std::vector<int32_t> predict_labels(const matrix_view& features) const;

  /// N classes, as the training rows have them.
  std::vector<std::string> predict_classes(const matrix_view& features) const;

  /// N x K probabilities; classes in ascending order.
  std::vector<float> predict_probabilities(const matrix_view& features) const;

  /// The same for 2-D xtensor expressions; they are evaluated once. Targets and probabilities are xtensors of N rows.
  template <class E>
  row_matrix predict(const xt::xexpression<E>& features) const {
    const auto rows = evaluated(features);
    return in_matrix(predict(view_of(rows)), rows.shape()[0]);
  }
  template <class E>
  row_matrix predict_probabilities(const xt::xexpression<E>& features) const {
    const auto rows = evaluated(features);
    return in_matrix(predict_probabilities(view_of(rows)), rows.shape()[0]);
  }
  template <class E>
  std::vector<int32_t> predict_labels(const xt::xexpression<E>& features) const {
    return predict_labels(view_of(evaluated(features)));
  }
  template <class E>
  std::vector<std::string> predict_classes(const xt::xexpression<E>& features) const {
    return predict_classes(view_of(evaluated(features)));
  }

  /// Its parameters, classes and standardisation.
  const saved_model& saved() const { return *model_; }

private:
  explicit fitted_model(saved_model model);
  std::vector<float> raw_predictions(const matrix_view& features) const;
  std::vector<size_t> decisions(const matrix_view& features) const;
  row_matrix in_matrix(const std::vector<float>& values, size_t row_count) const;

  std::shared_ptr<const saved_model> model_;
  std::vector<int32_t> class_values_; ///< of classes that are whole numbers, else 0, 1, ..
};

} // namespace troupe
