#include "coordinators/job/job_check.hpp"

#include "coordinators/job/added_values.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/kinds/metric_kinds.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/kinds/optimizer_kinds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

namespace troupe {

namespace {

/// What each key takes by itself.
template <class Target>
void check_ranges(problem_list& check, const std::vector<key_row<Target>>& keys,
                  const std::string& prefix, const Target& x) {
  for (const auto& key : keys)
    if (const auto refused = key.refusal(x))
      check.found.push_back({prefix + key.path, refused->why, refused->hint});
}

void check_loss(problem_list& check, const model_options& x) {
  using enum model_kind;
  const auto kind = std::string{name_of(x.kind)};
  check.require(
    x.kind != softmax_regression || !x.loss || *x.loss == loss_kind::categorical_cross_entropy,
    "model.loss", kind + " is trained with categorical-cross-entropy", "leave model.loss out");
  check.require(x.kind != logistic_regression || !x.loss ||
                  *x.loss == loss_kind::binary_cross_entropy,
                "model.loss", kind + " is trained with binary-cross-entropy",
                "leave model.loss out, or use model.kind = \"neural-network\" without hidden");
  check.require(x.kind != linear_regression || !x.loss || !is_classification(*x.loss), "model.loss",
                kind + " learns numbers", "use squared, absolute, huber, poisson or gamma");
  const bool is_binary_cross_entropy =
    x.kind == logistic_regression || x.loss == loss_kind::binary_cross_entropy;
  check.require(x.link == link_kind::sigmoid || is_binary_cross_entropy, "model.link",
                "belongs to binary-cross-entropy", "use model.kind = \"logistic-regression\"");
}

void check_model(problem_list& check, const model_options& x) {
  check.require(x.hidden.size() <= hidden_layers_max, "model.hidden",
                std::to_string(x.hidden.size()) + " hidden layers",
                "use at most " + std::to_string(hidden_layers_max));
  check.require(x.hidden.empty() || x.kind == model_kind::neural_network, "model.hidden",
                std::string{name_of(x.kind)} + " has no hidden layers",
                "use model.kind = \"neural-network\", or leave hidden out");
  const auto activation_count = x.activation.kinds().size();
  check.require(activation_count == 1 || activation_count == x.hidden.size(), "model.activation",
                std::to_string(activation_count) + " activations for " +
                  std::to_string(x.hidden.size()) + " hidden layers",
                "name one for all hidden layers or one for each");
  check_loss(check, x);
  check.require(!x.start_from.empty() || static_cast<const start_options&>(x) == start_options{},
                "model.start_from",
                "start_fresh, start_ignore and start_names are about a file, and none is named",
                "name it, or leave them out");
  check.require(x.dropout == 0 || !x.hidden.empty(), "model.dropout",
                "drops hidden units, but there are none", "set model.hidden, or leave dropout out");
}

// Who cuts layers has every product computed in parts; some work needs layers whole.
void check_cuts(problem_list& check, const job& x) {
  const auto& model = x.model;
  const bool cuts = model.cuts.value_or(1) > 1;
  check.require(model.cut.empty() || cuts, "model.cut",
                "says how layers are cut, but not in how many parts",
                "set model.cuts to 2 or more, or leave model.cut out");
  if (!cuts)
    return;
  const auto layer_count = model.hidden.size() + 1;
  const auto problem = model.cut.empty() ? std::string{} : cut_problem(model.cut, layer_count);
  check.require(problem.empty(), "model.cut", problem,
                "name none, outputs or inputs for each of the " + std::to_string(layer_count) +
                  " layers, or leave it out");
  const bool one_score =
    model.kind == model_kind::logistic_regression || (model.loss && is_binary(*model.loss));
  check.require(!one_score || model.cut.empty() || model.cut.back() != layer_cut::outputs,
                "model.cut", "the last layer has one output, which cannot be cut",
                "cut it by inputs, or not");
  const auto whole = [&](bool needs_whole, const std::string& who) {
    check.require(!needs_whole, "model.cuts", who + " needs layers whole", "set model.cuts = 1");
  };
  whole(has_server(x.training), "a mode where each replica trains on its own");
  whole(scope_of(x.optimizer.kind) == optimizer_scope::solver ||
          x.optimizer.kind == optimizer_kind::adafactor,
        std::string{name_of(x.optimizer.kind)});
}

void check_parallel(problem_list& check, const job& x) {
  const auto& parallel = x.parallel;
  check.require(!parallel.data || x.training.replicas.value_or(*parallel.data) == *parallel.data,
                "parallel.data", "is another number than training.replicas",
                "name one of the two: both are how many groups have slices of their own");
  check.require(parallel.stages.empty() || parallel.stages.size() == parallel.pipeline,
                "parallel.stages",
                "names " + std::to_string(parallel.stages.size()) + " stages of " +
                  std::to_string(parallel.pipeline),
                "say of each stage how many segments it has, or leave it out");
  const auto groups = parallel.data.value_or(x.training.replicas.value_or(1));
  check.require(
    parallel.group_size() == 1 || parallel.group_size() <= actors_max / std::max<size_t>(groups, 1),
    "parallel.tensor",
    "with data and pipeline makes more than " + std::to_string(actors_max) + " replicas",
    "split over fewer");
  const bool alone =
    has_server(x.training) || scope_of(x.optimizer.kind) == optimizer_scope::solver;
  check.require(parallel.group_size() == 1 || !alone, "parallel.tensor",
                "each replica of this mode has a whole model",
                "set parallel.tensor = 1 and parallel.pipeline = 1, or use synchronous gradients");
  check.require(!parallel.sharded || !alone, "parallel.sharded",
                "each replica of this mode has a whole model",
                "set parallel.sharded = false, or use synchronous gradients");
  check.require(!parallel.sharded || scope_of(x.optimizer.kind) != optimizer_scope::whole_model,
                "parallel.sharded",
                std::string{name_of(x.optimizer.kind)} + " has one shard that owns the whole model",
                "set parallel.sharded = false, or use an optimizer that works element by element");
  check.require(!parallel.sharded || parallel.group_size() == 1, "parallel.sharded",
                "is for replicas that compute whole models, these carry parts or stages",
                "use it instead of parallel.tensor and parallel.pipeline, or set it to false");
}

void check_parts(problem_list& check, const std::string& key, const schedule_options& x) {
  const bool has_parts = x.kind == schedule_kind::chained || x.kind == schedule_kind::sequential;
  const bool has_milestones =
    x.kind == schedule_kind::multi_step || x.kind == schedule_kind::sequential;
  check.require(x.then.empty() || x.kind == schedule_kind::warmup, key + ".then",
                "only a warmup is followed by another schedule", "use kind = \"warmup\"");
  check.require(x.then.size() <= 1, key + ".then", "only one schedule can follow",
                "nest it in the one that follows");
  check.require(x.parts.empty() || has_parts, key + ".parts",
                "only chained and sequential schedules have parts",
                "use kind = \"sequential\" or kind = \"chained\"");
  check.require(!x.parts.empty() || !has_parts, key + ".parts", "names no schedule",
                "write parts = [{ kind = \"linear\", steps = 100 }, { kind = \"constant\" }]");
  check.require(x.milestones.empty() || has_milestones, key + ".milestones",
                "only multi-step and sequential schedules have milestones",
                "use kind = \"multi-step\", or leave it out");
  check.require((x.milestones.empty() || x.milestones.front() >= 1) &&
                  std::ranges::adjacent_find(x.milestones, std::greater_equal{}) ==
                    x.milestones.end(),
                key + ".milestones", "must rise, from 1 or more",
                "list the steps in order, such as [100, 200]");
  check.require(x.kind != schedule_kind::multi_step || !x.milestones.empty(), key + ".milestones",
                "multi-step names no step at which the rate falls",
                "list them, such as milestones = [1000, 2000]");
  check.require(x.kind != schedule_kind::sequential ||
                  x.milestones.size() + 1 == std::max<size_t>(x.parts.size(), 1),
                key + ".milestones", "must have one step between each two parts",
                "name the first step of every part but the first");
}

void check_schedule(problem_list& check, const schedule_options& x) {
  const std::string key = "optimizer.schedule";
  check.require(x.steps || !must_name_steps(x.kind), key + ".steps",
                std::string{name_of(x.kind)} + " does not say how many steps a stage takes",
                "add steps = 1000, say: it has no default, as the whole run would be one stage");
  check_parts(check, key, x);
  for (const auto* inner : {&x.then, &x.parts})
    for (const auto& next : *inner) {
      check_ranges(check, schedule_keys(), key + '.', next);
      check_schedule(check, next);
    }
}

// A constant that the rule does not have would be a wish nobody hears.
void check_constants(problem_list& check, const optimizer_options& x) {
  const auto& rule = row_of(x.kind);
  const auto* own = optimizers().find(x.own.kind);
  for (const auto& [key, member, of_rule] : optimizer_constants) {
    if (!(x.*member) || rule.defaults.*of_rule || (own && own->find(key)))
      continue;
    const bool decay = member == &optimizer_options::weight_decay;
    check.require(false, "optimizer." + std::string{key},
                  kind_name(x) + " takes no " + std::string{key},
                  decay ? "use optimizer.l2 for a penalty, or optimizer.kind = \"adamw\""
                        : "leave it out; rules that take it: " + rules_with(of_rule));
  }
}

void check_optimizer(problem_list& check, const optimizer_options& x) {
  check.require(!x.nesterov || x.momentum > 0, "optimizer.nesterov", "needs a momentum",
                "set optimizer.momentum, to 0.9 say");
  const bool is_sgd = x.kind == optimizer_kind::sgd && !x.own.is_set();
  check.require(is_sgd || (x.momentum == 0 && !x.nesterov), "optimizer.momentum",
                kind_name(x) + " takes no momentum",
                "use optimizer.kind = \"sgd\", or leave it out");
  check_constants(check, x);
  check.require(x.clip_value == 0 || x.clip_norm == 0, "optimizer.clip_norm",
                "the job clips by value and by norm", "keep one of the two");
  check.require(!finds_own_rate(x.kind) || x.schedule == schedule_options{}, "optimizer.schedule",
                std::string{name_of(x.kind)} + " finds its own steps", "leave the schedule out");
  check_schedule(check, x.schedule);
}

// Who lowers the rate by results has one rate to lower, and waits for each result.
void check_plateau(problem_list& check, const job& x) {
  const auto& plateau = x.optimizer.plateau;
  const std::string key =
    is_added(plateau.rule) ? "optimizer.plateau.rule" : "optimizer.plateau.patience";
  check.require(plateau.is_on() || plateau == plateau_options{}, key,
                "is missing: without it the rate is never lowered",
                "set it, to 5 say, or leave the section optimizer.plateau out");
  if (!plateau.is_on())
    return;
  check.require(x.training.evaluate_every > 0, key,
                "needs evaluations on the way, but evaluate_every is 0",
                "set training.evaluate_every to 1 or more");
  check.require(!has_server(x.training), key,
                "belongs to synchronous gradients: in this mode trainers have rates of their own",
                "leave the section optimizer.plateau out, or use optimizer.schedule");
  check.require(!finds_own_rate(x.optimizer.kind) &&
                  scope_of(x.optimizer.kind) == optimizer_scope::element_wise,
                key,
                std::string{name_of(x.optimizer.kind)} + (finds_own_rate(x.optimizer.kind)
                                                            ? " finds its own steps"
                                                            : " looks at the whole model at once"),
                "leave the section optimizer.plateau out, or use another optimizer.kind");
}

// A line search compares losses and gradients of one and the same smooth function.
void check_lbfgs(problem_list& check, const job& x) {
  const bool lbfgs = x.optimizer.kind == optimizer_kind::lbfgs;
  const auto size = x.optimizer.history_size;
  check.require(lbfgs || size == optimizer_options{}.history_size, "optimizer.history_size",
                kind_name(x.optimizer) + " takes no history_size",
                "use optimizer.kind = \"lbfgs\", or leave it out");
  const std::string other = "leave it out, or use another optimizer.kind such as \"adam\"";
  check.require(!lbfgs || x.model.dropout == 0, "model.dropout",
                "lbfgs needs a loss that is the same at each look, dropout changes it", other);
  check.require(!lbfgs || x.optimizer.l1 == 0, "optimizer.l1",
                "lbfgs needs a smooth loss, and |p| has a corner at 0",
                "use optimizer.l2, or another optimizer.kind such as \"adam\"");
  check.require(!lbfgs || x.optimizer.clip_value == 0, "optimizer.clip_value",
                "lbfgs needs the loss's own gradient", other);
  check.require(!lbfgs || x.optimizer.clip_norm == 0, "optimizer.clip_norm",
                "lbfgs needs the loss's own gradient", other);
}

// One actor solves for all parameters of a small regression at once.
void check_solver(problem_list& check, const job& x) {
  if (scope_of(x.optimizer.kind) != optimizer_scope::solver)
    return;
  const bool closed_form = x.optimizer.kind == optimizer_kind::closed_form;
  const auto name = std::string{name_of(x.optimizer.kind)};
  const std::string other = "use another optimizer.kind, such as \"lbfgs\"";
  check.require(!closed_form || x.model.kind == model_kind::linear_regression, "model.kind",
                "closed-form solves linear-regression only", other);
  check.require(!x.model.loss || x.model.loss == loss_kind::squared, "model.loss",
                name + " needs the squared loss", other);
  check.require(x.model.dropout == 0, "model.dropout", name + " takes no dropout", other);
  check.require(x.optimizer.l1 == 0, "optimizer.l1", name + " takes no l1", other);
  check.require(closed_form || x.optimizer.l2 == 0, "optimizer.l2", name + " takes no l2",
                "use optimizer.damping, or another optimizer.kind");
  check.require(x.optimizer.clip_value == 0, "optimizer.clip_value", "there is no gradient to clip",
                "leave it out");
  check.require(x.optimizer.clip_norm == 0, "optimizer.clip_norm", "there is no gradient to clip",
                "leave it out");
  check.require(x.training.freeze.empty(), "training.freeze",
                name + " solves for all parameters at once", other);
  check.require(!closed_form || x.model.start_from.empty(), "model.start_from",
                "closed-form begins from nothing", "leave it out");
  check.require(x.training.slices.value_or(1) == 1, "training.slices",
                name + " sees all rows at once", "leave it out");
  check.require(x.training.exchange == number_format::float32, "training.exchange",
                name + " exchanges no gradients", "leave it out");
  check.require(x.training.replicas.value_or(1) == 1, "training.replicas",
                name + " is the work of one actor", "leave it out");
}

void check_class_weights(problem_list& check, const class_weight_options& x) {
  double sum = 0;
  bool holds = true;
  for (auto weight : x.values) {
    holds = holds && weight >= 0 && std::isfinite(weight);
    sum += weight;
  }
  check.require(x.kind != class_weight_kind::list || (holds && sum > 0), "training.class_weights",
                "weights must be 0 or more, and not all 0", "use a number for each class");
}

void check_training(problem_list& check, const training_options& x) {
  check_class_weights(check, x.class_weights);
  check.require(!x.patience || x.evaluate_every > 0, "training.patience",
                "needs evaluations on the way, but evaluate_every is 0",
                "set training.evaluate_every to 1 or more");
  check.require(!is_added(x.rule) || x.evaluate_every > 0, "training.stop_rule",
                "needs evaluations on the way, but evaluate_every is 0",
                "set training.evaluate_every to 1 or more");
  check.require(x.watch == "loss" || !x.target_loss, "training.target_loss",
                "is a loss, and " + x.watch + " is watched", "leave one of them out");
  check.require(!x.keep_best.value_or(false) || x.evaluate_every > 0, "training.keep_best",
                "needs evaluations on the way, but evaluate_every is 0",
                "set training.evaluate_every to 1 or more");
}

/// Of the key in the table, or behind its section.
size_t place_of(const std::string& path) {
  const auto& keys = fixed_job_keys();
  const auto section = path.substr(0, path.rfind('.') + 1);
  size_t place = keys.size();
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i].path == path)
      return i;
    else if (keys[i].path.starts_with(section))
      place = i;
  return place;
}

} // namespace

std::vector<job_problem> problems(const job& x) {
  problem_list check;
  check_ranges(check, fixed_job_keys(), "", x);
  const auto out_of_range = check.found;
  check_data(check, x.data,
             x.federated.partition == partition_kind::files || x.federated.has_port());
  check_holdings(check, x);
  check_sparse(check, x);
  check_model(check, x.model);
  check_kinds(check, x);
  check_cuts(check, x);
  check_parallel(check, x);
  check_optimizer(check, x.optimizer);
  check_plateau(check, x);
  check_lbfgs(check, x);
  check_solver(check, x);
  check_training(check, x.training);
  check_modes(check, x);
  // Of a value that is none nothing else is said.
  const auto is_reported = [&](const job_problem& one) {
    return std::ranges::find(out_of_range, one.key, &job_problem::key) != out_of_range.end();
  };
  std::erase_if(check.found, is_reported);
  check.found.insert(check.found.begin(), out_of_range.begin(), out_of_range.end());
  std::ranges::stable_sort(check.found, {}, [](const auto& one) { return place_of(one.key); });
  return std::move(check.found);
}

size_t groups_of(const parallel_options& x, size_t replica_count) {
  const auto whole = replica_count / x.group_size();
  return x.splits() ? std::min(whole, x.data.value_or(whole)) : whole;
}

std::optional<job_problem> groups_problem(const parallel_options& x, size_t replica_count) {
  const auto size = std::to_string(x.group_size());
  const auto have = "the nodes have " + std::to_string(replica_count) + " in all";
  if (x.group_size() > 1 && replica_count < x.group_size())
    return job_problem{x.tensor > 1 ? "parallel.tensor" : "parallel.pipeline",
                       "a group needs " + size + " replicas, " + have,
                       "give the nodes more replicas, or split over fewer"};
  if (!x.splits() && x.data.value_or(replica_count) != replica_count)
    return job_problem{"parallel.data", "is another number of replicas than the nodes have",
                       "leave it out and set replicas of each [[node]]"};
  if (x.data.value_or(1) > replica_count / x.group_size())
    return job_problem{"parallel.data",
                       std::to_string(*x.data) + " groups of " + size + " replicas, " + have,
                       "give the nodes more replicas, or leave it out: there are as many groups as "
                       "are whole"};
  return std::nullopt;
}

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
  check.require(x.data.dense != row_form::sparse, "data.dense",
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
  const auto& watch = x.training.watch;
  const bool watches = !is_always_told(watch);
  for (const auto& problem :
       watches ? metrics().problems({watch, {}}) : std::vector<option_problem>{})
    check.require(false, "training.watch", problem.why, problem.hint);
  check.require((names.empty() && !watches) || !x.parallel.splits(),
                watches ? "training.watch" : "training.metrics",
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
  check_added_values(check, x);
  if (x.model.own.is_set())
    check_own_model(check, x);
  check.require(
    !x.optimizer.own.is_set() || x.optimizer.kind == optimizer_kind::sgd, "optimizer.kind",
    "the job names two: " + x.optimizer.own.kind + " and " + std::string{name_of(x.optimizer.kind)},
    "leave optimizer_options::kind as it is beside `own`");
}

} // namespace troupe
