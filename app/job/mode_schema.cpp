#include "troupe/app/job/mode_schema.hpp"

#include "troupe/coordinators/job/training_modes.hpp"

#include <string>
#include <utility>

namespace troupe {

namespace {

using keys = std::vector<job_key>;
using complaints = std::vector<complaint>;

constexpr const char* consistency_type =
  R"("synchronous" | "asynchronous" | { staleness = s } | { first = k } | { lag = r })";

void set_named(job& target, const toml_value& value, const std::string& path, complaints& out) {
  const std::vector<std::string> names{"synchronous", "asynchronous"};
  size_t index = 0;
  if (detail::accepted(read_choice(value, names, index), value, path, out))
    target.training.consistency =
      index == 0 ? consistency_kind::synchronous : consistency_kind::asynchronous;
}

void set_bound(job& target, const toml_entry& entry, const std::string& path, complaints& out) {
  auto& training = target.training;
  uint64_t count = 0;
  const auto is_read = [&](auto refused) {
    return detail::accepted(refused, entry.value, path + "." + entry.name, out);
  };
  if (entry.name == "staleness" &&
      is_read(read_whole(entry.value, bounds_of(path + ".staleness"), count))) {
    training.consistency = consistency_kind::bounded;
    training.staleness_max = count;
  } else if (entry.name == "first" &&
             is_read(read_whole(entry.value, bounds_of(path + ".first"), count))) {
    training.consistency = consistency_kind::half_synchronous;
    training.first_count = count;
  } else if (entry.name == "lag" && is_read(read_value(entry.value, training.lag_ratio))) {
    training.consistency = consistency_kind::lag;
  }
}

void set_consistency(job& target, const toml_value& value, const std::string& path,
                     complaints& out) {
  const auto* table = value.as<toml_value::table>();
  if (!table)
    return set_named(target, value, path, out);
  const bool known =
    table->size() == 1 && (table->front().name == "staleness" || table->front().name == "first" ||
                           table->front().name == "lag");
  if (known)
    set_bound(target, table->front(), path, out);
  else
    out.push_back({path, value.at, "expected one of staleness, first and lag",
                   "write { staleness = 2 }, { first = 3 } or { lag = 1.5 }"});
}

std::optional<std::string> consistency_text(const job& x) {
  const auto& training = x.training;
  switch (training.consistency) {
  case consistency_kind::bounded:
    return "{ staleness = " + toml_text(uint64_t{training.staleness_max}) + " }";
  case consistency_kind::half_synchronous:
    return "{ first = " + toml_text(uint64_t{training.first_count}) + " }";
  case consistency_kind::lag:
    return "{ lag = " + toml_text(training.lag_ratio) + " }";
  case consistency_kind::synchronous:
  case consistency_kind::asynchronous:
    break;
  }
  return toml_text(name_of(training.consistency));
}

void add_merge_rule_keys(keys& out) {
  out.push_back(choice_key<job, merge_rule>(
    {"merge.rule", "parameters, federated: how the models become one"},
    [](auto& x) -> auto& { return x.merge.members.rule; }, merge_rules_of_jobs()));
  out.push_back(choice_key<job, merge_weighting>(
    {"merge.weighting",
     "weighted, geometric-median, and clients in a group: by rows trained on, or "
     "equal"},
    [](auto& x) -> auto& { return x.merge.members.weighting; }, merge_weightings_of_jobs()));
  out.push_back(whole_key<job>(
    {"merge.trimmed_count", "trimmed-mean: values left out at each end"},
    [](auto& x) -> auto& { return x.merge.members.trimmed_count; }));
  out.push_back(whole_key<job>(
    {"merge.faulty_count", "krum, multi-krum: members that may hand in anything"},
    [](auto& x) -> auto& { return x.merge.members.faulty_count; }));
  out.push_back(whole_key<job>(
    {"merge.kept_count", "multi-krum: models averaged; 0: members - faulty_count - 2"},
    [](auto& x) -> auto& { return x.merge.members.kept_count; }));
  out.push_back(plain_key<job, double>(
    {"merge.elastic_alpha",
     "elastic averaging in place of rule and outer: members keep models of "
     "their own and are drawn to the centre by this share",
     "off"},
    "number in (0, 1]", [](auto& x) -> auto& { return x.merge.elastic_alpha; }));
}

void add_outer_keys(keys& out) {
  out.push_back(choice_key<job, outer_kind>(
    {"merge.outer", "how the main model moves towards the merged one"},
    [](auto& x) -> auto& { return x.merge.outer.kind; }));
  out.push_back(plain_key<job, double>(
    {"merge.outer_rate", "share of the way the main model goes", "sgd: 1; adam, yogi: 0.01"},
    "number > 0", [](auto& x) -> auto& { return x.merge.outer.learning_rate; }));
  out.push_back(plain_key<job, double>(
    {"merge.outer_momentum", "sgd: 0 is none"}, "number in [0, 1)",
    [](auto& x) -> auto& { return x.merge.outer.momentum; }));
  out.push_back(plain_key<job, bool>(
    {"merge.outer_nesterov", "sgd: looks ahead along the momentum, which must not be 0"},
    "true or false", [](auto& x) -> auto& { return x.merge.outer.nesterov; }));
}

void add_averaging_keys(keys& out) {
  out.push_back(choice_key<job, averaging_kind>(
    {"merge.averaging",
     "of the main models that rounds ended with, for evaluation and as the result"},
    [](auto& x) -> auto& { return x.merge.averaging.kind; }));
  out.push_back(plain_key<job, double>(
    {"merge.averaging_decay", "exponential: a round counts this share of the one after it"},
    "number in [0, 1)", [](auto& x) -> auto& { return x.merge.averaging.decay; }));
  out.push_back(whole_key<job>(
    {"merge.flipped_members",
     "rehearsal of faults: the last members or clients hand in their update reversed"},
    [](auto& x) -> auto& { return x.merge.flipped_members; }));
  out.push_back(plain_key<job, double>(
    {"merge.flip_factor", "rehearsal of faults: and so many times as long"}, "number > 0",
    [](auto& x) -> auto& { return x.merge.flip_factor; }));
}

} // namespace

void add_mode_keys(keys& out) {
  out.push_back(choice_key<job, strategy_kind>(
    {"training.strategy", "what replicas exchange"},
    [](auto& x) -> auto& { return x.training.strategy; }));
  out.push_back({"training.consistency",
                 consistency_type,
                 {},
                 "when updates are applied (coordinators.md); only synchronous repeats its bits",
                 false,
                 set_consistency,
                 consistency_text,
                 copier<job>([](auto& x) -> auto& { return x.training.consistency; })});
}

void add_mode_option_keys(keys& out) {
  out.push_back(whole_key<job>(
    {"training.members", "parameters: models that are trained apart; part of the result", "slices"},
    [](auto& x) -> auto& { return x.training.members; }));
  out.push_back(whole_key<job>(
    {"training.local_steps", "parameters: steps of each member between two merges",
     "10, at most an epoch's"},
    [](auto& x) -> auto& { return x.training.local_steps; }));
  out.push_back(choice_key<job, step_scaling>(
    {"training.late_steps", "not synchronous: how much shorter the step of a late gradient is"},
    [](auto& x) -> auto& { return x.training.late_steps; }));
  out.push_back(plain_key<job, double>(
    {"training.delay_compensation",
     "not synchronous: corrects late gradients by this share of the second order; 0 is off"},
    "number >= 0", [](auto& x) -> auto& { return x.training.delay_compensation; }));
  add_merge_rule_keys(out);
  add_outer_keys(out);
  add_averaging_keys(out);
}

} // namespace troupe
