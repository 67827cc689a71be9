// A whole company without actors: the rules of one director, some replicas and shards, wired by
// channels that keep the order between two members and nothing else. A seed says which message
// arrives next, when somebody asks to stop, and which step is not finite. Parameters are left out:
// a gradient is its figures.

#pragma once

#include "coordinators/run/director_rule.hpp"
#include "coordinators/run/hold_rule.hpp"
#include "coordinators/step/placement.hpp"
#include "coordinators/step/replica_rule.hpp"
#include "coordinators/step/shard_rule.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <variant>
#include <vector>

namespace troupe::test {

/// The figures of a run: losses in eighths, so that all sums are exact.
class figures_of_run {
public:
  figures_of_run(const timeline& plan, const evaluation_rows& rows, uint64_t seed)
    : plan_(plan), rows_(rows), seed_(seed) {}

  batch_sums of_slice(uint64_t step, size_t slice) const {
    return sums(loss(step, 0), plan_.rows_of_slice(step, slice).size());
  }
  batch_sums of_step(uint64_t step) const {
    return sums(loss(step, 0), plan_.rows_of(step).size());
  }
  batch_sums of_chunk(uint64_t version, size_t chunk) const {
    const auto test_chunks = rows_.test.chunk_count();
    if (chunk < test_chunks)
      return sums(loss(version, 1), rows_.rows_of_chunk(chunk).size());
    return sums(loss(version, 2), rows_.rows_of_chunk(chunk).size());
  }
  batch_sums of_test(uint64_t version) const {
    return sums(loss(version, 1), rows_.test.row_count());
  }
  batch_sums of_validation(uint64_t version) const {
    return sums(loss(version, 2), rows_.validation.row_count());
  }

private:
  static batch_sums sums(double loss, size_t rows) {
    return {loss * static_cast<double>(rows), rows, 0, 0};
  }
  double loss(uint64_t version, uint64_t kind) const {
    std::mt19937_64 random{seed_ * 1'000'003 + version * 3 + kind};
    return static_cast<double>(random() % 16) / 8;
  }

  timeline plan_;
  evaluation_rows rows_;
  uint64_t seed_;
};

struct company_walk_options {
  director_rule_options director;
  size_t replica_count = 1; ///< spares included
  size_t shard_count = 1;
  std::optional<uint64_t> poisoned_step; ///< not finite at `poisoned_shard`
  size_t poisoned_shard = 0;
  std::vector<size_t> stop_events;         ///< messages delivered when somebody asks to stop
  std::optional<director_memory> memory{}; ///< of a run that this one goes on from
};

class company_walk {
public:
  company_walk(const company_walk_options& options, uint64_t seed)
    : options_(options),
      plan_(options.director.plan),
      figures_(plan_, options.director.rows, seed),
      random_(seed),
      slices_(assign_slices(plan_.slice_count, options.replica_count)),
      owner_count_(std::min(plan_.slice_count, options.replica_count)),
      director_(options.memory ? director_rule{options.director, *options.memory}
                               : director_rule{options.director}) {
    const auto start = options.memory ? options.memory->version : 0;
    for (size_t i = 0; i < owner_count_; ++i)
      replicas_.emplace_back(plan_, options.shard_count, start);
    for (size_t k = 0; k < options.shard_count; ++k)
      shards_.emplace_back(plan_, start, figures_of_epoch_before(start));
    hold_.on_view({{1, 1}, start, {{"local", 1, owner_count_, options.shard_count}}, {}, {}});
  }

  /// Runs until no message is under way.
  void run() {
    ask_to_stop_if_due(); // before the start
    carry_out(director_.start());
    for (size_t k = 0; k < shards_.size(); ++k)
      announce(k);
    while (!channels_.empty()) {
      const auto next =
        std::next(channels_.begin(), static_cast<std::ptrdiff_t>(random_() % channels_.size()));
      auto message = std::move(next->second.front());
      next->second.pop_front();
      if (next->second.empty())
        channels_.erase(next);
      ++delivered_;
      message();
      ask_to_stop_if_due();
    }
  }

  const director_decisions& decisions() const { return decisions_; }
  /// What there was to go on from at each checkpoint.
  const std::map<uint64_t, director_memory>& memories() const { return memories_; }
  const director_rule& director() const { return director_; }
  const figures_of_run& figures() const { return figures_; }
  uint64_t shard_version(size_t k) const { return shards_[k].rule.version(); }
  bool asked_to_stop() const { return asked_to_stop_; }
  bool poisoned() const { return poisoned_; }
  /// Some version was asked for when a shard had let go of it.
  bool fetched_too_late() const { return fetched_too_late_; }

private:
  struct shard {
    shard(const timeline& plan, uint64_t start, const batch_sums& sums)
      : rule(plan, start), metrics(sums), row_version(start), mark_version(start) {}

    shard_rule rule;
    std::vector<batch_sums> held{};
    batch_sums metrics; ///< since the last epoch ended
    horizon_rule horizon{};
    uint64_t row_version;
    uint64_t mark_version;
    std::optional<uint64_t> asked_for{};
    bool failed = false;
  };

  /// Of the steps before `version` in an epoch that is not over.
  batch_sums figures_of_epoch_before(uint64_t version) const {
    batch_sums result;
    for (auto step = version - version % plan_.steps_in_epoch(); step < version; ++step)
      result = result + figures_.of_step(step);
    return result;
  }

  static size_t replica_id(size_t i) { return 1 + i; }
  static size_t shard_id(size_t k) { return 1000 + k; }

  void send(size_t from, size_t to, std::function<void()> message) {
    channels_[{from, to}].push_back(std::move(message));
  }

  // ---- director ----

  void ask_to_stop_if_due() {
    for (auto event : options_.stop_events)
      if (event == delivered_) {
        asked_to_stop_ = true;
        carry_out(director_.on_stop_requested());
      }
  }

  void carry_out(const director_decisions& decisions) {
    for (const auto& decision : decisions) {
      decisions_.push_back(decision);
      if (const auto* allow = std::get_if<allow_up_to>(&decision))
        send_horizon(allow->horizon);
      else if (std::holds_alternative<hold_replicas>(decision))
        ask_to_hold_if_due(hold_.on_stop_requested());
      else if (const auto* keep = std::get_if<keep_version>(&decision))
        fetch(keep->version);
      else if (const auto* take = std::get_if<take_checkpoint>(&decision))
        memories_.insert_or_assign(take->version, director_.memory(take->version));
    }
  }

  void ask_to_hold_if_due(const hold_decisions& asked) {
    if (!asked.empty())
      for (size_t i = 0; i < owner_count_; ++i)
        send(0, replica_id(i), [this, i] { hold(i); });
  }

  void fetch(uint64_t version) {
    fetched_from_.clear();
    for (size_t k = 0; k < shards_.size(); ++k)
      send(0, shard_id(k), [this, k, version] {
        shards_[k].asked_for = version;
        answer_if_there(k);
      });
  }

  void send_horizon(const horizon_rule& horizon) {
    for (size_t i = 0; i < owner_count_; ++i)
      send(0, replica_id(i), [this, i, horizon] {
        replicas_[i].set_horizon(horizon);
        advance(i);
      });
    for (size_t k = 0; k < shards_.size(); ++k)
      send(0, shard_id(k), [this, k, horizon] { on_horizon(k, horizon); });
  }

  // ---- replicas ----

  void hold(size_t i) {
    const auto next_step = replicas_[i].hold();
    send(replica_id(i), 0, [this, i, next_step] {
      held_[i] = next_step;
      if (held_.size() == owner_count_)
        name_version();
    });
  }

  void name_version() {
    hold_answer answer{"local", {1, 1}, 0, {}};
    for (const auto& [i, next_step] : held_)
      answer.next_step = std::max(answer.next_step, next_step);
    for (const auto& decision : hold_.on_held(answer))
      carry_out(director_.on_stop_named(std::get<stop_at>(decision).version));
  }

  void advance(size_t i) {
    for (;;) {
      const auto action = replicas_[i].next();
      if (action == replica_rule::action::wait)
        return;
      if (action == replica_rule::action::evaluate)
        evaluate(i, replicas_[i].version());
      else
        compute(i, replicas_[i].version());
    }
  }

  void evaluate(size_t i, uint64_t version) {
    const auto chunks = options_.director.rows.chunk_count();
    const auto share = split_evenly(chunks, owner_count_).at(i);
    if (share.empty())
      return;
    std::vector<batch_sums> sums;
    for (auto chunk = share.begin; chunk < share.end; ++chunk)
      sums.push_back(figures_.of_chunk(version, chunk));
    send(replica_id(i), 0, [this, version, share, sums] {
      carry_out(director_.on_evaluated(version, share.begin, sums));
    });
  }

  void compute(size_t i, uint64_t step) {
    for (auto slice = slices_[i].begin; slice < slices_[i].end; ++slice) {
      if (!plan_.slice_exists(step, slice))
        continue;
      for (size_t k = 0; k < shards_.size(); ++k)
        send(replica_id(i), shard_id(k), [this, k, step, slice] { contribute(k, step, slice); });
    }
  }

  // ---- shards; the first one keeps the metrics ----

  // A shard holds its version and the one before; later ones are answered when they are there.
  void answer_if_there(size_t k) {
    auto& self = shards_[k];
    const auto version = self.rule.version();
    if (!self.asked_for || *self.asked_for > version)
      return;
    const auto asked_for = *std::exchange(self.asked_for, std::nullopt);
    if (asked_for + 1 < version)
      fetched_too_late_ = true;
    send(shard_id(k), 0, [this, k, asked_for] {
      fetched_from_.insert(k);
      if (fetched_from_.size() == shards_.size())
        carry_out(director_.on_kept(asked_for));
    });
  }

  void announce(size_t k) {
    const auto version = shards_[k].rule.version();
    for (size_t i = 0; i < owner_count_; ++i)
      send(shard_id(k), replica_id(i), [this, i, k, version] {
        if (replicas_[i].announce(version, k))
          advance(i);
      });
  }

  void contribute(size_t k, uint64_t step, size_t slice) {
    auto& self = shards_[k];
    const auto result = self.rule.offer(step, {slice, slice + 1}, 0);
    if (self.failed || result.verdict != offer_verdict::accepted)
      return;
    self.held.insert(self.held.begin() + static_cast<std::ptrdiff_t>(result.position),
                     figures_.of_slice(step, slice));
    const auto plan = self.rule.complete();
    if (!plan)
      return;
    if (step == options_.poisoned_step && k == options_.poisoned_shard) {
      self.failed = poisoned_ = true;
      send(shard_id(k), 0, [this, step] { carry_out(director_.on_not_finite({step, "", {}})); });
      return;
    }
    self.metrics = self.metrics + evaluate_plan(*plan, self.held);
    self.held.clear();
    self.rule.advance();
    announce(k);
    answer_if_there(k);
    keep_metrics(k);
  }

  void on_horizon(size_t k, const horizon_rule& horizon) {
    auto& self = shards_[k];
    self.horizon = horizon;
    if (self.rule.version() == horizon.version)
      keep_metrics(k);
  }

  // An epoch's end and the end of training make a row, the horizon a mark; nothing is said twice.
  void keep_metrics(size_t k) {
    auto& self = shards_[k];
    const auto version = self.rule.version();
    const bool ends_epoch = plan_.is_epoch_end(version);
    const bool at_horizon = version == self.horizon.version;
    const bool is_row =
      (ends_epoch || (at_horizon && self.horizon.final)) && self.row_version != version;
    const bool is_mark = at_horizon && self.mark_version != version;
    if (k == 0 && (is_row || is_mark))
      send(shard_id(k), 0, [this, version, is_row, is_mark, sums = self.metrics] {
        if (is_row)
          carry_out(director_.on_trained(version, sums));
        if (is_mark)
          carry_out(director_.on_marked(version));
      });
    if (is_mark)
      self.mark_version = version;
    if (is_row)
      self.row_version = version;
    if (is_row && ends_epoch)
      self.metrics = {};
  }

  company_walk_options options_;
  timeline plan_;
  figures_of_run figures_;
  std::mt19937_64 random_;
  std::vector<index_range> slices_;
  size_t owner_count_;
  director_rule director_;
  hold_rule hold_;
  std::map<size_t, uint64_t> held_; ///< first step not started, by replica
  std::map<uint64_t, director_memory> memories_;
  std::vector<replica_rule> replicas_;
  std::vector<shard> shards_;
  std::map<std::pair<size_t, size_t>, std::deque<std::function<void()>>> channels_;
  director_decisions decisions_;
  size_t delivered_ = 0;
  bool asked_to_stop_ = false;
  bool poisoned_ = false;
  std::set<size_t> fetched_from_; ///< shards that gave the version being kept
  bool fetched_too_late_ = false;
};

} // namespace troupe::test
