#include "models/kinds/model_kinds.hpp"

#include "models/kinds/chain_kind.hpp"

namespace troupe {

namespace {

void add_chain(model_table& out) {
  out.add<chain_options>(
    "chain",
    {.meaning = "layers one behind the other: convolutions, attention",
     .settle = &settle_chain,
     .is_shared = true},
    {option("shape", &chain_options::shape, within(1, 1 << 24),
            "of a row: [height, width, channels] or [positions, width]; []: one vector"),
     option("layers", &chain_options::layers, anything(), "what they are (docs/layers.md)"),
     option("head", &chain_options::head, anything(), "a dense layer for the scores at the end"),
     option("parts", &chain_options::parts, within(1, part_count_max),
            "in which attentions and pairs of dense layers in residual blocks are computed")},
    [](const auto& x, const auto& input) {
      return make_chain(x, input.features, input.outputs, input.loss);
    });
}

} // namespace

model_table& models() {
  // As a job's model_kind has them (coordinators/job/job.hpp).
  static model_table table{
    "model",
    {"linear-regression", "logistic-regression", "softmax-regression", "neural-network"},
    &add_chain};
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
