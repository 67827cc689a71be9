// Training modes: what a job says of its strategy and its consistency, beyond synchronous
// gradients.
//
//   strategy     consistency            who computes what                          same bits?
//   gradients    synchronous            replicas slices of one step                yes
//   gradients    asynchronous, staleness, first, lag
//                                       each replica steps of its own, that move   no
//                                       one main model (staleness_rule.hpp)
//   parameters   synchronous            members train alone, then their models     yes
//                                       are merged (local_rounds.hpp)
//   federated    synchronous            clients of a cohort train alone on their    yes
//                                       own rows (federated_rounds.hpp)
//
// A member of the strategy `parameters` trains on slice i of each step: `training.members` is the
// number of slices. Rounds have `training.local_steps` steps and end with their epoch, so that
// epochs end with a merged model; the last round of an epoch may be shorter.

#pragma once

#include "coordinators/job/job.hpp"
#include "coordinators/modes/asynchronous_coordinator.hpp"
#include "coordinators/modes/local_rounds.hpp"
#include "coordinators/step/timeline.hpp"
#include "models/base/saved_state.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

/// Steps of a round where a job names none, if its epochs have as many. Twice as many: half the
/// merging, members further apart.
inline constexpr uint64_t default_local_steps = 10;

/// True for the modes whose parameters one parameter server owns (actors/tasks/parameter_server.hpp), false for
/// synchronous gradients.
bool has_server(const training_options& x);

/// True where owners of spans send others copies (coordinators/membership/cut_rule.hpp): what a version comes to depends
/// on the job alone, and the optimizer keeps nothing but values for each parameter. A model is split because it is
/// large: there copies would take what splitting saves.
bool copies_spans(const job& resolved);

/// True when the trained bits depend on the job alone.
bool is_reproducible(const training_options& x);

/// Adds what is wrong with a job's modes, or with what it combines them with.
void check_modes(problem_list& check, const job& x);

/// Fills in what the modes decide before slices and replicas are resolved; the batch size is.
void resolve_mode(job& x, size_t train_row_count, size_t core_count);

/// Adds what of a resolved job's modes does not fit its training rows.
void check_modes_with_data(problem_list& check, const job& resolved, size_t train_row_count,
                           bool classification);

/// The rounds of a resolved job with the strategy `parameters`.
local_rounds_options local_rounds_of(const job& resolved);

/// Its members' models and optimizer states, and the main model, of all parameters.
merged_span_options member_span_of(const job& resolved);

/// The coordinator of a resolved job with another consistency than synchronous, but for the layout of
/// its parameters and the number of its trainers.
asynchronous_options asynchronous_of(const job& resolved);

/// The version at which the round that begins at `version` ends: `local_steps` later, but with its
/// epoch or training. A last step of an epoch with fewer rows than members joins the round before,
/// for each member must have a row in each round.
uint64_t round_end(const timeline& plan, uint64_t version, uint64_t local_steps);

/// Steps between checkpoints, so that each is at the end of a round: the next multiple, above what was
/// wished for, of the steps of a round, if epochs consist of whole ones, else of an epoch.
uint64_t checkpoint_interval_of(const job& resolved, const timeline& plan);

/// False for a version that is none of a longer run, because it is in the middle of a round: only
/// where training ended is it one.
bool is_version_of_longer_runs(const job& resolved, const timeline& plan, uint64_t version);

/// What a parameter server remembers beside the main model: what its policy saves in a checkpoint. Nothing in
/// synchronous training.
state_shape server_state_of(const job& resolved);

/// Of these numbers: those before the ones of the span model (coordinators/modes/span_model.hpp).
size_t numbers_before_span(const training_options& x);

/// True for a mode whose parameters cannot be cut into spans with an owner each: it needs sums over all of them.
bool has_one_owner(const job& resolved);

/// What a job may say of merging: rules and weightings that need nothing but what members hand in,
/// their models and how many rows these were trained on. A merger in an application knows more.
std::vector<merge_rule> merge_rules_of_jobs();
std::vector<merge_weighting> merge_weightings_of_jobs();

} // namespace troupe
