// The text that a job's identity is the hash of (resolve.hpp).

#include "troupe/coordinators/job/federated_job.hpp"
#include "troupe/coordinators/job/resolve.hpp"
#include "troupe/coordinators/job/training_modes.hpp"
#include "troupe/models/base/arithmetic.hpp"
#include "troupe/models/kinds/model_kinds.hpp"
#include "troupe/models/kinds/optimizer_kinds.hpp"

#include <bit>
#include <cstdio>
#include <sstream>

namespace troupe {

namespace {

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
  if (x.data.stratify)
    out << "data.stratify = 1\n";
  if (!x.data.split_by.empty())
    out << "data.split_by = groups\n"; // which ones the fingerprint says
  if (x.data.folds)
    out << "data.fold = " << *x.data.fold << " of " << *x.data.folds << '\n';
  if (x.data.shuffle == shuffle_kind::lanes)
    out << "data.shuffle = lanes\ndata.chunk_rows = " << *x.data.lanes.chunk_rows
        << "\ndata.window_chunks = " << window_chunks_of(x) << '\n';
}

void write_network(std::ostream& out, const model_options& model) {
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
}

void write_weights(std::ostream& out, const model_options& model) {
  out << "model.initialization = " << name_of(*model.initialization) << '\n';
  if (model.initialization == initialization_kind::uniform ||
      model.initialization == initialization_kind::normal)
    out << "model.initialization_scale = " << bits_of(model.initialization_scale) << '\n';
}

void write_loss_constants(std::ostream& out, const model_options& model) {
  if (model.loss == loss_kind::binary_cross_entropy)
    out << "model.link = " << name_of(model.link) << '\n';
  if (model.loss == loss_kind::huber)
    out << "model.huber_threshold = " << bits_of(model.huber_threshold) << '\n';
}

void write_layers(std::ostream& out, const model_options& model) {
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

// Only what counts: a key that is not used must not make another job.
void write_model(std::ostream& out, const model_options& x) {
  if (x.own.is_set())
    out << identity_lines("model", models().at(x.own.kind), x.own);
  else
    write_network(out, x);
  out << "model.loss = " << name_of(*x.loss) << '\n';
  if (!x.own.is_set())
    write_weights(out, x);
  write_loss_constants(out, x);
  if (!x.own.is_set())
    write_layers(out, x);
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
  const bool is_own = x.own.is_set();
  if (is_own)
    out << identity_lines("optimizer", optimizers().at(x.own.kind), own_of(x));
  else
    out << "optimizer.kind = " << name_of(x.kind) << '\n';
  for (const auto& [key, member] : optimizer_constants)
    if (defaults.*member)
      out << "optimizer." << key << " = " << bits_of(*(x.*member)) << '\n';
  if (x.kind == optimizer_kind::sgd && !is_own)
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
  if (const auto& plateau = x.plateau; plateau.patience)
    out << "optimizer.plateau = " << *plateau.patience << ' ' << bits_of(plateau.factor) << ' '
        << bits_of(plateau.tolerance) << ' ' << bits_of(plateau.minimum) << '\n';
}

} // namespace

std::string identity_text(const job& resolved, const std::string& data_fingerprint) {
  std::ostringstream out;
  out << "arithmetic = " << arithmetic_name << '\n' << "seed = " << resolved.seed << '\n';
  write_data(out, resolved, data_fingerprint);
  write_model(out, resolved.model);
  write_optimizer(out, resolved.optimizer);
  const auto& training = resolved.training;
  out << "training.strategy = " << name_of(training.strategy) << '\n'
      << "training.consistency = " << name_of(training.consistency) << '\n'
      << "training.batch_size = " << training.batch_size << '\n'
      << "training.slices = " << *training.slices << '\n';
  if (training.exchange != number_format::float32)
    out << "training.exchange = " << name_of(training.exchange) << '\n';
  write_class_weights(out, training.class_weights);
  write_mode(out, resolved);
  return std::move(out).str();
}

} // namespace troupe
