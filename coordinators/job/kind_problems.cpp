#include "coordinators/job/job_check.hpp"

#include "models/kinds/metric_kinds.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/kinds/optimizer_kinds.hpp"

namespace troupe {

namespace {

// Kinds of the table that have the option: "wave, other".
template <class Table>
std::string kinds_with(const Table& table, const std::string& option) {
  std::string result;
  for (const auto& name : table.names())
    if (table.at(name).find(option))
      result += (result.empty() ? "" : ", ") + name;
  return result;
}

// `kind`: what the job has when it is none of the table's.
template <class Table>
void check_options(problem_list& check, const std::string& section, const Table& table,
                   const component& x, const std::string& kind) {
  if (!x.is_set()) {
    for (const auto& [name, value] : x.options)
      check.require(false, section + '.' + name, kind + " takes no " + name,
                    "leave it out; kinds that take it: " + kinds_with(table, name));
    return;
  }
  for (const auto& problem : table.problems(x))
    check.require(false, section + '.' + (problem.name.empty() ? "kind" : problem.name),
                  problem.why, problem.hint);
}

// What says of a network how it is made says nothing of other models.
void check_network_keys(problem_list& check, const model_options& x) {
  const model_options none;
  const auto leave_out = [&](bool holds, const std::string& key) {
    check.require(holds, "model." + key, x.own.kind + " takes no " + key, "leave it out");
  };
  leave_out(x.hidden.empty(), "hidden");
  leave_out(x.activation == none.activation, "activation");
  leave_out(x.bias, "bias");
  leave_out(x.dropout == 0, "dropout");
  leave_out(!x.initialization, "initialization");
  leave_out(x.initialization_scale == none.initialization_scale, "initialization_scale");
  leave_out(x.cuts.value_or(1) == 1, "cuts");
  leave_out(x.cut.empty(), "cut");
}

void check_own_model(problem_list& check, const job& x) {
  check_network_keys(check, x.model);
  const auto* const kind = models().find(x.model.own.kind);
  if (kind == nullptr || !kind->info.is_shared) {
    const auto whole = x.model.own.kind + " is computed as a whole, by one replica a slice";
    check.require(x.parallel.tensor == 1, "parallel.tensor", whole, "leave it out");
    check.require(x.parallel.pipeline == 1, "parallel.pipeline", whole, "leave it out");
    check.require(!x.parallel.sharded, "parallel.sharded", whole, "leave it out");
  }
  check.require(scope_of(x.optimizer.kind) != optimizer_scope::solver, "optimizer.kind",
                std::string{name_of(x.optimizer.kind)} + " does not solve " + x.model.own.kind,
                "use another optimizer.kind, such as \"lbfgs\"");
  check.require(x.data.dense != dense_kind::no, "data.dense",
                x.model.own.kind + " reads dense rows", "leave data.dense out");
}

void check_metrics(problem_list& check, const job& x) {
  const auto& names = x.training.metrics;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (is_always_told(*name))
      check.require(false, "training.metrics", *name + " is told of every job", "leave it out");
    else
      for (const auto& problem : metrics().problems({*name, {}}))
        check.require(false, "training.metrics", problem.why, problem.hint);
    check.require(std::find(names.begin(), name, *name) == name, "training.metrics",
                  *name + " is named twice", "name it once");
  }
  check.require(names.empty() || !x.parallel.splits(), "training.metrics",
                "of a model that is split no replica has a row's predictions",
                "leave it out, or judge the model afterwards with troupe evaluate");
}

} // namespace

bool is_always_told(std::string_view metric) {
  return metric == "loss" || metric == "accuracy" || metric == "r2";
}

void check_kinds(problem_list& check, const job& x) {
  check_options(check, "model", models(), x.model.own, kind_name(x.model));
  check_options(check, "optimizer", optimizers(), own_of(x.optimizer), kind_name(x.optimizer));
  check_metrics(check, x);
  if (x.model.own.is_set())
    check_own_model(check, x);
  check.require(
    !x.optimizer.own.is_set() || x.optimizer.kind == optimizer_kind::sgd, "optimizer.kind",
    "the job names two: " + x.optimizer.own.kind + " and " + std::string{name_of(x.optimizer.kind)},
    "leave optimizer_options::kind as it is beside `own`");
}

} // namespace troupe
