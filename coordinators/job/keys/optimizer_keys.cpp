// Section optimizer: the rule of the update, and what is done to a gradient before it.

#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/keys/kind_types.hpp"
#include "models/kinds/optimizer_kinds.hpp"

#include <algorithm>

namespace troupe {

namespace {

using optimizer_section = key_section<job, optimizer_options>;

/// A constant that some rules have: which ones, and their values, the table of rules says.
void add_constant(optimizer_section& optimizer, std::string_view name, const option_range& range,
                  std::string meaning, const std::string& hint) {
  const auto& constant = *std::ranges::find(optimizer_constants, name, &optimizer_constant::key);
  if (meaning.find(':') == meaning.npos)
    meaning = rules_with(constant.of_rule) + ": " + meaning;
  optimizer.add(std::string{name}, constant.member, range,
                {meaning, defaults_text(constant.of_rule), hint});
}

void add_constants(optimizer_section& optimizer) {
  optimizer.add("learning_rate", &optimizer_options::learning_rate, above(0),
                {"base rate, times the schedule's factor",
                 defaults_text(&rule_constants::learning_rate), "use a number such as 0.01"});
  optimizer.add("momentum", &optimizer_options::momentum, from_to_below(0, 1),
                {"sgd: 0 is none", "", "use a number such as 0.9"});
  optimizer.add("nesterov", &optimizer_options::nesterov,
                "sgd: looks ahead along the momentum, which must not be 0");
  const auto decay = from_to_below(0, 1);
  add_constant(optimizer, "beta1", decay, "decay of the first moment", "the paper's value is 0.9");
  add_constant(optimizer, "beta2", decay, "decay of the second moment",
               "the paper's value is 0.999");
  add_constant(optimizer, "rho", decay, "share of the mean square that a step keeps",
               "use the share that is kept, such as 0.9");
  add_constant(optimizer, "epsilon", above(0),
               "all but sgd, rprop, lbfgs: keeps from dividing by 0",
               "use a small number such as 1e-8");
  add_constant(optimizer, "weight_decay", at_least(0),
               "a step takes this times the rate off each parameter", "use a number such as 0.01");
  add_constant(optimizer, "damping", at_least(0), "more makes steps shorter and surer",
               "use a small number such as 1e-3");
  optimizer.add("history_size", &optimizer_options::history_size, within(1, history_size_max),
                "lbfgs: moves it remembers; each takes twice the model's memory");
}

void add_gradient_changes(optimizer_section& optimizer) {
  optimizer.add("l1", &optimizer_options::l1, at_least(0),
                {"penalty on the size of weights, not of biases; 0 is none", "",
                 "use a small number such as 1e-4, or 0 for none"});
  optimizer.add("l2", &optimizer_options::l2, at_least(0),
                {"penalty on half the square of weights, not of biases; 0 is none", "",
                 "use a small number such as 1e-4, or 0 for none"});
  optimizer.add("clip_value", &optimizer_options::clip_value, at_least(0),
                {"keeps each element of the mean gradient within it; 0 is off", "",
                 "use a number such as 1, or 0 for none"});
  optimizer.add("clip_norm", &optimizer_options::clip_norm, at_least(0),
                {"scales a mean gradient of a greater norm down to it; 0 is off", "",
                 "use a number such as 1, or 0 for none"});
}

void add_schedule(job_key_rows& out) {
  for (const auto& inner : schedule_keys())
    out.push_back({inner, "optimizer.schedule." + inner.path, inner.type,
                   [inner = inner.member](job& y) { return inner(y.optimizer.schedule); }});
}

void add_plateau(job_key_rows& out) {
  using y = plateau_options;
  key_section<job, y> plateau{out, "optimizer.plateau",
                              [](job& of) -> y& { return of.optimizer.plateau; }};
  plateau.add("patience", &y::patience, within(1, epochs_max),
              {"evaluations without improvement after which the rate is lowered", "off"});
  plateau.add("factor", &y::factor, option_range{0, 1, true, true, {}},
              {"of the rate each time it is lowered", "", "use a factor such as 0.1"});
  plateau.add(
    "tolerance", &y::tolerance, at_least(0),
    {"what a loss has to be lower by to count as improved", "", "use a small number such as 1e-4"});
  plateau.add("minimum", &y::minimum, within(0, 1),
              {"share of the rate: a reduction that would go below it is left out", "",
               "use a share of the learning rate such as 0.01"});
}

} // namespace

void add_optimizer_keys(job_key_rows& out, bool with_options) {
  optimizer_section optimizer{out, "optimizer", &job::optimizer};
  optimizer.add(
    "kind",
    std::make_shared<kind_type<optimizer_options, optimizer_kind, optimizer_table>>(optimizers()),
    "rule of the update");
  add_constants(optimizer);
  add_gradient_changes(optimizer);
  if (with_options) {
    std::vector<std::string> constants;
    for (const auto& constant : optimizer_constants)
      constants.emplace_back(constant.key);
    add_options(out, "optimizer", optimizers(), &job::optimizer, constants);
  }
  add_schedule(out);
  add_plateau(out);
}

} // namespace troupe
