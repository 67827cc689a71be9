// The text that a job's identity is the hash of (resolve.hpp).
//
// Each line is a key and its value, in the order of the table below: texts that stand in checkpoints and
// model files have it. Keys that the table does not name and that have a part in the bits follow where
// they differ from their defaults: a new key needs no line here.

#include "coordinators/job/added_values.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/base/arithmetic.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/kinds/metric_kinds.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/kinds/optimizer_kinds.hpp"
#include "models/kinds/probe.hpp"
#include "models/optimizers/optimizer.hpp"

#include <algorithm>

namespace troupe {

namespace {

// ---- Values that say more than their key --------------------------------------------------------

std::string schedule_text(const schedule_options& schedule);

/// Options of a value that is added: " every=403e000000000000".
std::string added_options(const component& x) {
  std::string result;
  for (const auto& [name, value] : x.options)
    result += ' ' + name + '=' + bits_text(value);
  return result;
}

std::string texts_of(const std::vector<schedule_options>& schedules) {
  std::string result;
  for (const auto& next : schedules)
    result += ' ' + schedule_text(next);
  return result;
}

// What the kind uses, and nothing else: see schedule_factor.
std::string schedule_text(const schedule_options& x) {
  const auto steps = std::to_string(x.steps.value_or(0));
  std::string milestones;
  for (const auto step : x.milestones)
    milestones += ' ' + std::to_string(step);
  const auto of = [&](const std::string& inner) {
    return std::string{name_of(x.kind)} + '(' + inner + ')';
  };
  if (is_added(x.kind))
    return of(steps + added_options(schedules().what(x.kind)));
  switch (x.kind) {
  case schedule_kind::constant:
    break;
  case schedule_kind::inverse_time:
  case schedule_kind::inverse_square_root:
    return of(steps);
  case schedule_kind::step:
  case schedule_kind::exponential:
    return of(steps + ' ' + bits_text(x.factor));
  case schedule_kind::multi_step:
    return of(bits_text(x.factor) + milestones);
  case schedule_kind::linear:
    return of(steps + ' ' + bits_text(x.start) + ' ' + bits_text(x.end));
  case schedule_kind::polynomial:
    return of(steps + ' ' + bits_text(x.minimum) + ' ' + bits_text(x.power));
  case schedule_kind::cosine:
    return of(steps + ' ' + bits_text(x.minimum));
  case schedule_kind::warmup:
    return of(steps + ' ' + bits_text(x.start) + texts_of(x.then));
  case schedule_kind::chained:
    return of(texts_of(x.parts));
  case schedule_kind::sequential:
    return of(milestones + texts_of(x.parts));
  }
  return of({});
}

/// The kind, or the one that stands in its place with its version and options on lines of their own.
template <class Table>
std::string kind_text(const std::string& section, const Table& table, const component& own,
                      std::string_view built_in) {
  if (!own.is_set())
    return std::string{built_in};
  const auto lines = identity_lines(section, table.at(own.kind), own);
  const auto begin = section.size() + std::string_view{".kind = "}.size();
  return lines.substr(begin, lines.size() - 1 - begin);
}

std::string model_kind_text(const job& x) {
  return kind_text("model", models(), x.model.own, name_of(x.model.kind));
}

std::string optimizer_kind_text(const job& x) {
  return kind_text("optimizer", optimizers(), own_of(x.optimizer), name_of(x.optimizer.kind));
}

std::string activations_text(const job& x) {
  std::string result;
  for (size_t i = 0; i < x.model.hidden.size(); ++i) {
    const auto kind = x.model.activation.of(i);
    result += (i == 0 ? "" : " ") + std::string{name_of(kind)} +
              (is_added(kind) ? added_options(activations().what(kind)) : "");
  }
  return result;
}

std::string plateau_text(const job& x) {
  const auto& plateau = x.optimizer.plateau;
  return std::to_string(plateau.patience.value_or(0)) + ' ' + bits_text(plateau.factor) + ' ' +
         bits_text(plateau.tolerance) + ' ' + bits_text(plateau.minimum);
}

/// The bits of a double in the sections of modes.
std::string decimal_bits(double value) {
  return std::to_string(std::stoull(bits_text(value), nullptr, 16));
}

std::string partition_text(const job& x) {
  const auto& federated = x.federated;
  const std::string name{name_of(federated.partition)};
  switch (federated.partition) {
  case partition_kind::labels:
    return name + ' ' + std::to_string(federated.labels);
  case partition_kind::column:
    return name + ' ' + federated.clients_from;
  case partition_kind::dirichlet:
  case partition_kind::sizes:
    return name + ' ' + decimal_bits(federated.spread);
  case partition_kind::iid:
  case partition_kind::files:
    break;
  }
  return name;
}

// ---- The table ----------------------------------------------------------------------------------

bool always(const job&) {
  return true;
}
/// What it says, another line says too.
bool never(const job&) {
  return false;
}
bool visits_by_lanes(const job& x) {
  return x.data.shuffle == shuffle_kind::lanes;
}
bool is_built_in(const job& x) {
  return !x.model.own.is_set();
}
bool is_cut(const job& x) {
  return is_built_in(x) && x.model.cuts.value_or(1) > 1;
}
bool has_scale(const job& x) {
  using enum initialization_kind;
  return is_built_in(x) && (x.model.initialization == uniform || x.model.initialization == normal);
}
template <std::optional<double> rule_constants::*constant>
bool has_constant(const job& x) {
  return (row_of(x.optimizer.kind).defaults.*constant).has_value();
}
bool is_sgd(const job& x) {
  return x.optimizer.kind == optimizer_kind::sgd && !x.optimizer.own.is_set();
}
bool lowers_rate(const job& x) {
  return x.optimizer.plateau.is_on();
}
bool merges(const job& x) {
  return x.training.strategy == strategy_kind::parameters;
}
bool has_clients(const job& x) {
  return is_federated(x.training);
}
bool is_noised(const job& x) {
  return has_clients(x) && is_private(x);
}
bool has_rule(const job& x) {
  return (merges(x) || has_clients(x)) && !x.merge.elastic_alpha;
}
bool has_momentum(const job& x) {
  return has_rule(x) && x.merge.outer.kind == outer_kind::sgd;
}
bool is_asynchronous(const job& x) {
  return !is_reproducible(x.training);
}
template <consistency_kind kind>
bool is_consistency(const job& x) {
  return x.training.consistency == kind;
}

bool scales_targets(const job& x) {
  return x.data.target_scale.value_or(target_scale_kind::none) != target_scale_kind::none;
}

struct identity_line {
  const char* key;
  bool (*counts)(const job&) = nullptr;       ///< null: where it differs from its default
  std::string (*value)(const job&) = nullptr; ///< null: the key's own
  const char* name = nullptr;                 ///< null: the key's; a section's: it says all of it
};

const identity_line lines[] = {
  {"data.test_fraction", always},
  {"data.standardize", always},
  {"data.target_scale", scales_targets},
  {"data.validation_fraction"},
  {"data.stratify"},
  {"data.split_by", nullptr,
   [](const job&) { return std::string{"groups"}; }}, // by the fingerprint
  {"data.fold", nullptr,
   [](const job& x) {
     return std::to_string(*x.data.fold) + " of " + std::to_string(*x.data.folds);
   }},
  {"data.folds", never},
  {"data.shuffle", visits_by_lanes},
  {"data.chunk_rows", visits_by_lanes},
  {"data.window_rows", visits_by_lanes,
   [](const job& x) { return std::to_string(window_chunks_of(x)); }, "data.window_chunks"},
  {"model.kind", always, model_kind_text},
  {"model.hidden", is_built_in},
  {"model.activation", [](const job& x) { return is_built_in(x) && !x.model.hidden.empty(); },
   activations_text},
  {"model.loss", always},
  {"model.initialization", is_built_in},
  {"model.initialization_scale", has_scale},
  {"model.link", [](const job& x) { return x.model.loss == loss_kind::binary_cross_entropy; }},
  {"model.huber_threshold", [](const job& x) { return x.model.loss == loss_kind::huber; }},
  {"model.bias"},
  {"model.cuts", is_cut},
  {"model.cut", is_cut},
  {"model.dropout"},
  {"model.start_from", never}, // the values say it
  {"model.start_fresh", never},
  {"model.start_ignore", never},
  {"model.start_names", never},
  {"optimizer.kind", always, optimizer_kind_text},
  {"optimizer.learning_rate", has_constant<&rule_constants::learning_rate>},
  {"optimizer.beta1", has_constant<&rule_constants::beta1>},
  {"optimizer.beta2", has_constant<&rule_constants::beta2>},
  {"optimizer.rho", has_constant<&rule_constants::rho>},
  {"optimizer.epsilon", has_constant<&rule_constants::epsilon>},
  {"optimizer.weight_decay", has_constant<&rule_constants::weight_decay>},
  {"optimizer.damping", has_constant<&rule_constants::damping>},
  {"optimizer.momentum", is_sgd},
  {"optimizer.nesterov", is_sgd},
  {"optimizer.history_size",
   [](const job& x) { return x.optimizer.kind == optimizer_kind::lbfgs; }},
  {"optimizer.l1"},
  {"optimizer.l2"},
  {"optimizer.clip_value"},
  {"optimizer.clip_norm"},
  {"optimizer.schedule.kind", always,
   [](const job& x) { return schedule_text(x.optimizer.schedule); }, "optimizer.schedule"},
  {"optimizer.plateau.patience", lowers_rate, plateau_text, "optimizer.plateau"},
  {"training.strategy", always},
  {"training.consistency", always,
   [](const job& x) { return std::string{name_of(x.training.consistency)}; }},
  {"training.batch_size", always},
  {"training.slices", always},
  {"training.exchange"},
  {"training.class_weights"},
  {"training.members", never}, // as many as slices
  {"training.local_steps", merges},
  {"federated.clients", has_clients},
  {"federated.cohort", has_clients},
  {"federated.sampling", has_clients},
  {"federated.local_steps"},
  {"federated.local_epochs",
   [](const job& x) { return has_clients(x) && !x.federated.local_steps; },
   [](const job& x) { return std::to_string(x.federated.local_epochs.value_or(1)); }},
  {"federated.partition", has_clients, partition_text},
  {"federated.min_count", has_clients},
  {"federated.groups", has_clients},
  {"federated.update_range", has_clients},
  {"federated.weight_max", has_clients},
  {"federated.over_selection"},
  {"federated.drop_out"},
  {"federated.deadline"},
  {"federated.speed_spread"},
  {"federated.proximal"},
  {"merge.elastic_alpha"},
  {"merge.rule", has_rule},
  {"merge.weighting", has_rule},
  {"merge.trimmed_count", has_rule},
  {"merge.faulty_count", has_rule},
  {"merge.kept_count", has_rule},
  {"merge.outer", has_rule},
  {"merge.outer_rate"},
  {"merge.outer_momentum", has_momentum},
  {"merge.outer_nesterov", has_momentum},
  {"merge.averaging", nullptr,
   [](const job& x) {
     return std::string{name_of(x.merge.averaging.kind)} + ' ' +
            decimal_bits(x.merge.averaging.decay);
   }},
  {"merge.averaging_decay", never},
  {"merge.flipped_members", nullptr,
   [](const job& x) {
     return std::to_string(x.merge.flipped_members) + ' ' + decimal_bits(x.merge.flip_factor);
   }},
  {"merge.flip_factor", never},
  {"privacy.clip_norm", is_noised},
  {"privacy.noise_multiplier", is_noised},
  {"privacy.key_file", is_noised,
   [](const job& x) { return x.privacy.key ? x.privacy.key->hash : std::string{"none"}; },
   "privacy.key"},
  {"privacy.epsilon", never}, // the noise follows from it
  {"privacy.delta", never},
  {"training.replicas", is_asynchronous},
  {"training.late_steps", is_asynchronous},
  {"training.delay_compensation", is_asynchronous},
  {"training.consistency", is_consistency<consistency_kind::bounded>,
   [](const job& x) { return std::to_string(x.training.staleness_max); }, "training.staleness"},
  {"training.consistency", is_consistency<consistency_kind::half_synchronous>,
   [](const job& x) { return std::to_string(x.training.first_count); }, "training.first"},
  {"training.consistency", is_consistency<consistency_kind::lag>,
   [](const job& x) { return decimal_bits(x.training.lag_ratio); }, "training.lag"}};

/// Modes write the bits of numbers as decimal ones.
std::string value_of(const job_key& key, const job& x) {
  const auto number = dynamic_cast<const number_type*>(key.type.get()) ||
                      dynamic_cast<const optional_type<double>*>(key.type.get());
  const bool is_of_mode = key.path.starts_with("merge.") || key.path.starts_with("federated.") ||
                          key.path.starts_with("privacy.") ||
                          key.path == "training.delay_compensation";
  auto text = key.identity(x);
  return number && is_of_mode && !text.empty() ? std::to_string(std::stoull(text, nullptr, 16))
                                               : text;
}

} // namespace

std::string identity_text(const job& resolved, const std::string& data_fingerprint) {
  auto x = resolved;
  x.optimizer = with_defaults(resolved.optimizer);
  const job defaults;
  auto result = "arithmetic = " + std::string{arithmetic_name} +
                "\nseed = " + std::to_string(x.seed) + "\ndata.fingerprint = " + data_fingerprint +
                '\n';
  const auto write = [&](const std::string& name, const std::string& value) {
    result += name + (value.empty() ? " =" : " = ") + value + '\n';
  };
  for (const auto& line : lines) {
    const auto& key = *find_key(fixed_job_keys(), line.key);
    if (line.counts ? line.counts(x) : key.identity(x) != key.identity(defaults))
      write(line.name ? line.name : line.key, line.value ? line.value(x) : value_of(key, x));
  }
  for (const auto& key : fixed_job_keys()) {
    const auto is_named = std::ranges::any_of(lines, [&](const auto& line) {
      return key.path == line.key ||
             (line.name && key.path.starts_with(std::string{line.name} + '.'));
    });
    if (key.effect == key_effect::bits && key.path != "job.seed" && !is_named &&
        key.identity(x) != key.identity(defaults))
      write(key.path, value_of(key, x));
  }
  if (x.model.start)
    write("model.start", x.model.start->sha256);
  for (const auto& one : added_values_of(x))
    if (one.table != "stop") // when training ends is no part of it
      result += identity_lines(one.table, *one.kind, one.options);
  return result;
}

std::string kind_words(const job& resolved, const data_shape& shape) {
  std::string result;
  const auto add = [&](const std::string& line) { result += (result.empty() ? "" : "\n") + line; };
  const auto& own_model = resolved.model.own.kind;
  const auto& own_rule = resolved.optimizer.own.kind;
  if (!own_model.empty())
    add(probe_line("model", models().at(own_model), probe_of(*make_model(resolved, shape))));
  if (!own_rule.empty())
    add(probe_line("optimizer", optimizers().at(own_rule),
                   probe_of(*make_optimizer(resolved.optimizer))));
  const auto input = metric_input_of(resolved, shape);
  for (const auto& name : resolved.training.metrics)
    add(probe_line("metric", metrics().at(name),
                   probe_of(*metrics().make({name, {}}, input), input)));
  for (const auto& one : added_values_of(resolved))
    add(probe_line(one.table, *one.kind, one.probe));
  return result;
}

} // namespace troupe
