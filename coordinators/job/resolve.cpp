#include "coordinators/job/resolve.hpp"

#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/base/rounding.hpp"
#include "models/kinds/metric_kinds.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/kinds/optimizer_kinds.hpp"
#include "models/network/chained_model.hpp"
#include "models/network/neural_network.hpp"
#include "models/segments/segment_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace troupe {

namespace {

/// A slice's least rows by default: below it, matrix products lose more than they gain.
constexpr size_t slice_rows_wanted = 64;
constexpr size_t slice_count_max_by_default = 16;

} // namespace

std::optional<bool> wants_classes(const model_options& options) {
  if (options.loss)
    return is_classification(*options.loss);
  switch (options.kind) {
  case model_kind::linear_regression:
    return false;
  case model_kind::logistic_regression:
  case model_kind::softmax_regression:
    return true;
  case model_kind::neural_network:
    break;
  }
  return std::nullopt;
}

loss_kind loss_of(const model_options& options, bool classification) {
  if (options.loss)
    return *options.loss;
  if (options.kind == model_kind::logistic_regression)
    return loss_kind::binary_cross_entropy;
  return wants_classes(options).value_or(classification) ? loss_kind::categorical_cross_entropy
                                                         : loss_kind::squared;
}

target_scale_kind target_scale_of(const job& x) {
  if (x.model.start)
    return x.model.start->scale.kind;
  const auto& own = x.model.own;
  const bool is_network =
    own.is_set() ? own.kind == "chain" : x.model.kind == model_kind::neural_network;
  const bool by_default = is_network && !is_federated(x.training) &&
                          scope_of(x.optimizer.kind) != optimizer_scope::solver &&
                          takes_target_scale(loss_of(x.model, false));
  return x.data.target_scale.value_or(by_default ? target_scale_kind::standardize
                                                 : target_scale_kind::none);
}

std::vector<float> class_weights_of(const job& x, const data_shape& shape) {
  const auto& options = x.training.class_weights;
  std::vector<float> result;
  if (options.kind == class_weight_kind::list)
    result.assign(options.values.begin(), options.values.end());
  if (options.kind != class_weight_kind::balanced)
    return result;
  const auto rows = static_cast<double>(shape.train_row_count);
  const auto classes = static_cast<double>(shape.class_counts.size());
  for (auto count : shape.class_counts)
    result.push_back(static_cast<float>(rows / (classes * static_cast<double>(count))));
  return result;
}

namespace {

// One actor sees all rows at once, and the closed form is one step.
void resolve_for_solver(job& x) {
  x.training.batch_size = 0;
  x.training.slices = x.training.slices.value_or(1);
  x.training.replicas = x.training.replicas.value_or(1);
  if (x.optimizer.kind == optimizer_kind::closed_form) {
    x.training.epochs = 1;
    x.training.steps.reset();
  }
}

} // namespace

namespace {

/// Of a run, when nobody said how many. One costs a moment in which all wait; a loss costs what was
/// trained since the last one, so a fiftieth of the run at most.
constexpr uint64_t checkpoints_by_default = 50;

uint64_t checkpoint_interval(const timeline& plan) {
  return std::max(plan.steps_in_epoch(),
                  (plan.last_version() + checkpoints_by_default - 1) / checkpoints_by_default);
}

} // namespace

namespace {

// What is not cut after all is the job of one that never was.
void resolve_cuts(job& x, const data_shape& shape) {
  auto& model = x.model;
  const bool whole = has_server(x.training) || model.own.is_set() ||
                     scope_of(x.optimizer.kind) == optimizer_scope::solver ||
                     x.optimizer.kind == optimizer_kind::adafactor || shape.sparse;
  if (!model.cuts)
    model.cuts = whole ? 1 : default_part_count(model.hidden);
  std::vector<size_t> widths{shape.feature_count};
  widths.insert(widths.end(), model.hidden.begin(), model.hidden.end());
  widths.push_back(is_binary(*model.loss) ? 1 : shape.output_count);
  if (model.cut.empty())
    model.cut = cheapest_cuts(widths, *model.cuts);
  if (std::ranges::all_of(model.cut, [](layer_cut cut) { return cut == layer_cut::none; })) {
    model.cuts = 1;
    model.cut.clear();
  }
}

} // namespace

namespace {

std::optional<size_t> class_number(const std::string& name, const data_shape& shape) {
  const auto found = std::ranges::find(shape.class_texts, name);
  return found == shape.class_texts.end()
           ? std::nullopt
           : std::optional<size_t>{found - shape.class_texts.begin()};
}

/// By class, where all names are those of classes; else they stay, and problems_with_data says why.
void resolve_named_weights(class_weight_options& x, const data_shape& shape) {
  std::vector<double> values(shape.class_texts.size(), 1.0);
  for (size_t i = 0; i < x.names.size(); ++i)
    if (const auto number = class_number(x.names[i], shape))
      values[*number] = x.values[i];
    else
      return;
  if (!x.names.empty())
    x = {class_weight_kind::list, values, {}};
}

} // namespace

std::optional<size_t> threshold_class_of(const job& x, const data_shape& shape) {
  if (x.training.threshold == threshold_kind::none || shape.class_counts.size() != 2)
    return std::nullopt;
  if (!x.training.threshold_class.empty())
    return class_number(x.training.threshold_class, shape);
  return shape.class_counts[0] < shape.class_counts[1] ? 0 : 1;
}

job resolve(const job& x, const data_shape& shape, size_t core_count) {
  const default_rounding rounding;
  job result = x;
  const auto rows = shape.train_row_count;
  auto& training = result.training;
  if (scope_of(x.optimizer.kind) == optimizer_scope::solver)
    resolve_for_solver(result);
  if (training.batch_size == 0 || training.batch_size > rows)
    training.batch_size = rows;
  resolve_mode(result, rows, core_count);
  if (!training.slices)
    training.slices =
      std::clamp<size_t>(training.batch_size / slice_rows_wanted, 1, slice_count_max_by_default);
  if (training.strategy == strategy_kind::parameters)
    training.members = training.slices;
  if (!training.replicas)
    training.replicas = x.parallel.data.value_or(
      std::clamp<size_t>(core_count / x.parallel.group_size(), 1, *training.slices));
  if (metrics().find(training.watch) && !std::ranges::count(training.metrics, training.watch))
    training.metrics.push_back(training.watch);
  if (!training.keep_best)
    training.keep_best = shape.validation_row_count > 0 && training.evaluate_every > 0;
  if (!result.runtime.threads)
    result.runtime.threads = std::max<size_t>(core_count, 1);
  if (result.checkpoint.by_default)
    result.checkpoint.every_steps = checkpoint_interval(timeline_of(result, shape));
  result.checkpoint.every_steps = checkpoint_interval_of(result, timeline_of(result, shape));
  result.optimizer = with_kind_defaults(x.optimizer);
  if (x.model.own.is_set())
    result.model.own = models().complete(x.model.own);
  result.optimizer.schedule =
    with_steps(x.optimizer.schedule, timeline_of(result, shape).last_version());
  resolve_privacy(result, timeline_of(result, shape).last_version());
  auto& model = result.model;
  model.loss = loss_of(x.model, shape.classification);
  resolve_named_weights(training.class_weights, shape);
  if (!shape.classification)
    result.data.target_scale = target_scale_of(x);
  if (!model.initialization && !model.own.is_set()) {
    const bool he = !model.hidden.empty() && is_rectifier(model.activation.of(0));
    model.initialization = he ? initialization_kind::he : initialization_kind::xavier;
  }
  resolve_cuts(result, shape);
  if (is_natural(x.federated.partition) && x.federated.clients == federated_section{}.clients)
    result.federated.clients = shape.client_count;
  if (x.data.shuffle == shuffle_kind::lanes) {
    result.data.lanes.chunk_rows = shape.chunk_rows;
    if (!x.data.lanes.window_rows)
      result.data.lanes.window_rows =
        std::max<size_t>(window_bytes_by_default / (shape.feature_count * sizeof(float)), 1);
  }
  return result;
}

size_t window_chunks_of(const job& resolved) {
  const auto& x = resolved.data;
  if (x.shuffle != shuffle_kind::lanes)
    return 1;
  return std::max<size_t>(
    *x.lanes.window_rows / *resolved.training.slices / std::max<size_t>(*x.lanes.chunk_rows, 1), 1);
}

timeline timeline_of(const job& resolved, const data_shape& shape) {
  const auto& training = resolved.training;
  if (is_federated(training)) // a version is a round
    return {1,
            1,
            1,
            resolved.federated.rounds,
            training.steps,
            training.evaluate_every,
            training.history_every};
  return {shape.train_row_count, training.batch_size,     *training.slices,      training.epochs,
          training.steps,        training.evaluate_every, training.history_every};
}

metric_input metric_input_of(const job& resolved, const data_shape& shape) {
  const auto loss = *resolved.model.loss;
  return {is_binary(loss) ? 2 : shape.output_count, loss};
}

metric_set metrics_of(const job& resolved, const data_shape& shape) {
  return {resolved.training.metrics, metric_input_of(resolved, shape)};
}

std::unique_ptr<model> make_model(const job& resolved, const data_shape& shape) {
  const default_rounding rounding;
  loss_options loss = *resolved.model.loss;
  static_cast<loss_constants&>(loss) = resolved.model;
  loss.class_weights = class_weights_of(resolved, shape);
  loss.scale = shape.scale;
  const auto outputs = is_binary(loss.kind) ? 1 : shape.output_count;
  if (resolved.model.own.is_set())
    return make_own_model(resolved.model.own, {shape.feature_count, outputs, loss});
  neural_network_options options;
  options.features = shape.feature_count;
  options.outputs = outputs;
  if (resolved.model.kind == model_kind::neural_network)
    options.hidden = resolved.model.hidden;
  options.activation = resolved.model.activation;
  options.loss = loss;
  options.initialization = *resolved.model.initialization;
  options.initialization_scale = resolved.model.initialization_scale;
  options.bias = resolved.model.bias;
  options.dropout = resolved.model.dropout;
  options.parts = *resolved.model.cuts;
  options.cuts = resolved.model.cut;
  options.sparse = shape.sparse;
  return std::make_unique<neural_network>(options);
}

model_split split_of(const job& resolved, const segment_chain& chain) {
  model_split result;
  result.shape = {*resolved.training.replicas, resolved.parallel.tensor,
                  resolved.parallel.pipeline};
  result.part_count = chain.part_count();
  result.sharded = resolved.parallel.sharded;
  result.stages = resolved.parallel.stages;
  for (size_t k = 0; k < chain.size(); ++k)
    result.segment_costs.push_back(chain.multiply_adds(k, {0, chain.part_count()}));
  for (const auto& segment : chain.segments())
    result.layers.push_back({segment.first_layer, segment.last_layer() + 1});
  chain.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    result.tiles.push_back({k, t == chain.part_count() ? 0 : t, elements});
  });
  std::ranges::sort(result.tiles, {}, &split_tile::elements);
  return result;
}

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
    check.require(class_number(name, shape).has_value(), "training.class_weights",
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
  check.require(loss != loss_kind::hinge && loss != loss_kind::squared_hinge, "training.threshold",
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
  check.require(shape.client_count == 0 || x.federated.clients == shape.client_count,
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

std::string text_of(const tensor_info* x) {
  if (!x)
    return "nothing";
  std::string shape;
  for (const auto extent : x->shape)
    shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
  return "'" + x->name + "' (" + shape + ")";
}

/// The first tensor that differs says why.
void check_start(problem_list& check, const job& x, const data_shape& shape) {
  const auto network = make_model(x, shape);
  const auto& wanted = network->layout().tensors();
  const auto& given = x.model.start->layout.tensors();
  for (size_t i = 0; i < std::max(wanted.size(), given.size()); ++i) {
    const auto* own = i < wanted.size() ? &wanted[i] : nullptr;
    const auto* other = i < given.size() ? &given[i] : nullptr;
    if (!own || !other || own->name != other->name || own->shape != other->shape)
      return check.require(
        false, "model.start",
        "the model to start from has " + text_of(other) + " where this one has " + text_of(own),
        "give it the same layers, features and classes or targets, or begin anew");
  }
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
  if (check.found.empty() && resolved.model.start)
    check_start(check, resolved, shape);
  return std::move(check.found);
}

} // namespace troupe
