#include "troupe/coordinators/job/kind_words.hpp"

#include "troupe/models/kinds/metric_kinds.hpp"
#include "troupe/models/kinds/model_kinds.hpp"
#include "troupe/models/kinds/optimizer_kinds.hpp"
#include "troupe/models/kinds/probe.hpp"
#include "troupe/models/optimizers/make_optimizer.hpp"

namespace troupe {

namespace {

std::string line_of(const std::string& what, const kind_entry& kind, const std::string& probe) {
  return what + ' ' + kind.name + ' ' + std::to_string(kind.info.version) + " = " + probe;
}

} // namespace

std::string kind_words(const job& resolved, const data_shape& shape) {
  std::string result;
  const auto add = [&](const std::string& line) { result += (result.empty() ? "" : "\n") + line; };
  const auto& own_model = resolved.model.own.kind;
  const auto& own_rule = resolved.optimizer.own.kind;
  if (!own_model.empty())
    add(line_of("model", models().at(own_model), probe_of(*make_model(resolved, shape))));
  if (!own_rule.empty())
    add(line_of("optimizer", optimizers().at(own_rule),
                probe_of(*make_optimizer(resolved.optimizer))));
  const auto input = metric_input_of(resolved, shape);
  for (const auto& name : resolved.training.metrics)
    add(line_of("metric", metrics().at(name), probe_of(*metrics().make({name, {}}, input), input)));
  return result;
}

} // namespace troupe
