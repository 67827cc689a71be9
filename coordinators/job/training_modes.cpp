#include "coordinators/job/training_modes.hpp"

#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/private_job.hpp"
#include "models/optimizers/optimizer.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe {

namespace {

bool merges(const training_options& x) {
  return x.strategy == strategy_kind::parameters;
}

bool is_asynchronous(const training_options& x) {
  return x.consistency != consistency_kind::synchronous;
}

uint64_t steps_in_epoch(size_t train_row_count, size_t batch_size) {
  return batch_size == 0 ? 0 : (train_row_count + batch_size - 1) / batch_size;
}

// What belongs to one mode would be a wish nobody hears in another.
void check_belongings(problem_list& check, const job& x) {
  const auto& training = x.training;
  const std::string use_parameters = "use training.strategy = \"parameters\", or leave it out";
  const std::string use_asynchronous =
    "use training.consistency = \"asynchronous\" or one of its kin, or leave it out";
  check.require(merges(training) || !training.members, "training.members",
                "belongs to the strategy parameters", use_parameters);
  check.require(merges(training) || !training.local_steps, "training.local_steps",
                "belongs to the strategy parameters", use_parameters);
  check.require(
    merges(training) || is_federated(training) || x.merge == merge_section{}, "merge.rule",
    "the section merge belongs to the strategies parameters and federated", use_parameters);
  check.require(is_asynchronous(training) || training.late_steps == step_scaling::none,
                "training.late_steps", "in synchronous training nothing is late", use_asynchronous);
  check.require(is_asynchronous(training) || training.delay_compensation == 0,
                "training.delay_compensation", "in synchronous training nothing is late",
                use_asynchronous);
}

void check_combinations(problem_list& check, const job& x) {
  const auto& training = x.training;
  if (!has_server(training))
    return;
  check.require(training.exchange == number_format::float32, "training.exchange",
                "rounds the gradients that synchronous training adds", "leave it out");
  const std::string mode = merges(training)         ? "the strategy parameters"
                           : is_federated(training) ? "federated training"
                                                    : "asynchronous training";
  check.require(!merges(training) || !is_asynchronous(training), "training.consistency",
                "the strategy parameters merges in rounds that all members take part in",
                "leave it out, or use training.strategy = \"gradients\"");
  check.require(scope_of(x.optimizer.kind) == optimizer_scope::element_wise, "optimizer.kind",
                mode + " needs a rule that works element by element, " +
                  std::string{name_of(x.optimizer.kind)} + " does not",
                "use another optimizer.kind such as \"adam\"");
}

void check_members(problem_list& check, const job& x) {
  const auto& training = x.training;
  check.require(!merges(training) || !training.members || !training.slices ||
                  *training.members == *training.slices,
                "training.slices", "each member trains on one slice of a step",
                "keep training.members, and leave this out");
}

void check_outer(problem_list& check, const outer_options& x) {
  check.require(!x.learning_rate || x.kind != outer_kind::replace, "merge.outer_rate",
                "replace takes no rate", "use merge.outer = \"sgd\", \"adam\" or \"yogi\"");
  check.require(x.momentum == 0 || x.kind == outer_kind::sgd, "merge.outer_momentum",
                std::string{name_of(x.kind)} + " takes no momentum", "use merge.outer = \"sgd\"");
  check.require(!x.nesterov || x.momentum > 0, "merge.outer_nesterov", "needs a momentum",
                "set merge.outer_momentum, to 0.9 say");
}

void check_merge(problem_list& check, const merge_section& x) {
  const auto has = [](const auto& list, auto value) {
    return std::ranges::find(list, value) != list.end();
  };
  check.require(x.members.rule != merge_rule::regression_mean, "merge.rule",
                std::string{name_of(x.members.rule)} +
                  " needs the members' data, which they do not hand in",
                "use average, weighted, median, trimmed-mean, krum, multi-krum or "
                "geometric-median");
  check.require(has(merge_weightings_of_jobs(), x.members.weighting), "merge.weighting",
                std::string{name_of(x.members.weighting)} +
                  " is for mergers of an application: members of a job hand in a model and the "
                  "number of its rows",
                "use \"samples\" or \"equal\"");
  check.require(!x.elastic_alpha ||
                  (x.members == merge_section{}.members && x.outer == outer_options{}),
                "merge.elastic_alpha", "elastic averaging has no other rule beside it",
                "leave merge.rule and merge.outer out");
  check_outer(check, x.outer);
}

void check_staleness(problem_list& check, const training_options& x) {
  check.require(x.delay_compensation == 0 || x.consistency != consistency_kind::half_synchronous,
                "training.delay_compensation", "corrects gradients that are applied on their own",
                "use training.consistency = \"asynchronous\", or leave it out");
}

} // namespace

bool has_server(const training_options& x) {
  return merges(x) || is_federated(x) || is_asynchronous(x);
}

bool copies_spans(const job& resolved) {
  return !has_server(resolved.training) && !resolved.parallel.splits() &&
         !resolved.parallel.sharded &&
         scope_of(resolved.optimizer.kind) == optimizer_scope::element_wise;
}

bool is_reproducible(const training_options& x) {
  return !is_asynchronous(x);
}

void check_modes(problem_list& check, const job& x) {
  check_belongings(check, x);
  check_combinations(check, x);
  check_members(check, x);
  check_merge(check, x.merge);
  check_staleness(check, x.training);
  check_federated(check, x);
  check_privacy(check, x);
}

void resolve_mode(job& x, size_t train_row_count, size_t core_count) {
  auto& training = x.training;
  if (merges(training)) {
    const auto steps = steps_in_epoch(train_row_count, training.batch_size);
    training.local_steps =
      training.local_steps.value_or(std::clamp<uint64_t>(steps, 1, default_local_steps));
    if (training.members)
      training.slices = training.members;
  } else if (is_federated(training) || is_asynchronous(training)) {
    training.slices = 1;
    training.replicas = training.replicas.value_or(std::max<size_t>(core_count, 1));
  }
}

void check_modes_with_data(problem_list& check, const job& resolved, size_t train_row_count,
                           bool classification) {
  const auto& training = resolved.training;
  if (training.consistency == consistency_kind::half_synchronous)
    check.require(training.first_count <= *training.replicas, "training.consistency",
                  "the first " + std::to_string(training.first_count) + " of " +
                    std::to_string(*training.replicas) + " replicas never come",
                  "use more replicas, or set first to less");
  if (is_federated(training))
    check_federated_with_data(check, resolved, train_row_count, classification);
  if (!merges(training))
    return;
  const auto members = *training.members;
  const auto steps = steps_in_epoch(train_row_count, training.batch_size);
  const auto members_min =
    resolved.merge.elastic_alpha ? size_t{1} : entry_count_min(resolved.merge.members);
  check.require(members >= members_min, "training.members",
                std::string{name_of(resolved.merge.members.rule)} + " needs at least " +
                  std::to_string(members_min) + " members, there are " + std::to_string(members),
                "set training.members to more, or use another merge.rule");
  check.require(!resolved.merge.elastic_alpha ||
                  *resolved.merge.elastic_alpha * static_cast<double>(members) <= 1,
                "merge.elastic_alpha",
                "the members together would draw the centre beyond themselves: this times the " +
                  std::to_string(members) + " members is above 1",
                "use at most 1 divided by the members");
  check.require(members <= training.batch_size, "training.members",
                std::to_string(members) + " members share steps of " +
                  std::to_string(training.batch_size) + " rows",
                "set training.batch_size to at least as many rows as members");
  check.require(*training.local_steps <= steps, "training.local_steps",
                "a round ends with its epoch, which has " + std::to_string(steps) + " steps",
                "use at most as many, or a smaller training.batch_size");
  check.require(resolved.merge.flipped_members <= members, "merge.flipped_members",
                "there are " + std::to_string(members) + " members", "use fewer");
}

local_rounds_options local_rounds_of(const job& resolved) {
  local_rounds_options options;
  options.member_count = *resolved.training.members;
  options.local_steps = *resolved.training.local_steps;
  options.merge = resolved.merge.members;
  options.outer = resolved.merge.outer;
  options.elastic_alpha = resolved.merge.elastic_alpha;
  options.averaging = resolved.merge.averaging;
  return options;
}

merged_span_options member_span_of(const job& resolved) {
  auto result = span_options_of(local_rounds_of(resolved));
  result.slot_count = make_optimizer(resolved.optimizer)->slot_count();
  return result;
}

asynchronous_options asynchronous_of(const job& resolved) {
  const auto& training = resolved.training;
  asynchronous_options options;
  options.gradients.optimizer = resolved.optimizer;
  options.consistency.mode = training.consistency;
  options.consistency.staleness_max = training.staleness_max;
  options.consistency.first_count = training.first_count;
  options.consistency.lag_ratio = training.lag_ratio;
  options.consistency.scaling = training.late_steps;
  if (const auto lambda = training.delay_compensation; lambda > 0)
    options.compensation = delay_compensation_options{.lambda = lambda};
  return options;
}

uint64_t round_end(const timeline& plan, uint64_t version, uint64_t local_steps) {
  const auto steps = plan.steps_in_epoch();
  const auto rest = std::min(steps - version % steps, plan.last_version() - version);
  auto count = std::min(local_steps, rest);
  const auto last_step = version + rest - 1;
  if (count + 1 == rest && !plan.is_whole(last_step))
    count = rest;
  return version + count;
}

// A last step that joins the round before it ends an epoch; only with rounds of one step is there a
// multiple within it.
uint64_t checkpoint_interval_of(const job& resolved, const timeline& plan) {
  const auto wished = resolved.checkpoint.every_steps;
  if (wished == 0 || !merges(resolved.training))
    return wished;
  const auto steps = plan.steps_in_epoch();
  const auto of_round = *resolved.training.local_steps;
  const bool joins = !plan.is_whole(steps - 1);
  const auto unit = steps % of_round == 0 && !(joins && of_round == 1) ? of_round : steps;
  return (wished + unit - 1) / unit * unit;
}

bool is_version_of_longer_runs(const job& resolved, const timeline& plan, uint64_t version) {
  if (!merges(resolved.training))
    return true;
  auto longer = plan;
  longer.step_limit.reset();
  longer.epoch_count = static_cast<size_t>(version / plan.steps_in_epoch() + 1);
  auto end = version - version % plan.steps_in_epoch();
  while (end < version)
    end = round_end(longer, end, *resolved.training.local_steps);
  return end == version;
}

state_shape server_state_of(const job& resolved) {
  const auto& training = resolved.training;
  if (merges(training)) // and the number of rounds
    return merged_span::shape_of(member_span_of(resolved)) + state_shape{0, 1};
  if (
    is_federated(
      training)) { // and void rounds in a row, sums of the last one that was not void, and of all rounds
    const auto options = federated_options_of(resolved);
    return merged_span::shape_of(span_options_of(options, resolved.federated.clients)) +
           state_shape{0, 1 + 3 + 5};
  }
  return is_asynchronous(training)
           ? gradient_span::shape_of(span_options_of(asynchronous_of(resolved)))
           : state_shape{};
}

size_t numbers_before_span(const training_options& x) {
  return is_asynchronous(x) ? 0 : 1;
}

// Noise depends on all words before it. Distances and norms are sums over all elements.
bool has_one_owner(const job& resolved) {
  using enum merge_rule;
  const auto rule = resolved.merge.members.rule;
  const bool has_distances = rule == krum || rule == multi_krum || rule == geometric_median;
  if (is_asynchronous(resolved.training))
    return resolved.optimizer.clip_norm > 0;
  return has_distances || is_private(resolved);
}

std::vector<merge_rule> merge_rules_of_jobs() {
  auto result = all_values(merge_rule{});
  std::erase(result, merge_rule::regression_mean); // needs members' data
  return result;
}

std::vector<merge_weighting> merge_weightings_of_jobs() {
  return {merge_weighting::equal, merge_weighting::samples};
}

} // namespace troupe
