// Parameters coordinator: one main model made of the models that children train on their own.
//
//   parameters_coordinator coordinator{{.threshold = 3}};
//   coordinator.set_parameters(initial);
//   for (auto& child : children) {                       // each on its own data
//     train(child, from coordinator.main_parameters());
//     coordinator.add_parameters({.child = child.id, .values = .., .sample_count = 50}, now);
//   }
//
// Entries wait until a round is full; then exactly these are merged (model_merger.hpp) and the main
// model moves there (models/merging/outer_rule.hpp). A round is full
//   anybody   when `threshold` entries wait, of any children: one child may fill it
//   distinct  when `threshold` different children have one, or all that are left of fewer (it waits
//             for no child that is gone); a child's newer model, which was trained further, takes the
//             place of the one that waits
//   time      when `period` has passed since its first entry came
// Within a round the order of arrival does not show in the bits. With `push` the outcome names the
// children to send the main model to: all that are known, in ascending order.
//
//   running --stop--> stopped --start--> running
// `stop` merges what waits of an unfinished round: nothing is lost, unless `clear` drops it or the
// rule cannot merge so few (krum): then it stays, and the report says so.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/modes/model_merger.hpp"
#include "models/merging/outer_rule.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace troupe {

enum class round_trigger : uint8_t { anybody, distinct, time };

template <>
struct name_table<round_trigger> {
  static constexpr std::array entries{named(round_trigger::anybody, "anybody"),
                                      named(round_trigger::distinct, "distinct"),
                                      named(round_trigger::time, "time")};
};

struct parameters_coordinator_options {
  merge_options merge = {};
  outer_options outer = {};
  round_trigger trigger = round_trigger::anybody;
  size_t threshold = 10; ///< entries, or children, that make a round, >= 1; unused with `time`
  milliseconds period{10'000}; ///< `time`: > 0. Twice as long: half the rounds, twice the memory
  size_t entries_max = 10'000; ///< that may wait, >= threshold: memory is theirs
  bool push = false;           ///< send the main model to all children after each round
};

/// What became of a child's model.
enum class parameters_verdict : uint8_t {
  waits,         ///< for its round
  replaced,      ///< it waits in the place of the child's older one
  merged,        ///< it filled the round: the main model moved
  stopped,       ///< refused: the coordinator does not run
  no_parameters, ///< refused: there is no main model yet
  wrong_size,    ///< refused: another number of values than the main model has
  no_samples,    ///< refused: trained on nothing
  not_finite,    ///< refused: a value is NaN or infinite
  full,          ///< refused: `entries_max` wait already
  misfit,        ///< refused: the merge rule needs something the entry lacks (`reason`)
  /// It filled the round, but the main model would not be finite, or the rule finds no answer
  /// (weights that are all 0, features that depend on each other; `reason`): the main model stays,
  /// the round is dropped.
  merge_refused
};

template <>
struct name_table<parameters_verdict> {
  static constexpr std::array entries{
    named(parameters_verdict::waits, "waits"),
    named(parameters_verdict::replaced, "replaced"),
    named(parameters_verdict::merged, "merged"),
    named(parameters_verdict::stopped, "the coordinator is stopped"),
    named(parameters_verdict::no_parameters, "no parameters are set yet"),
    named(parameters_verdict::wrong_size, "the model's size is not that of the main model"),
    named(parameters_verdict::no_samples, "the model was trained on no samples"),
    named(parameters_verdict::not_finite, "a value is not finite"),
    named(parameters_verdict::full, "too many models wait already"),
    named(parameters_verdict::misfit, "the merge rule needs something the model came without"),
    named(parameters_verdict::merge_refused, "the round could not be merged")};
};

struct parameters_outcome {
  parameters_verdict verdict = parameters_verdict::waits;
  std::string reason;                 ///< of a refusal; else empty
  size_t merged_count = 0;            ///< entries that were merged now
  std::vector<uint64_t> send_to = {}; ///< children to send the main model to, now

  friend bool operator==(const parameters_outcome&, const parameters_outcome&) = default;
};

class parameters_coordinator {
public:
  /// Throws std::invalid_argument for options out of range, or a threshold below what the merge
  /// rule needs.
  explicit parameters_coordinator(const parameters_coordinator_options& options);

  /// The main model (P) to begin with, and to come back to with `reset`. What waits is dropped.
  /// Throws std::invalid_argument for no values or one that is not finite.
  void set_parameters(std::span<const float> values);

  /// A child to send the main model to. A child that hands something in is one too.
  void add_child(uint64_t child);
  /// A child is gone: nothing is sent to it any more; what it handed in counts. Merges a `distinct` round that waited
  /// for it alone.
  parameters_outcome remove_child(uint64_t child);

  /// A child's model, in the main model's layout. Its values are shared, not copied: the caller
  /// writes them no more.
  parameters_outcome add_parameters(merge_entry entry, moment now);

  /// Time has passed: merges a round whose time is over. Nothing happened if the verdict is
  /// `waits`.
  parameters_outcome on_time(moment now);
  /// When `on_time` next has something to do.
  std::optional<moment> next_time() const;

  /// The main model: a snapshot, it stays as it is. Empty before `set_parameters`.
  const_buffer main_parameters() const { return main_; }

  void start() { running_ = true; }
  /// Merges what waits, as a last, smaller round, and refuses what comes from now on.
  parameters_outcome stop();
  /// Drops what waits.
  void clear();
  /// The main model of `set_parameters` again, round 0; what waits is dropped, the outer rule
  /// forgets.
  void reset();

  /// What it remembers beside the main model: the outer rule's moments. What waits is not saved. After `set_parameters`.
  void save(state_saver& out) const { outer_->save(out); }
  void load(state_loader& in) { outer_->load(in); }

  bool running() const { return running_; }
  size_t waiting_count() const { return entries_.size(); }
  uint64_t round_count() const { return round_count_; }
  uint64_t refused_round_count() const { return refused_round_count_; }
  const std::set<uint64_t>& children() const { return children_; }

private:
  std::optional<parameters_verdict> misfit(const merge_entry& entry) const;
  bool keep(merge_entry entry);
  size_t entries_due() const;
  parameters_outcome merge_round();
  bool move_to(const merged_model& merged);

  parameters_coordinator_options options_;
  std::optional<outer_rule> outer_;
  const_buffer initial_;
  const_buffer main_;
  std::vector<merge_entry> entries_; ///< of the round, in order of arrival
  std::optional<moment> round_start_;
  std::set<uint64_t> children_;
  std::set<uint64_t> gone_; ///< children that are none now
  bool running_ = true;
  uint64_t round_count_ = 0;
  uint64_t refused_round_count_ = 0;
};

} // namespace troupe
