// What is wrong with a resolved job beside its data: problems_with_data of resolve.hpp.

#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/network/chained_model.hpp"
#include "models/segments/segment_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// ": 'B' 357, 'benign' 1, 'M' 212": the classes found, with their rows; empty when they are
/// unknown.
std::string classes_text(const data_shape& shape) {
  constexpr size_t shown_max = 8;
  std::string result;
  const auto count = std::min(shape.class_names.size(), shape.class_rows.size());
  for (size_t c = 0; c < std::min(count, shown_max); ++c)
    result +=
      (c == 0 ? ": " : ", ") + shape.class_names[c] + ' ' + std::to_string(shape.class_rows[c]);
  return result + (count > shown_max ? ", .." : "");
}

/// A class that is nowhere in training has no balanced weight: its mistakes would count nothing.
void check_balance(problem_list& check, const data_shape& shape) {
  const auto absent = std::ranges::find(shape.class_counts, size_t{0});
  if (absent == shape.class_counts.end())
    return;
  const auto place = static_cast<size_t>(absent - shape.class_counts.begin());
  const auto name =
    place < shape.class_names.size() ? shape.class_names[place] : "number " + std::to_string(place);
  check.require(false, "training.class_weights",
                "class " + name + " has no training rows, so there is no balanced weight for it",
                "leave its rows out, give a list of weights, or keep more rows for training");
}

void check_classes(problem_list& check, const job& x, const data_shape& shape) {
  const auto loss = *x.model.loss;
  check.require(!is_binary(loss) || shape.output_count == 2, "model.loss",
                std::string{name_of(loss)} + " needs exactly two classes, the data has " +
                  std::to_string(shape.output_count) + classes_text(shape),
                "use softmax-regression or categorical-cross-entropy; classes that are one want "
                "one spelling");
  check.require(!x.data.target_scale || x.data.target_scale == target_scale_kind::none,
                "data.target_scale", "the targets are classes, not numbers", "leave it out");
  const auto& weights = x.training.class_weights;
  if (weights.kind == class_weight_kind::balanced)
    check_balance(check, shape);
  for (const auto& name : weights.names) // resolved ones have none left
    check.require(std::ranges::count(shape.class_texts, name) > 0, "training.class_weights",
                  "there is no class '" + name + '\'' + classes_text(shape),
                  "write a class as the data does");
  check.require(weights.kind != class_weight_kind::list || !weights.names.empty() ||
                  weights.values.size() == shape.output_count,
                "training.class_weights",
                std::to_string(weights.values.size()) + " weights for " +
                  std::to_string(shape.output_count) + " classes",
                "give one number for each class, in the order of the classes");
  if (x.training.threshold == threshold_kind::none)
    return;
  check.require(shape.output_count == 2, "training.threshold",
                "is for two classes, the data has " + std::to_string(shape.output_count),
                "leave it out");
  check.require(!gives_margins(loss), "training.threshold",
                "is one of probabilities, and the loss gives margins",
                "use the loss binary-cross-entropy");
  check.require(shape.validation_row_count > 0, "training.threshold",
                "there are no validation rows to choose it on",
                "set data.validation_fraction, to 0.1 say");
  check.require(shape.output_count != 2 || threshold_class_of(x, shape).has_value(),
                "training.threshold_class",
                "there is no class '" + x.training.threshold_class + '\'' + classes_text(shape),
                "write the class as the data does");
}

void check_numbers(problem_list& check, const job& x, const data_shape& shape) {
  const auto loss = *x.model.loss;
  check.require(accepts_target(loss, shape.target_minimum), "model.loss",
                std::string{name_of(loss)} + " needs targets " + std::string{target_demand(loss)} +
                  ", the lowest is " + fmt::format("{:.9g}", shape.target_minimum),
                "use squared, or another target");
  const auto scale = x.data.target_scale.value_or(target_scale_kind::none);
  const std::string name{name_of(scale)};
  check.require(scale == target_scale_kind::none || takes_target_scale(loss), "data.target_scale",
                std::string{name_of(loss)} + " is a loss of targets as they are",
                "leave it out, or use the loss squared");
  check.require(scale == target_scale_kind::none ||
                  x.optimizer.kind != optimizer_kind::gauss_newton,
                "data.target_scale", "gauss-newton takes the targets as they are", "leave it out");
  check.require(accepts_target(scale, shape.target_minimum), "data.target_scale",
                name + " needs targets " + std::string{target_demand(scale)} + ", the lowest is " +
                  fmt::format("{:.9g}", shape.target_minimum),
                "use \"asinh\" for amounts of both signs, or \"standardize\"");
  check.require(x.training.threshold == threshold_kind::none, "training.threshold",
                "the targets are numbers, not classes", "leave it out");
  check.require(x.training.class_weights.kind == class_weight_kind::none, "training.class_weights",
                "the targets are numbers, not classes", "leave training.class_weights out");
}

/// The normal equations are a matrix of doubles: 128 MiB and 32 MiB at these sizes.
constexpr size_t closed_form_features_max = 4096;
constexpr size_t gauss_newton_parameters_max = 2048;

void check_solver(problem_list& check, const job& x, const data_shape& shape) {
  const auto name = std::string{name_of(x.optimizer.kind)};
  check.require(x.model.loss == loss_kind::squared, "model.loss", name + " needs the squared loss",
                "use another optimizer.kind");
  const auto require_size = [&](const char* what, size_t count, size_t count_max) {
    check.require(count <= count_max, "optimizer.kind",
                  name + " is for at most " + std::to_string(count_max) + ' ' + what +
                    ", there are " + std::to_string(count),
                  "use optimizer.kind = \"lbfgs\" with training.batch_size = \"all\"");
  };
  if (x.optimizer.kind == optimizer_kind::closed_form)
    require_size("features", shape.feature_count, closed_form_features_max);
  else
    require_size("parameters", make_model(x, shape)->layout().size(), gauss_newton_parameters_max);
}

void check_metrics(problem_list& check, const job& x, const data_shape& shape) {
  const auto& watch = x.training.watch;
  const bool judges = shape.test_row_count + shape.validation_row_count > 0;
  check.require(watch == "loss" || judges, "training.watch",
                "there are no rows that are not trained on to judge " + watch + " by",
                "set data.validation_fraction, to 0.1 say");
  check.require(watch != "accuracy" || shape.classification, "training.watch",
                "accuracy is of classes, and the targets are numbers", "use \"loss\" or \"r2\"");
  check.require(watch != "r2" || !shape.classification, "training.watch",
                "r2 is of numbers, and the targets are classes", "use \"loss\" or \"auc\"");
  if (x.training.metrics.empty())
    return;
  check.require(shape.test_row_count + shape.validation_row_count > 0, "training.metrics",
                "there are no rows to judge",
                "set data.validation_fraction or data.test_fraction, to 0.25 say");
  try {
    metrics_of(x, shape);
  } catch (const std::invalid_argument& problem) {
    check.require(false, "training.metrics", problem.what(), "leave it out");
  }
}

void check_parallel(problem_list& check, const job& x, size_t parts, size_t segments,
                    const std::string& parts_key) {
  const auto& parallel = x.parallel;
  const auto tensor = std::to_string(parallel.tensor);
  check.require(parallel.tensor <= parts, "parallel.tensor",
                tensor + " replicas for layers that are cut in " + std::to_string(parts),
                "set " + parts_key + " = " + tensor + ": another job, with other bits");
  check.require(parallel.pipeline <= segments, "parallel.pipeline",
                std::to_string(parallel.pipeline) + " stages for " + std::to_string(segments) +
                  " segments",
                "use at most " + std::to_string(segments) +
                  ": two layers cut by outputs and inputs are one segment");
  const auto named = std::reduce(parallel.stages.begin(), parallel.stages.end(), size_t{0});
  check.require(parallel.stages.empty() || named == segments, "parallel.stages",
                "names " + std::to_string(named) + " segments, the model has " +
                  std::to_string(segments),
                "share them all out, or leave it out");
}

// Rows that say whose they are also say how many clients there are.
void check_natural_clients(problem_list& check, const job& x, const data_shape& shape) {
  if (!is_natural(x.federated.partition))
    return;
  check.require(shape.client_count > 0, "federated.partition", "the rows do not say whose they are",
                "use \"iid\", or rows that do");
  check.require(shape.client_count == 0 || x.federated.repeats ||
                  x.federated.clients == shape.client_count,
                "federated.clients",
                "the training rows are those of " + std::to_string(shape.client_count) + " clients",
                "leave it out: the rows say how many there are");
}

/// What a kind's factory has against the data.
void check_own_model(problem_list& check, const job& resolved, const data_shape& shape) {
  const auto& kind = resolved.model.own.kind;
  try {
    const auto made = make_model(resolved, shape);
    const auto parts = made->chain().part_count();
    check_parallel(check, resolved, parts, made->chain().size(), "model.parts");
    check.require(parts <= 1 || (!has_server(resolved.training) &&
                                 resolved.optimizer.kind != optimizer_kind::adafactor),
                  "model.parts",
                  "a mode where each replica trains on its own, and adafactor, need layers whole",
                  "set model.parts = 1");
    const auto* const chain = dynamic_cast<const chained_model*>(made.get());
    check.require(!shape.weighted || chain, "data.weight",
                  "nobody knows whether a model of kind '" + kind + "' heeds the weights of rows",
                  "leave it out");
    check.require(resolved.optimizer.kind != optimizer_kind::lbfgs || !chain || !chain->is_random(),
                  "model.layers",
                  "lbfgs needs a loss that is the same at each look, dropout changes it",
                  "leave dropout out, or use another optimizer.kind such as \"adam\"");
  } catch (const std::invalid_argument& problem) {
    check.require(false, "model.kind", kind + ": " + problem.what(),
                  "change the model's options, or its data");
  }
}

/// Patterns name tensors, and something is left to learn.
void check_freeze(problem_list& check, const job& x, const data_shape& shape) {
  const auto& patterns = x.training.freeze;
  if (patterns.empty())
    return;
  const auto network = make_model(x, shape);
  std::string names;
  bool learns = false;
  for (const auto& tensor : network->layout().tensors()) {
    names += (names.empty() ? "" : ", ") + tensor.name;
    learns = learns || std::ranges::none_of(
                         patterns, [&](const auto& one) { return is_like(tensor.name, one); });
  }
  for (const auto& one : patterns)
    check.require(
      std::ranges::any_of(network->layout().tensors(),
                          [&](const auto& tensor) { return is_like(tensor.name, one); }),
      "training.freeze", "no tensor of the model is called \"" + one + '"', "it has " + names);
  check.require(learns, "training.freeze", "every tensor is frozen: nothing is left to learn",
                "leave out those that are to learn");
}

/// The first member whose holding has so few rows that some round passes without one. Epochs are alike, but for one that
/// a limit of steps ends.
std::optional<size_t> member_without_rows(const job& resolved, const data_shape& shape) {
  const auto plan = timeline_of(resolved, shape);
  const auto epoch = plan.steps_in_epoch(), last = plan.last_version();
  for (const auto first : {uint64_t{0}, (last - 1) / epoch * epoch})
    for (auto begin = first; begin < first + std::min(epoch, last - first);) {
      const auto end = round_end(plan, begin, *resolved.training.local_steps);
      for (size_t member = 0; member < plan.slice_count; ++member)
        if (plan.rows_of_slice(begin, member).begin == plan.rows_of_slice(end - 1, member).end)
          return member;
      begin = end;
    }
  return std::nullopt;
}

void check_holdings(problem_list& check, const job& resolved, const data_shape& shape) {
  const auto holdings = shape.held.sizes.size();
  if (holdings < 2)
    return;
  check.require(!is_reproducible(resolved.training) || *resolved.training.slices >= holdings,
                resolved.training.members ? "training.members" : "training.slices",
                "each of the " + std::to_string(holdings) +
                  " holdings has a slice of each step at least",
                "set it to as many, or leave it out");
  check.require(resolved.training.batch_size >= *resolved.training.slices, "training.batch_size",
                "is below the " + std::to_string(*resolved.training.slices) +
                  " slices of a step: some steps would have no row",
                "use a larger one, or fewer training.slices");
  if (!check.found.empty() || !resolved.training.members)
    return;
  if (const auto lacks = member_without_rows(resolved, shape))
    check.require(false, "training.members",
                  "member " + std::to_string(*lacks) + " has no row in some round",
                  "use more training.local_steps, fewer members, or a larger training.batch_size");
}

} // namespace

std::vector<job_problem> problems_with_data(const job& resolved, const data_shape& shape) {
  problem_list check;
  const auto& model = resolved.model;
  const auto& optimizer = resolved.optimizer;
  check_natural_clients(check, resolved, shape);
  const bool classes = is_classification(*model.loss);
  const bool fits = classes == shape.classification;
  check.require(
    fits, "model.loss",
    std::string{name_of(*model.loss)} + " needs " +
      (classes ? "classes as targets, these are numbers" : "numbers as targets, these are classes"),
    classes ? "use squared" : "use categorical-cross-entropy");
  if (fits && classes)
    check_classes(check, resolved, shape);
  else if (fits)
    check_numbers(check, resolved, shape);
  if (fits && model.own.is_set())
    check_own_model(check, resolved, shape);
  if (fits)
    check_metrics(check, resolved, shape);
  if (!model.own.is_set())
    check_parallel(check, resolved, *model.cuts,
                   model.cut.empty() ? model.hidden.size() + 1 : segments_of(model.cut).size(),
                   "model.cuts");
  if (scope_of(optimizer.kind) == optimizer_scope::solver)
    check_solver(check, resolved, shape);
  check_holdings(check, resolved, shape);
  check_modes_with_data(check, resolved, shape.train_row_count, shape.classification);
  check.require(!resolved.federated.evaluate_clients || shape.test_row_count > 0,
                "federated.evaluate_clients", "there are no test rows to judge clients by",
                "set data.test_fraction, to 0.25 say, or data.test_file");
  check_privacy_with_data(check, resolved, shape.test_row_count + shape.validation_row_count > 0,
                          shape.sparse);
  check.require(
    !needs_all_rows(optimizer.kind) || resolved.training.batch_size >= shape.train_row_count,
    "optimizer.kind",
    std::string{name_of(optimizer.kind)} + " needs the gradient of all rows, not of a batch",
    "set training.batch_size = \"all\"");
  if (check.found.empty())
    check_freeze(check, resolved, shape);
  return std::move(check.found);
}

} // namespace troupe
