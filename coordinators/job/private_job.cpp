#include "coordinators/job/private_job.hpp"

#include "coordinators/job/keys/job_keys.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

constexpr double smallest_clip = 0x1p-30;
constexpr double smallest_noise = 0x1p-10;

bool is_within(double value, double least, double most) {
  return value >= least && value <= most;
}

/// What the accountant is to know of a round: a cohort that is no secret is everybody.
release_kind kind_of(const job& x, double noise) {
  const auto& federated = x.federated;
  const bool is_secret = federated.sampling == client_sampling::poisson;
  return {is_secret ? static_cast<double>(federated.cohort) / static_cast<double>(federated.clients)
                    : 1,
          noise};
}

void check_section(problem_list& check, const job& x) {
  const auto& privacy = x.privacy;
  check.require(is_within(*privacy.clip_norm, smallest_clip, clip_norm_max), "privacy.clip_norm",
                "must be above 0 and at most 2^30",
                "use a norm that most clients' updates stay below, such as 1");
  check.require(privacy.noise_multiplier || privacy.epsilon, "privacy.noise_multiplier",
                "nobody says how much noise there is to be",
                "set it, to 1 say, or privacy.epsilon: the noise for it is then found");
  check.require(!privacy.noise_multiplier ||
                  is_within(*privacy.noise_multiplier, smallest_noise, noise_multiplier_max),
                "privacy.noise_multiplier", "must be at least 2^-10 and at most 2^10",
                "use a number such as 1");
  check.require(privacy.delta > 0 && privacy.delta * static_cast<double>(x.federated.clients) < 1,
                "privacy.delta",
                "must be above 0 and below 1 / " + std::to_string(x.federated.clients) +
                  ": who publishes one client of all would keep it",
                "use a tenth of that, or less");
  check.require(!privacy.key_file.empty(), "privacy.key_file",
                "noise and cohorts are drawn by a key, and no file is named for it",
                "name one, such as \"run.key\": it is made if it is not there; whoever has it can "
                "take the noise off");
}

// A client is to move one sum by C at most, and nothing else.
void check_rounds(problem_list& check, const job& x) {
  const auto& federated = x.federated;
  const federated_section defaults;
  const auto& merging = x.merge.members;
  check.require(federated.groups == 1, "federated.groups",
                "noise is for one sum of all clients: of groups' means each would need its own",
                "leave it out");
  check.require(merging.rule == merge_rule::weighted || merging.rule == merge_rule::average,
                "merge.rule",
                std::string{name_of(merging.rule)} +
                  " chooses among models: one client can change its result by more than its share",
                "leave it out: the mean is what noise is known for");
  check.require(merging.weighting == merge_weighting::equal, "merge.weighting",
                "weights by samples would tell numbers of rows, and one client could weigh more "
                "than the noise is for",
                "set merge.weighting = \"equal\"");
  check.require(federated.sampling != client_sampling::size, "federated.sampling",
                "who takes part would follow from the numbers of rows of all",
                "use \"poisson\", or \"uniform\", which is accounted as if all took part");
  check.require(
    !federated.evaluate_clients, "federated.evaluate_clients",
    "the test rows of clients are theirs: figures of them would be released without noise",
    "leave it out; figures of all test rows together are told");
  check.require(federated.over_selection == 0, "federated.over_selection",
                "who counts would follow from who else was in time: one client could change it for "
                "others",
                "leave it out, or use federated.drop_out");
  check.require(federated.min_count == 1, "federated.min_count",
                "a round that is void for too few clients tells how many there were",
                "leave it out: a private round is made with whoever is there");
  check.require(federated.update_range == defaults.update_range, "federated.update_range",
                "updates are clipped to privacy.clip_norm instead", "leave it out");
}

// Figures of clients' rows that get into the model, or out, by another way than the noised sum.
void check_other_ways(problem_list& check, const job& x) {
  check.require(!x.data.standardize, "data.standardize",
                "means and deviations of clients' rows would be in the model's file, and no noise "
                "is in them",
                "set it to false, and scale the columns in the file by numbers that you know "
                "without the rows, such as a pixel's greatest value");
  check.require(x.data.target_scale.value_or(target_scale_kind::none) == target_scale_kind::none,
                "data.target_scale",
                "mean and deviation of clients' targets would be in the model's file, and no noise "
                "is in them",
                "leave it out, and scale the targets in the file by numbers that you know without "
                "the rows");
  check.require(x.data.categorical.empty(), "data.categorical",
                "categories of clients' rows would be in the model's file, and no noise is in them",
                "code them as numbers in the file, by a list that you know without the rows");
  check.require(x.data.amount.empty(), "data.amount",
                "the unit of clients' amounts would be in the model's file, and no noise is in it",
                "write them into the file as plain numbers");
  check.require(
    x.data.missing == missing_rule::error, "data.missing",
    "means of clients' rows would be in the model's file, and numbers of dropped rows told, and "
    "no noise is in them",
    "leave it out, and fill the cells in by a number that you know without the rows");
  check.require(x.training.freeze.empty(), "training.freeze",
                "noise is on every parameter, and moves frozen ones too", "leave it out");
  check.require(x.training.class_weights.kind != class_weight_kind::balanced,
                "training.class_weights", "balanced weights are counts of clients' rows",
                "list the weights, or leave it out");
  check.require(x.data.dense != row_form::sparse, "data.dense",
                "noise is on every parameter, and sparse rows are for models of which few are "
                "touched",
                "leave it out");
  check.require(!x.data.hash_bits, "data.hash_bits",
                "noise is on every parameter, and hashed features are for models of which few are "
                "touched",
                "leave it out");
}

void check_solvable(problem_list& check, const job& x) {
  if (x.privacy.noise_multiplier)
    return;
  const auto rounds =
    std::min<uint64_t>(x.federated.rounds, x.training.steps.value_or(x.federated.rounds));
  std::string why;
  try {
    if (noise_for(*x.privacy.epsilon, x.privacy.delta, kind_of(x, 1).sampling_rate, rounds) >
        noise_multiplier_max)
      why = "more noise than 2^10 would be needed";
  } catch (const std::invalid_argument&) {
    why = "no noise is enough";
  }
  check.require(why.empty(), "privacy.epsilon", why + " for " + std::to_string(rounds) + " rounds",
                "allow more, or use fewer federated.rounds or a smaller federated.cohort");
}

} // namespace

void check_privacy(problem_list& check, const job& x) {
  if (!is_private(x)) {
    check.require(x.privacy == privacy_section{}, "privacy.clip_norm",
                  "the section privacy does not say what clients' updates are clipped to",
                  "set it, to 1 say, or leave the section out");
    return;
  }
  const bool has_clients = x.training.strategy == strategy_kind::federated;
  check.require(has_clients, "privacy.clip_norm",
                "the section privacy is for clients, and only federated training has them",
                "use training.strategy = \"federated\", or leave the section out");
  if (!has_clients)
    return;
  const auto before = check.found.size();
  check_section(check, x);
  check_rounds(check, x);
  check_other_ways(check, x);
  if (check.found.size() == before && is_in_range(x, "federated") && is_in_range(x, "privacy"))
    check_solvable(check, x);
}

void check_privacy_with_data(problem_list& check, const job& resolved, bool has_others,
                             bool is_sparse) {
  if (!is_private(resolved))
    return;
  const auto& training = resolved.training;
  const char* hint = "set data.validation_fraction or data.test_file: those rows are no client's";
  const auto watches = [&](bool holds, const char* key) {
    check.require(!holds || has_others, key,
                  "would be read from the loss on clients' rows, which is not told", hint);
  };
  watches(training.target_loss.has_value(), "training.target_loss");
  watches(training.patience.has_value(), "training.patience");
  watches(is_added(training.rule), "training.stop_rule");
  watches(training.keep_best.value_or(false), "training.keep_best");
  check.require(!is_sparse, "data.dense",
                "the rows are sparse: noise is on every parameter, and such models have many of "
                "which few are touched",
                "set data.dense = true");
}

void resolve_privacy(job& x, uint64_t round_count) {
  auto& privacy = x.privacy;
  if (is_private(x) && !privacy.noise_multiplier)
    privacy.noise_multiplier =
      noise_for(*privacy.epsilon, privacy.delta, kind_of(x, 1).sampling_rate, round_count);
}

std::optional<private_sum_rule> private_sums_of(const job& resolved) {
  if (!is_private(resolved))
    return std::nullopt;
  return private_sum_rule{*resolved.privacy.clip_norm, *resolved.privacy.noise_multiplier};
}

privacy_budget_options budget_of(const job& resolved) {
  return {resolved.privacy.delta, resolved.privacy.epsilon,
          kind_of(resolved, *resolved.privacy.noise_multiplier)};
}

} // namespace troupe
