#include "troupe/coordinators/job/resolve.hpp"

#include "troupe/coordinators/job/federated_job.hpp"
#include "troupe/coordinators/job/private_job.hpp"
#include "troupe/coordinators/job/training_modes.hpp"
#include "troupe/models/base/numerics.hpp"
#include "troupe/models/network/neural_network.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <sstream>

namespace troupe {

namespace {

/// A slice's least rows by default: below it, matrix products lose more than they gain.
constexpr size_t slice_rows_wanted = 64;
constexpr size_t slice_count_max_by_default = 16;

std::string bits_of(double value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  return text;
}

void write_schedule(std::ostream& out, const schedule_options& schedule);

void write_schedules(std::ostream& out, const std::vector<schedule_options>& schedules) {
  for (const auto& next : schedules) {
    out << ' ';
    write_schedule(out, next);
  }
}

void write_milestones(std::ostream& out, const schedule_options& schedule) {
  for (auto step : schedule.milestones)
    out << ' ' << step;
}

// What the kind uses, and nothing else: see schedule_factor.
void write_schedule(std::ostream& out, const schedule_options& x) {
  out << name_of(x.kind) << '(';
  switch (x.kind) {
  case schedule_kind::constant:
    break;
  case schedule_kind::inverse_time:
  case schedule_kind::inverse_square_root:
    out << *x.steps;
    break;
  case schedule_kind::step:
  case schedule_kind::exponential:
    out << *x.steps << ' ' << bits_of(x.factor);
    break;
  case schedule_kind::multi_step:
    out << bits_of(x.factor);
    write_milestones(out, x);
    break;
  case schedule_kind::linear:
    out << *x.steps << ' ' << bits_of(x.start) << ' ' << bits_of(x.end);
    break;
  case schedule_kind::polynomial:
    out << *x.steps << ' ' << bits_of(x.minimum) << ' ' << bits_of(x.power);
    break;
  case schedule_kind::cosine:
    out << *x.steps << ' ' << bits_of(x.minimum);
    break;
  case schedule_kind::warmup:
    out << *x.steps << ' ' << bits_of(x.start);
    write_schedules(out, x.then);
    break;
  case schedule_kind::chained:
    write_schedules(out, x.parts);
    break;
  case schedule_kind::sequential:
    write_milestones(out, x);
    write_schedules(out, x.parts);
    break;
  }
  out << ')';
}

void write_data(std::ostream& out, const job& x, const std::string& fingerprint) {
  out << "data.fingerprint = " << fingerprint << '\n'
      << "data.test_fraction = " << bits_of(x.data.test_fraction) << '\n'
      << "data.standardize = " << x.data.standardize << '\n';
  if (x.data.validation_fraction > 0)
    out << "data.validation_fraction = " << bits_of(x.data.validation_fraction) << '\n';
  if (x.data.shuffle == shuffle_kind::lanes)
    out << "data.shuffle = lanes\ndata.chunk_rows = " << *x.data.lanes.chunk_rows
        << "\ndata.window_chunks = " << window_chunks_of(x) << '\n';
}

// Only what counts: a key that is not used must not make another job.
void write_model(std::ostream& out, const job& x) {
  const auto& model = x.model;
  out << "model.kind = " << name_of(model.kind) << '\n' << "model.hidden =";
  for (auto units : model.hidden)
    out << ' ' << units;
  out << '\n';
  if (!model.hidden.empty()) {
    out << "model.activation =";
    for (size_t i = 0; i < model.hidden.size(); ++i)
      out << ' ' << name_of(model.activation.of(i));
    out << '\n';
  }
  out << "model.loss = " << name_of(*model.loss) << '\n'
      << "model.initialization = " << name_of(*model.initialization) << '\n';
  if (model.initialization == initialization_kind::uniform ||
      model.initialization == initialization_kind::normal)
    out << "model.initialization_scale = " << bits_of(model.initialization_scale) << '\n';
  if (model.loss == loss_kind::binary_cross_entropy)
    out << "model.link = " << name_of(model.link) << '\n';
  if (model.loss == loss_kind::huber)
    out << "model.huber_threshold = " << bits_of(model.huber_threshold) << '\n';
  if (!model.bias)
    out << "model.bias = 0\n";
  if (model.cuts.value_or(1) > 1) {
    out << "model.cuts = " << *model.cuts << "\nmodel.cut =";
    for (auto cut : model.cut)
      out << ' ' << name_of(cut);
    out << '\n';
  }
  if (model.dropout > 0)
    out << "model.dropout = " << bits_of(model.dropout) << '\n';
}

void write_class_weights(std::ostream& out, const class_weight_options& x) {
  if (x.kind == class_weight_kind::balanced)
    out << "training.class_weights = balanced\n";
  if (x.kind != class_weight_kind::list)
    return;
  out << "training.class_weights =";
  for (auto weight : x.values)
    out << ' ' << bits_of(weight);
  out << '\n';
}

void write_optimizer(std::ostream& out, const optimizer_options& given) {
  const auto x = with_defaults(given);
  const auto defaults = defaults_of(x.kind);
  out << "optimizer.kind = " << name_of(x.kind) << '\n';
  for (const auto& [key, member] : optimizer_constants)
    if (defaults.*member)
      out << "optimizer." << key << " = " << bits_of(*(x.*member)) << '\n';
  if (x.kind == optimizer_kind::sgd)
    out << "optimizer.momentum = " << bits_of(x.momentum) << '\n'
        << "optimizer.nesterov = " << x.nesterov << '\n';
  if (x.kind == optimizer_kind::lbfgs)
    out << "optimizer.history_size = " << x.history_size << '\n';
  const auto write_if_on = [&](const char* key, double value) {
    if (value > 0)
      out << "optimizer." << key << " = " << bits_of(value) << '\n';
  };
  write_if_on("l1", x.l1);
  write_if_on("l2", x.l2);
  write_if_on("clip_value", x.clip_value);
  write_if_on("clip_norm", x.clip_norm);
  out << "optimizer.schedule = ";
  write_schedule(out, x.schedule);
  out << '\n';
}

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
  const bool whole = has_keeper(x.training) ||
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
  if (!training.keep_best)
    training.keep_best = shape.validation_row_count > 0 && training.evaluate_every > 0;
  if (!result.runtime.threads)
    result.runtime.threads = std::max<size_t>(core_count, 1);
  if (result.checkpoint.by_default)
    result.checkpoint.every_steps = checkpoint_interval(timeline_of(result, shape));
  result.checkpoint.every_steps = checkpoint_interval_of(result, timeline_of(result, shape));
  result.optimizer = with_defaults(x.optimizer);
  result.optimizer.schedule =
    with_steps(x.optimizer.schedule, timeline_of(result, shape).last_version());
  resolve_privacy(result, timeline_of(result, shape).last_version());
  auto& model = result.model;
  model.loss = loss_of(x.model, shape.classification);
  if (!model.initialization) {
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

stop_rule_options stop_rule_of(const job& x) {
  return {x.training.target_loss, x.training.patience, x.training.tolerance};
}

std::unique_ptr<model> make_model(const job& resolved, const data_shape& shape) {
  const default_rounding rounding;
  neural_network_options options;
  options.features = shape.feature_count;
  options.outputs = is_binary(*resolved.model.loss) ? 1 : shape.output_count;
  if (resolved.model.kind == model_kind::neural_network)
    options.hidden = resolved.model.hidden;
  options.activation = resolved.model.activation;
  options.loss = *resolved.model.loss;
  options.loss.huber_threshold = resolved.model.huber_threshold;
  options.loss.link = resolved.model.link;
  options.loss.class_weights = class_weights_of(resolved, shape);
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
  for (const auto& segment : chain.segments()) {
    uint64_t work = 0; // multiply-adds of a row; layer 0 has no derivative by its inputs
    for (auto i = segment.first_layer; i <= segment.last_layer(); ++i)
      work += (i == 0 ? 2 : 3) * uint64_t{chain.layers()[i].inputs} * chain.layers()[i].outputs;
    result.segment_costs.push_back(work);
    result.layers.push_back({segment.first_layer, segment.last_layer() + 1});
  }
  chain.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    result.tiles.push_back({k, t == chain.part_count() ? 0 : t, elements});
  });
  std::ranges::sort(result.tiles, {}, &split_tile::elements);
  return result;
}

std::string identity_text(const job& resolved, const std::string& data_fingerprint) {
  std::ostringstream out;
  out << "seed = " << resolved.seed << '\n';
  write_data(out, resolved, data_fingerprint);
  write_model(out, resolved);
  write_optimizer(out, resolved.optimizer);
  const auto& training = resolved.training;
  out << "training.strategy = " << name_of(training.strategy) << '\n'
      << "training.consistency = " << name_of(training.consistency) << '\n'
      << "training.batch_size = " << training.batch_size << '\n'
      << "training.slices = " << *training.slices << '\n';
  write_class_weights(out, training.class_weights);
  write_mode(out, resolved);
  return std::move(out).str();
}

} // namespace troupe
