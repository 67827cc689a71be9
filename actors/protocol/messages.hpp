// The messages of synchronous training: fields, meaning, units.
//
// Everything here can cross a wire. Real numbers travel as their bits (wire_fields.hpp).

#pragma once

#include "actors/protocol/fwd.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/protocol/payload.hpp"
#include "actors/protocol/training_progress.hpp"
#include "coordinators/exchange/tensor_name.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/run/director_rule.hpp"
#include "coordinators/run/replica_statistics.hpp"
#include "coordinators/step/replica_rule.hpp"
#include "data/records/history_figures.hpp"
#include "models/base/batch.hpp"
#include "models/base/element_window.hpp"
#include "models/base/index_range.hpp"
#include "models/base/names.hpp"
#include "models/base/version_hash.hpp"
#include "models/metrics/metric.hpp"
#include "models/training/round_record.hpp"

#include <caf/error.hpp>
#include <caf/make_message.hpp>
#include <caf/typed_actor.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

// Records of lower rooms that are fields of messages.
TROUPE_INSPECTED(metric_sums);
TROUPE_INSPECTED(traffic);
TROUPE_INSPECTED(index_range);
TROUPE_INSPECTED(client_quantiles);
TROUPE_INSPECTED(round_record);
TROUPE_INSPECTED(privacy_totals);

enum class protocol_error : uint8_t {
  none,
  /// pull: the version is older than the shard's previous one, or the shard will never reach it.
  version_not_held,
  /// pull: training has not finished, there are no final parameters.
  not_finished,
  /// A collective's round ended without values; the context names the member that caused it.
  collective_failed,
  /// A coordinator does not do what it was asked; the context says why.
  refused,
  /// join: the actor of this name has not ended, as far as is known; ask again.
  name_in_use,
};

template <>
struct name_table<protocol_error> {
  static constexpr std::array entries{named(protocol_error::none, "none"),
                                      named(protocol_error::version_not_held, "version-not-held"),
                                      named(protocol_error::not_finished, "not-finished"),
                                      named(protocol_error::collective_failed, "collective-failed"),
                                      named(protocol_error::refused, "refused"),
                                      named(protocol_error::name_in_use, "name-in-use")};
};

inline std::string to_string(protocol_error code) {
  return std::string{name_of(code)};
}

TROUPE_INSPECTED(batch_sums);

/// replica -> shard. The sum of the slice gradients below `node`, for `step`, on the shard's span.
/// Its content follows from the job, so it may come twice, late, or from another replica.
struct contribution {
  uint64_t step = 0;
  tree_node node;
  uint64_t first_element = 0; ///< of the model: spans move when a term begins
  payload gradient_sum;
  batch_sums sums;       ///< of the same slices
  uint64_t replica = 0;  ///< its sender's index, for messages to people only
  uint64_t term = 0;     ///< an earlier one is over: a stop is agreed on within a term
  bool is_begun = false; ///< to its node only: these values are final, others are being computed
  std::chrono::nanoseconds computed{0}; ///< its sender's time in this step so far

  friend bool operator==(const contribution&, const contribution&) = default;
};

TROUPE_INSPECTED(contribution);

/// shard -> the other shards, when a step needs sums over the whole model: the numbers of each block from `first_block`
/// on (coordinators/step/sums_rule.hpp). Its content follows from the job, so it may come twice or late.
struct block_sums {
  uint64_t step = 0;
  uint64_t first_block = 0;
  std::vector<double> numbers; ///< block by block
  uint64_t term = 0;           ///< of the shard that has them, or is to get them

  friend bool operator==(const block_sums&, const block_sums&) = default;
};

TROUPE_INSPECTED(block_sums);

/// shard -> replica and node, and the answer to `pull`. A shard owns `version` of its span. In one
/// process all spans of a version lie in one buffer, each at its own place. `values` are evaluated, saved and fetched.
/// Rules that try points before they move take the step's gradients at `point`
/// (models/whole_model/whole_model_rule.hpp).
struct parameter_span {
  uint64_t term = 0; ///< a version of an earlier term is not owned in this one
  uint64_t version = 0;
  uint64_t shard = 0; ///< index of its owner in the view
  payload values;
  payload point = {}; ///< to replicas: of the whole model; empty: `values` are the point

  friend bool operator==(const parameter_span&, const parameter_span&) = default;
};

TROUPE_INSPECTED(parameter_span);

/// node -> replicas and shards. Replicas may compute the steps below `rule.version`.
struct horizon {
  horizon_rule rule;
  uint64_t row_version = 0; ///< of the last complete row: versions before it are evaluated

  friend bool operator==(const horizon&, const horizon&) = default;
};

TROUPE_INSPECTED(horizon);

/// A replica and the slices it owns. Without slices it is a spare: shards and replicas send it nothing.
struct replica_entry {
  replica_actor actor; ///< null: in another process, or it exchanges nothing with shards
  index_range slices;
  replica_name name{};       ///< for people
  index_range segments = {}; ///< of the model that it carries, with `parts`; none: all of it
  index_range parts = {};

  /// True when others of its slices carry the rest of the model.
  bool shares_model() const { return !segments.empty(); }

  friend bool operator==(const replica_entry&, const replica_entry&) = default;
};

TROUPE_INSPECTED(replica_entry);

/// A shard and the blocks it owns; with fewer blocks than shards some own none.
struct shard_entry {
  shard_actor actor; ///< null: in another process, or it exchanges nothing with replicas
  index_range blocks;

  friend bool operator==(const shard_entry&, const shard_entry&) = default;
};

TROUPE_INSPECTED(shard_entry);

/// A trainer, for the parameter server beside the node.
struct trainer_entry {
  task_taker_actor actor;
  replica_name name{}; ///< for people
  uint64_t life = 0;   ///< of its process; 0: this one

  friend bool operator==(const trainer_entry&, const trainer_entry&) = default;
};

TROUPE_INSPECTED(trainer_entry);

/// node -> its replicas and shards, or parameter server. All replicas and shards, what each owns, and the version to
/// start from. The order of entries gives each actor its index. The higher (term, number) wins.
struct view {
  uint64_t term = 0;
  uint64_t number = 0;
  uint64_t start_version = 0;
  uint64_t index = 0;     ///< of the replica or shard that this is sent to
  uint64_t restarts = 0;  ///< of the replica that this is sent to; one more: begin at start_version
  reports_actor director; ///< receives results
  relay_actor relay;      ///< the node; may be null in tests of one actor
  bool wired = false;     ///< some replica or shard is in another process: the relay carries
  std::vector<replica_entry> replicas;
  std::vector<shard_entry> shards;
  std::vector<trainer_entry> trainers; ///< of a parameter server, if there is one
  bool is_careful = false; ///< a computing process was lost: replicas begin a little later
  uint64_t copy_every = 0; ///< steps between copies for deputies (cut_rule.hpp); 0: there are none
  /// Which parameters the buffers of versions hold; null: all. It stays in this process.
  std::shared_ptr<const element_window> window;

  friend bool operator==(const view&, const view&) = default;
};

TROUPE_INSPECTED(view);

/// replica -> director. Sums over chunks [first_chunk, first_chunk + chunks.size()) of a version's
/// evaluation: those of the test rows, then those of the validation rows.
struct evaluation {
  uint64_t term = 0;
  uint64_t version = 0;
  uint64_t first_chunk = 0;
  std::vector<batch_sums> chunks;
  std::vector<metric_sums> metrics{}; ///< of the same chunks; none of a job without metrics

  friend bool operator==(const evaluation&, const evaluation&) = default;
};

TROUPE_INSPECTED(evaluation);

/// shard -> director: the hash of blocks of a version that is a row of the history. Its content follows
/// from the job, so it may come twice or late.
struct span_hash {
  uint64_t term = 0;
  uint64_t version = 0;
  index_range blocks; ///< not empty
  version_hash hash;

  friend bool operator==(const span_hash&, const span_hash&) = default;
};

TROUPE_INSPECTED(hash_sum);
TROUPE_INSPECTED(version_hash);
TROUPE_INSPECTED(span_hash);

// ---- Work and waits of each replica, from the shard that counts them ----

TROUPE_INSPECTED(replica_name);

/// shard -> its node, and on to observers: each replica's work and waits.
struct trainer_figures {
  uint64_t barrier_count = 0; ///< steps or rounds that waited for several
  std::vector<named_statistics> replicas;
  std::vector<std::string>
    left_out{};            ///< work that no trainer gets any more, with its rows: for people
  client_totals clients{}; ///< of federated training, since its parameter server began

  friend bool operator==(const trainer_figures&, const trainer_figures&) = default;
};

TROUPE_INSPECTED(trainer_statistics);
TROUPE_INSPECTED(named_statistics);
TROUPE_INSPECTED(boundary_wait);
TROUPE_INSPECTED(boundary_waits);
TROUPE_INSPECTED(computed_slices);
TROUPE_INSPECTED(client_totals);
TROUPE_INSPECTED(trainer_figures);

/// shard -> director, from the shard that keeps the metrics.
struct training_report {
  uint64_t term = 0;
  uint64_t version = 0;
  batch_sums sums;                    ///< of the steps since the last epoch ended
  bool is_row = false;                ///< an epoch ends here, or training
  bool is_mark = false;               ///< this is the horizon; with neither it is for progress only
  double seconds = 0;                 ///< since the shard owned the start version
  std::string notice;                 ///< for people, now; empty: nothing
  std::vector<round_record> rounds{}; ///< of a row: federated rounds since the last one

  friend bool operator==(const training_report&, const training_report&) = default;
};

TROUPE_INSPECTED(training_report);

/// shard -> director: why step `step` was not applied. From `unsolvable` on, `what` is the whole sentence.
enum class step_problem : uint8_t {
  not_finite,  ///< a gradient, a loss, or what the optimizer made of them
  conflict,    ///< equal work gave different bits, which must never happen
  malformed,   ///< a gradient of another shape
  unsolvable,  ///< the data allow no solution
  left_out,    ///< too much was left out: it ended every trainer that computed it
  abandoned,   ///< too few clients were left, in too many rounds
  unrecorded,  ///< a release could not be written down, so nothing was released
  spent,       ///< none: the budget of privacy allows no further round
  record_ends, ///< none: so does the record of the run that is repeated
  differs      ///< a client's update is not the one that a record has
};

struct not_finite_report {
  uint64_t term = 0;
  uint64_t step = 0;
  std::string what;       ///< "the gradient of slice 3", "the new parameters"
  bool has_slice = false; ///< the two below are known
  uint64_t slice = 0;
  uint64_t replica = 0; ///< its index in the view
  step_problem problem = step_problem::not_finite;

  friend bool operator==(const not_finite_report&, const not_finite_report&) = default;
};

template <>
inline constexpr step_problem last_of<step_problem> = step_problem::differs;

TROUPE_INSPECTED(not_finite_report);

/// replica -> director: its work so far.
struct replica_status {
  uint64_t version = 0;        ///< the version it works on
  uint64_t sample_count = 0;   ///< training samples computed, repetitions included
  uint64_t steps_executed = 0; ///< steps in which it computed at least one slice
  boundary_waits waits{};      ///< of a split model: in its group
  computed_slices computed{};  ///< of whole models: how many, and for how long

  friend bool operator==(const replica_status&, const replica_status&) = default;
};

TROUPE_INSPECTED(replica_status);
TROUPE_INSPECTED(history_row);
TROUPE_INSPECTED(recovery_figures);
TROUPE_INSPECTED(training_progress);

/// director -> observers: the end. The parameters are fetched with `pull`.
struct training_finished : recovery_figures {
  uint64_t version = 0;             ///< of the result
  uint8_t reason = 0;               ///< a stop_reason
  std::string problem;              ///< why training failed or diverged; empty when it went well
  bool failed = false;              ///< training could not be ended: there are no parameters
  uint8_t failure = 0;              ///< when failed: a failure_code
  std::string where;                ///< likewise: a path, if there is one
  std::string hint;                 ///< likewise: what to do
  uint64_t end_version = 0;         ///< training ended at; `version` may be an earlier one
  double seconds = 0;               ///< of training up to there, over all lives of the run
  std::vector<history_row> history; ///< up to the version training ended at
  std::vector<uint64_t> reductions; ///< steps from which results made the learning rate lower
  std::vector<replica_status> replicas; ///< by index; spares have zeros
  bool is_best = false; ///< `version` was kept as the best; training may have gone on beyond it
  uint64_t nodes = 0;   ///< processes that any view named
  uint64_t replicas_here = 0;              ///< in the last view
  std::map<std::string, uint64_t> spans{}; ///< parameters that each process owned, in the last view
  traffic wire;                            ///< between processes
  trainer_figures figures;                 ///< work and waits of all replicas

  friend bool operator==(const training_finished&, const training_finished&) = default;
};

TROUPE_INSPECTED(training_finished);

} // namespace troupe

CAF_ERROR_CODE_ENUM(troupe::protocol_error, "troupe")
