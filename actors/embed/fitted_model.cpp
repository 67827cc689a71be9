#include "actors/embed/fitted_model.hpp"

#include "actors/run/model_writer.hpp"
#include "actors/run/training_result.hpp"
#include "models/base/copy_values.hpp"

#include <charconv>

namespace troupe {

namespace {

std::vector<int32_t> values_of(const std::vector<std::string>& classes) {
  std::vector<int32_t> result;
  for (const auto& text : classes) {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      break;
    result.push_back(value);
  }
  if (result.size() == classes.size())
    return result;
  result.clear();
  for (size_t i = 0; i < classes.size(); ++i)
    result.push_back(static_cast<int32_t>(i));
  return result;
}

/// Through the form of the model file: it predicts what a saved model predicts.
saved_model as_saved(const training_result& result) {
  safetensors_file file;
  file.metadata = model_metadata(result);
  file.layout = result.layout;
  file.values.resize(file.layout.size());
  file.layout.to_logical(result.parameters.values(), file.values);
  file.data_sha256 = result.summary.parameters_sha256;
  return to_saved_model(std::move(file), "the trained model");
}

} // namespace

void require_size(const char* what, size_t expected, size_t actual) {
  if (expected != actual)
    throw std::invalid_argument(std::string{"expected "} + std::to_string(expected) + " " + what +
                                ", got " + std::to_string(actual));
}

fitted_model::fitted_model(saved_model model)
  : model_(std::make_shared<const saved_model>(std::move(model))),
    class_values_(values_of(model_->classes)) {}

fitted_model::fitted_model(const training_result& result) : fitted_model(as_saved(result)) {}

fitted_model fitted_model::load(const std::string& path) {
  return fitted_model{read_model(path)};
}

void fitted_model::save(const std::string& path) const {
  write_safetensors(path, model_->network->layout(), stored_tensor{model_->parameters},
                    model_->metadata);
}

std::vector<float> fitted_model::raw_predictions(const matrix_view& features) const {
  require_size("features", model_->network->feature_count(), features.columns);
  require_size("feature values", features.rows * features.columns, features.values.size());
  std::vector<float> result(features.rows * model_->prediction_count());
  predictor{*model_}.predict(features.values, result);
  return result;
}

std::vector<float> fitted_model::predict(const matrix_view& features) const {
  if (model_->is_classification())
    throw std::logic_error("the model predicts classes: use predict_labels");
  return raw_predictions(features);
}

std::vector<float> fitted_model::predict_probabilities(const matrix_view& features) const {
  if (!model_->is_classification())
    throw std::logic_error("the model predicts numbers: use predict");
  return raw_predictions(features);
}

std::vector<size_t> fitted_model::decisions(const matrix_view& features) const {
  const auto probabilities = predict_probabilities(features);
  const auto columns = model_->prediction_count();
  std::vector<size_t> result;
  for (size_t begin = 0; begin < probabilities.size(); begin += columns)
    result.push_back(model_->decide(std::span{probabilities}.subspan(begin, columns)));
  return result;
}

std::vector<int32_t> fitted_model::predict_labels(const matrix_view& features) const {
  std::vector<int32_t> result;
  for (const auto one : decisions(features))
    result.push_back(class_values_[one]);
  return result;
}

std::vector<std::string> fitted_model::predict_classes(const matrix_view& features) const {
  std::vector<std::string> result;
  for (const auto one : decisions(features))
    result.push_back(model_->classes[one]);
  return result;
}

row_matrix fitted_model::in_matrix(const std::vector<float>& values, size_t row_count) const {
  row_matrix result{row_matrix::shape_type{row_count, model_->prediction_count()}};
  copy_values(std::span<const float>{values}, result.data());
  return result;
}

} // namespace troupe
