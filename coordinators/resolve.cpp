#include "troupe/coordinators/resolve.hpp"

#include "troupe/models/neural_network.hpp"

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
    out << x.steps;
    break;
  case schedule_kind::step:
  case schedule_kind::exponential:
    out << x.steps << ' ' << bits_of(x.factor);
    break;
  case schedule_kind::multi_step:
    out << bits_of(x.factor);
    write_milestones(out, x);
    break;
  case schedule_kind::linear:
    out << x.steps << ' ' << bits_of(x.start) << ' ' << bits_of(x.end);
    break;
  case schedule_kind::polynomial:
    out << x.steps << ' ' << bits_of(x.minimum) << ' ' << bits_of(x.power);
    break;
  case schedule_kind::cosine:
    out << x.steps << ' ' << bits_of(x.minimum);
    break;
  case schedule_kind::warmup:
    out << x.steps << ' ' << bits_of(x.start);
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
}

void write_model(std::ostream& out, const job& x) {
  out << "model.kind = " << name_of(x.model.kind) << '\n' << "model.hidden =";
  for (auto units : x.model.hidden)
    out << ' ' << units;
  out << '\n'
      << "model.activation = " << name_of(x.model.activation) << '\n'
      << "model.loss = " << name_of(*x.model.loss) << '\n'
      << "model.initialization = " << name_of(*x.model.initialization) << '\n';
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

loss_kind loss_of(const model_options& options, bool classification) {
  if (options.loss)
    return *options.loss;
  if (options.kind == model_kind::softmax_regression || classification)
    return loss_kind::categorical_cross_entropy;
  return loss_kind::squared;
}

job resolve(const job& x, const data_shape& shape, size_t core_count) {
  job result = x;
  const auto rows = shape.train_row_count;
  auto& training = result.training;
  if (training.batch_size == 0 || training.batch_size > rows)
    training.batch_size = rows;
  if (!training.slices)
    training.slices =
      std::clamp<size_t>(training.batch_size / slice_rows_wanted, 1, slice_count_max_by_default);
  if (!training.replicas)
    training.replicas = std::min(std::max<size_t>(core_count, 1), *training.slices);
  if (!result.runtime.threads)
    result.runtime.threads = std::max<size_t>(core_count, 1);
  result.optimizer = with_defaults(x.optimizer);
  auto& model = result.model;
  model.loss = loss_of(x.model, shape.classification);
  if (!model.initialization) {
    const bool he = model.activation == activation_kind::relu && !model.hidden.empty();
    model.initialization = he ? initialization_kind::he : initialization_kind::xavier;
  }
  return result;
}

std::vector<job_problem> problems_with_data(const job& resolved, const data_shape& shape) {
  std::vector<job_problem> result;
  if (is_classification(*resolved.model.loss) != shape.classification)
    result.push_back({"model.loss",
                      std::string{name_of(*resolved.model.loss)} + " needs " +
                        (shape.classification ? "numbers as targets, these are classes"
                                              : "classes as targets, these are numbers"),
                      shape.classification ? "use categorical-cross-entropy" : "use squared"});
  if (resolved.optimizer.kind == optimizer_kind::rprop &&
      resolved.training.batch_size < shape.train_row_count)
    result.push_back({"optimizer.kind", "rprop needs the gradient of all rows, not of a batch",
                      "set training.batch_size = \"all\""});
  return result;
}

timeline timeline_of(const job& resolved, const data_shape& shape) {
  const auto& training = resolved.training;
  return {shape.train_row_count, training.batch_size, *training.slices,
          training.epochs,       training.steps,      training.evaluate_every};
}

stop_rule_options stop_rule_of(const job& x) {
  return {x.training.target_loss, x.training.patience, x.training.tolerance};
}

std::unique_ptr<model> make_model(const job& resolved, const data_shape& shape) {
  neural_network_options options;
  options.features = shape.feature_count;
  options.outputs = shape.output_count;
  if (resolved.model.kind == model_kind::neural_network)
    options.hidden = resolved.model.hidden;
  options.activation = resolved.model.activation;
  options.loss = *resolved.model.loss;
  options.initialization = *resolved.model.initialization;
  return std::make_unique<neural_network>(options);
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
  return std::move(out).str();
}

} // namespace troupe
