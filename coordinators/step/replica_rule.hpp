// The replica rule: when a replica evaluates, computes, or waits.
//
// A replica owns version v once every shard has announced its span of v. From version to version:
//
//   owns v --> evaluates v, if v is to be evaluated
//          --> computes step v, if v is below the horizon and it is not on hold; else waits
//          --> waits for every span of v + 1
//
// A replica that has no rows in some steps may get v + 2 announced by one shard before v + 1 by
// another. So it keeps announcements for each shard, and still visits versions one by one.
//
// `hold` makes it promise not to start another step until the next horizon. Its answer, the first
// step it has not started, lets the director name a version that every replica can still reach.

#pragma once

#include "coordinators/step/timeline.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// Until which version replicas may go. `final`: training ends there.
struct horizon_rule {
  uint64_t version = 0;
  bool final = false;
  std::vector<uint64_t> reductions{}; ///< of the rate up to there (models/training/schedule.hpp)
  bool is_cut =
    false; ///< a term begins at it: owners keep their spans (coordinators/membership/cut_rule.hpp)

  friend bool operator==(const horizon_rule&, const horizon_rule&) = default;
};

class replica_rule {
public:
  /// `shard_count`: all shards of the view; each announces each version, unless it has no span.
  replica_rule(const timeline& plan, size_t shard_count, uint64_t start_version = 0);

  enum class action : uint8_t { wait, evaluate, compute };

  /// A shard without a span: it announces nothing and is never waited for.
  void ignore_shard(size_t shard) { announced_.at(shard) = no_span; }
  /// A shard announced its span of a version. False when that was known, or no such shard exists.
  bool announce(uint64_t version, size_t shard);
  void set_horizon(const horizon_rule& horizon);
  /// Stops before the next step; returns the first step not started.
  uint64_t hold();

  /// What to do now, with version(). `evaluate` and `compute` count as done once returned: ask
  /// again after doing it.
  action next();

  /// The version this replica works on.
  uint64_t version() const { return version_; }
  /// Versions up to this one have been announced by every shard; nothing before the first.
  bool owns(uint64_t version) const;

  /// The first step that has not been begun.
  uint64_t next_step() const { return next_step_; }
  /// The step of version() has been begun.
  bool has_begun_step() const { return next_step_ > version_; }
  /// version() has been evaluated, as it was to be.
  bool has_evaluated() const { return evaluated_; }
  /// version() is to be evaluated and has not been. Should its step have been begun, training ends
  /// before that.
  bool has_to_evaluate() const { return !evaluated_ && owns(version_) && evaluation_due(); }

  friend bool operator==(const replica_rule&, const replica_rule&) = default;

private:
  /// Stands for "every version" among the announced ones.
  static constexpr uint64_t no_span = ~uint64_t{0};

  bool evaluation_due() const;

  timeline plan_;
  std::vector<uint64_t> announced_; ///< by shard: one more than its newest version, 0 for none
  uint64_t version_ = 0;
  uint64_t next_step_ = 0; ///< first step not started: version_ or version_ + 1
  bool evaluated_ = false; ///< version_ has been evaluated
  bool held_ = false;
  horizon_rule horizon_;
};

/// A replica's rule, which views may drop and begin anew. What a former one began stays begun in its term, and may be
/// under way.
class replica_rules {
public:
  explicit operator bool() const { return rule_.has_value(); }
  replica_rule* operator->() { return &*rule_; }
  const replica_rule* operator->() const { return &*rule_; }

  void begin(const timeline& plan, size_t shard_count, uint64_t start_version) {
    rule_.emplace(plan, shard_count, start_version);
  }
  void drop() {
    if (rule_)
      begun_ = std::max(begun_, rule_->next_step());
    rule_.reset();
  }
  /// Another term: contributions of the one before are dropped.
  void forget() {
    rule_.reset();
    begun_ = 0;
  }
  /// Starts no further step; returns the first that none of them has started.
  uint64_t hold() { return std::max(begun_, rule_ ? rule_->hold() : 0); }

private:
  std::optional<replica_rule> rule_; ///< since the first view
  uint64_t begun_ = 0;
};

} // namespace troupe
