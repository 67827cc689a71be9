#include "troupe/models/kinds/model_kinds.hpp"

namespace troupe {

model_table& models() {
  // As a job's model_kind has them (coordinators/job/job.hpp).
  static model_table table{
    "model", {"linear-regression", "logistic-regression", "softmax-regression", "neural-network"}};
  return table;
}

std::unique_ptr<model> make_own_model(const component& x, const model_input& input) {
  auto result = models().make(x, input);
  const auto refuse = [&](const std::string& why) {
    throw std::logic_error("the factory of model kind '" + x.kind + "' " + why);
  };
  if (!result)
    refuse("made no model");
  if (result->feature_count() != input.features || result->output_count() != input.outputs)
    refuse("made a model of " + std::to_string(result->feature_count()) + " features and " +
           std::to_string(result->output_count()) + " outputs for " +
           std::to_string(input.features) + " and " + std::to_string(input.outputs));
  if (!(result->loss_with_constants() == input.loss))
    refuse("made a model of another loss");
  if (result->layout().size() == 0)
    refuse("made a model without parameters");
  return result;
}

} // namespace troupe
