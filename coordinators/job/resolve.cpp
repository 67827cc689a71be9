#include "coordinators/job/resolve.hpp"

#include "coordinators/job/added_values.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/base/rounding.hpp"
#include "models/kinds/metric_kinds.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/kinds/optimizer_kinds.hpp"
#include "models/network/neural_network.hpp"
#include "models/segments/segment_chain.hpp"

#include <algorithm>

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
  if (x.federated.has_port()) // the rows are elsewhere: nobody has more
    training.batch_size = training.batch_size == 0 ? rows_max : training.batch_size;
  else if (training.batch_size == 0 || training.batch_size > rows)
    training.batch_size = rows;
  resolve_mode(result, rows, core_count);
  if (!training.slices)
    training.slices =
      std::clamp<size_t>(training.batch_size / slice_rows_wanted, 1, slice_count_max_by_default) +
      std::max<size_t>(shape.held.sizes.size(), 1) - 1;
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
  if (x.federated.has_port() && x.checkpoint.every_steps == 0) // clients do not train a round again
    result.checkpoint.every_steps = 1;
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
  settle_added_values(result);
  resolve_named_weights(training.class_weights, shape);
  if (!shape.classification)
    result.data.target_scale =
      shape.start || !x.data.table.empty() ? shape.scale.kind : target_scale_of(x);
  model.start = shape.start;
  if (!model.initialization && !model.own.is_set()) {
    const bool he = !model.hidden.empty() && is_rectifier(model.activation.of(0));
    model.initialization = he ? initialization_kind::he : initialization_kind::xavier;
  }
  resolve_cuts(result, shape);
  if (is_natural(x.federated.partition) && !x.federated.repeats &&
      x.federated.clients == federated_section{}.clients)
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

evaluation_rows data_shape::evaluated() const {
  return evaluated_rows(test_row_count, validation_row_count, held.sizes);
}

std::vector<size_t> training_rows_of(const data_shape& shape) {
  std::vector<size_t> result;
  for (const auto& one : shape.held.sizes)
    result.push_back(one.train);
  return result;
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
            training.history_every,
            {}};
  return {shape.train_row_count,
          training.batch_size,
          *training.slices,
          training.epochs,
          training.steps,
          training.evaluate_every,
          training.history_every,
          shape.held.sizes.size() > 1 ? share_slices(training_rows_of(shape), *training.slices)
                                      : std::vector<holding_lanes>{}};
}

row_holders holders_of(const data_shape& shape, const timeline& plan) {
  row_holders result;
  if (shape.held.by_process.empty())
    return result;
  for (const auto& lanes : plan.holdings)
    result.slices.push_back(lanes.slices);
  if (plan.holdings.empty())
    result.slices.push_back({0, plan.slice_count});
  result.holding_of = shape.held.by_process;
  return result;
}

data_shape shape_at(const data_shape& all, const std::string& process) {
  if (all.held.by_process.empty())
    return all;
  auto result = all;
  const auto found = all.held.by_process.find(process);
  const auto own =
    found == all.held.by_process.end() ? holding_size{} : all.held.sizes[found->second];
  holding_size held;
  for (const auto& one : all.held.sizes)
    held = held + one;
  result.train_row_count = own.train;
  result.test_row_count -= held.test - own.test;
  result.validation_row_count -= held.validation - own.validation;
  result.entry_count = all.entry_count * own.train / std::max<size_t>(held.train, 1);
  return result;
}

metric_input metric_input_of(const job& resolved, const data_shape& shape) {
  const auto loss = *resolved.model.loss;
  return {is_binary(loss) ? 2 : shape.output_count, loss};
}

regularization changes_of(const job& resolved, const model& network) {
  return {resolved.optimizer, penalized_ranges(network.layout(), network.frozen()),
          network.frozen()};
}

metric_set metrics_of(const job& resolved, const data_shape& shape) {
  return {resolved.training.metrics, metric_input_of(resolved, shape)};
}

namespace {

std::unique_ptr<model> make_free_model(const job& resolved, const data_shape& shape) {
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

} // namespace

std::unique_ptr<model> make_model(const job& resolved, const data_shape& shape) {
  auto result = make_free_model(resolved, shape);
  if (const auto& patterns = resolved.training.freeze; !patterns.empty())
    result->freeze(ranges_of(result->layout(), [&](const tensor_info& tensor) {
      return std::ranges::any_of(patterns,
                                 [&](const auto& one) { return is_like(tensor.name, one); });
    }));
  return result;
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

} // namespace troupe
