// A process that trains, as far as its exchange sees it: the order of events of nodes, shards,
// parameter servers and directors, without arithmetic. Values are as the names say (exchange_wire.hpp).

#pragma once

#include "tests/support/exchange/exchange_wire.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

// What all processes of a company of exchanges know, and what befalls them, by seed.

/// What all know of a run. Process i is peer i + 1; the director is beside none of them.
struct exchange_run {
  std::vector<index_range> spans; ///< by process; may be empty
  size_t element_count = 0;
  size_t slice_count = 1;
  uint64_t last_version = 2;
  uint64_t checkpoint_every = 1;
  uint64_t task_count = 0; ///< of the first process, to the others in turn
  bool may_share = false;
  bool grows = false; ///< gradients leave while they are computed
  exchange_options limits;

  uint64_t last_checkpoint() const { return last_version - last_version % checkpoint_every; }
};

inline constexpr uint64_t state_parts = 3;
inline constexpr uint64_t task_parts = 2;

inline peer_id peer_of(size_t process) {
  return static_cast<peer_id>(process + 1);
}

struct exchange_view {
  uint64_t term = 0;
  uint64_t start_version = 0;
  std::vector<index_range> slices; ///< by process
};

struct exchange_plan {
  exchange_run run;
  wire_faults faults;
  unsigned troubles = 0; ///< of links and processes, while the wire is faulty
  size_t events_until_healed = 0;
};

inline size_t between(std::mt19937_64& random, size_t low, size_t high) {
  return low + random() % (high - low + 1);
}

/// Cuts [0, count) at random, in as many ranges; some may be empty.
inline std::vector<index_range> cut_at_random(std::mt19937_64& random, size_t count, size_t parts) {
  std::vector<size_t> cuts{0, count};
  while (cuts.size() < parts + 1)
    cuts.push_back(random() % (count + 1));
  std::ranges::sort(cuts);
  std::vector<index_range> result;
  for (size_t i = 0; i < parts; ++i)
    result.push_back({cuts[i], cuts[i + 1]});
  return result;
}

inline exchange_plan plan_of(uint64_t seed) {
  std::mt19937_64 random{seed};
  exchange_plan result;
  auto& run = result.run;
  run.element_count = between(random, 5, 60);
  run.slice_count = between(random, 1, 6);
  run.spans = cut_at_random(random, run.element_count, between(random, 2, 5));
  run.last_version = between(random, 1, 4);
  run.checkpoint_every = between(random, 1, 2);
  run.task_count = random() % 5;
  run.may_share = random() % 2 == 0;
  run.grows = random() % 2 == 0;
  run.limits.piece_elements = between(random, 1, 16);
  run.limits.window_bytes =
    run.limits.piece_elements * sizeof(float) * between(random, 1, 20) - random() % 4;
  const bool is_calm = seed % 8 == 0;
  if (!is_calm)
    result.faults = {static_cast<unsigned>(random() % 30), static_cast<unsigned>(random() % 20),
                     static_cast<unsigned>(random() % 20), random() % 2 == 0};
  result.troubles = is_calm ? 0 : static_cast<unsigned>(random() % 3);
  result.events_until_healed = is_calm ? 0 : random() % 1'500;
  return result;
}

class exchange_process {
public:
  /// `index`: of the process; nothing: the director.
  exchange_process(const exchange_run& run, std::optional<size_t> index)
    : exchange{run.limits}, run_(run), index_(index) {}

  tensor_exchange exchange;
  std::string problem;                              ///< the first thing that was wrong
  std::vector<std::pair<peer_id, task_note>> notes; ///< to be sent

  void adopt(const exchange_view& view, moment now) {
    const bool begins = view.term != view_.term;
    view_ = view;
    if (begins)
      begin_term(now);
    else if (index_)
      take_up_slices();
  }

  /// Computes a little, if there is anything to compute.
  void work(std::mt19937_64& random, moment now) {
    if (computing_.empty())
      return;
    auto& [node, rest] = computing_.front();
    const auto gradient = gradient_of(node);
    if (run_.grows && rest.size() > 1 && random() % 4 != 0) {
      const auto count = 1 + random() % (rest.size() - 1);
      const bool from_behind = random() % 2 == 0;
      const index_range part = from_behind ? index_range{rest.end - count, rest.end}
                                           : index_range{rest.begin, rest.begin + count};
      (from_behind ? rest.end : rest.begin) = from_behind ? part.begin : part.end;
      return exchange.grow(gradient, part, gradient_routes(), now);
    }
    const auto done = node;
    exchange.publish(gradient, gradient_routes(), now);
    computing_.erase(computing_.begin());
    cover(done, version_, now);
  }

  void tick(moment now) {
    exchange.tick(now);
    for (const auto& [number, who] : open_tasks_)
      remind(who);
  }

  void on_arrived(const tensor_arrived& news, moment now) {
    if (!is_true(news.of, news.elements.begin, news.values) ||
        news.values.size() != news.elements.size() || news.note.facts != true_note(news.of).facts)
      problem = "not what was published";
    switch (news.of.kind) {
    case tensor_kind::gradient:
      return cover(news.of.node, news.of.key, now);
    case tensor_kind::parameters:
      return on_version(news.of.key, news.jump);
    case tensor_kind::state:
      return news.complete ? on_state(news.of.key, now) : void();
    case tensor_kind::task:
      return news.complete ? on_task(news.of.key, now) : void();
    case tensor_kind::result:
      return news.complete ? on_result(news.of.key, now) : void();
    case tensor_kind::block_sums: // as parts of a state
    case tensor_kind::boundary:   // as gradients and as parts of a state
    case tensor_kind::model:      // as parts of a state
    case tensor_kind::copy:       // as parts of a state, in any term
      return;
    }
  }

  void on_note(peer_id from, const task_note& news, moment now) {
    if (news.term != view_.term)
      return;
    if (news.is_result) {
      if (open_tasks_.contains(news.last) && awaited_results_.insert(news.last).second)
        exchange.expect(vectors(tensor_kind::result, news.last, from), now);
      return;
    }
    if (news.last < newest_task_)
      return;
    newest_task_ = news.last;
    for (const auto done : std::set{done_tasks_})
      if (std::ranges::find(news.open, done) == news.open.end()) {
        exchange.forget(tensor_kind::result, only_key(done));
        done_tasks_.erase(done);
      }
    for (const auto number : news.open)
      if (done_tasks_.contains(number))
        notes.emplace_back(from, task_note{view_.term, number, true});
      else if (known_tasks_.insert(number).second)
        exchange.expect(vectors(tensor_kind::task, number, from), now);
  }

  uint64_t version() const { return version_; }
  uint64_t checkpoint() const { return checkpoint_; }
  const exchange_view& view() const { return view_; }
  bool has_finished() const {
    if (!index_)
      return checkpoint_ == run_.last_checkpoint();
    return has_version_ && version_ == run_.last_version && computing_.empty() &&
           (*index_ > 0 || finished_tasks_ == run_.task_count);
  }
  /// Names that may be arriving at a time.
  size_t arriving_max() const {
    return gathered_keys_max + 2 * run_.slice_count + 2 * state_parts * (run_.last_version + 1) +
           task_parts * (1 + run_.task_count);
  }

private:
  // ---- a term ----

  void begin_term(moment now) {
    exchange.begin_term(view_.term);
    computing_.clear();
    covered_ = {};
    has_version_ = false;
    version_ = shard_version_ = view_.start_version;
    open_tasks_.clear();
    awaited_results_.clear();
    done_tasks_.clear();
    known_tasks_.clear();
    newest_for_.clear();
    newest_task_ = finished_tasks_ = last_task_ = 0;
    if (!index_)
      return begin_as_director(now);
    expect_versions(now);
    if (view_.start_version == 0 || span().empty())
      own(view_.start_version, now);
    else
      expect_state(view_.start_version, span(), {{peer_id::director, span()}}, false, now);
    give_tasks(now);
  }

  void begin_as_director(moment now) {
    const index_range all{0, run_.element_count};
    checkpoint_ = view_.start_version;
    if (checkpoint_ > 0)
      for (uint64_t part = 0; part < state_parts; ++part)
        exchange.publish(kept({tensor_kind::state, view_.term, checkpoint_, only_leaf, part}, all),
                         {}, now);
    std::vector<tensor_source> owners;
    for (size_t i = 0; i < run_.spans.size(); ++i)
      owners.push_back({peer_of(i), run_.spans[i]});
    for (auto v = checkpoint_ + 1; v <= run_.last_version; ++v)
      if (v % run_.checkpoint_every == 0)
        expect_state(v, all, owners, true, now);
  }

  void expect_state(uint64_t version, const index_range& elements,
                    std::vector<tensor_source> sources, bool comes_unasked, moment now) {
    auto what = expected(tensor_kind::state, version, elements);
    what.parts = {0, state_parts};
    what.sources = std::move(sources);
    what.comes_unasked = comes_unasked;
    exchange.expect(std::move(what), now);
  }

  void expect_versions(moment now) {
    auto what = expected(tensor_kind::parameters, view_.start_version, {0, run_.element_count});
    what.newest = true;
    what.last_key = run_.last_version;
    for (size_t i = 0; i < run_.spans.size(); ++i)
      if (i != index_)
        what.sources.push_back({peer_of(i), run_.spans[i]});
    exchange.expect(std::move(what), now);
  }

  void on_state(uint64_t version, moment now) {
    exchange.dismiss(tensor_kind::state, index_ ? only_key(version) : keys_before(version + 1));
    if (index_)
      own(version, now);
    else
      checkpoint_ = std::max(checkpoint_, version);
  }

  // ---- a shard ----

  const index_range& span() const { return run_.spans[*index_]; }

  void own(uint64_t version, moment now) {
    shard_version_ = version;
    covered_ = {};
    if (span().empty())
      return;
    auto parameters = kept({tensor_kind::parameters, view_.term, version}, span());
    parameters.newest_kept = 2;
    exchange.publish(parameters, routes_to_others(), now);
    exchange.offer(parameters, now);
    if (version % run_.checkpoint_every == 0 && version > view_.start_version)
      copy_state(version, now);
    exchange.dismiss(tensor_kind::gradient, keys_before(version));
    if (version == run_.last_version)
      return;
    auto what = expected(tensor_kind::gradient, version, span());
    what.leaf_count = run_.slice_count;
    what.sources = gradient_sources();
    exchange.expect(std::move(what), now);
  }

  void copy_state(uint64_t version, moment now) {
    const tensor_route route{peer_id::director, span()};
    for (uint64_t part = 0; part < state_parts; ++part) {
      auto copy = kept({tensor_kind::state, view_.term, version, only_leaf, part}, span());
      copy.haste = urgency::checkpoint;
      copy.newest_kept = 2;
      exchange.publish(copy, {&route, 1}, now);
    }
  }

  void cover(const tree_node& node, uint64_t step, moment now) {
    if (step != shard_version_ || span().empty())
      return;
    covered_.add(node);
    if (covered_.contains({0, run_.slice_count}))
      own(step + 1, now);
  }

  // ---- replicas ----

  void on_version(uint64_t version, bool jump) {
    if (jump == (version == (has_version_ ? version_ + 1 : view_.start_version)))
      problem = "jumps are told wrongly";
    has_version_ = true;
    version_ = version;
    exchange.forget(tensor_kind::gradient, keys_before(version));
    computing_.clear();
    compute_slices();
  }

  void take_up_slices() {
    exchange.set_sources(tensor_kind::gradient, shard_version_, span(), gradient_sources());
    computing_.clear();
    compute_slices();
  }

  void compute_slices() {
    if (has_version_ && version_ < run_.last_version)
      for (const auto& node : largest_nodes(run_.slice_count, view_.slices[*index_]))
        computing_.emplace_back(node, index_range{0, run_.element_count});
  }

  /// In the same memory, should it be computed again.
  kept_tensor gradient_of(const tree_node& node) {
    const tensor_name name{tensor_kind::gradient, view_.term, version_, node, 0};
    auto& values = gradients_[{version_, node}];
    if (values.size() == 0)
      values = true_values(name, {0, run_.element_count});
    return {name, 0, values, true_note(name)};
  }

  std::vector<tensor_source> gradient_sources() const {
    std::vector<tensor_source> result;
    for (size_t i = 0; i < view_.slices.size(); ++i)
      if (i != index_ && !view_.slices[i].empty())
        result.push_back({peer_of(i), span(), view_.slices[i]});
    return result;
  }

  std::vector<tensor_route> gradient_routes() const {
    std::vector<tensor_route> result;
    for (size_t i = 0; i < run_.spans.size(); ++i)
      if (i != index_ && !run_.spans[i].empty())
        result.push_back({peer_of(i), run_.spans[i]});
    return result;
  }

  std::vector<tensor_route> routes_to_others() const {
    std::vector<tensor_route> result;
    for (size_t i = 0; i < run_.spans.size(); ++i)
      if (i != index_)
        result.push_back({peer_of(i), span()});
    return result;
  }

  // ---- tasks: the first process gives one at a time to each of the others ----

  void give_tasks(moment now) {
    if (*index_ != 0)
      return;
    while (last_task_ < run_.task_count && open_tasks_.size() + 1 < run_.spans.size()) {
      const auto number = ++last_task_;
      const auto who = peer_of(1 + number % (run_.spans.size() - 1));
      open_tasks_[number] = who;
      publish_vectors(tensor_kind::task, number, who, now);
      newest_for_[who] = number;
      remind(who);
    }
  }

  void remind(peer_id who) {
    task_note news{view_.term, newest_for_[who], false};
    for (const auto& [number, other] : open_tasks_)
      if (other == who)
        news.open.push_back(number);
    notes.emplace_back(who, std::move(news));
  }

  void on_task(uint64_t number, moment now) {
    exchange.dismiss(tensor_kind::task, only_key(number));
    done_tasks_.insert(number);
    publish_vectors(tensor_kind::result, number, peer_of(0), now);
    notes.emplace_back(peer_of(0), task_note{view_.term, number, true});
  }

  void on_result(uint64_t number, moment now) {
    exchange.dismiss(tensor_kind::result, only_key(number));
    exchange.forget(tensor_kind::task, only_key(number));
    open_tasks_.erase(number);
    ++finished_tasks_;
    give_tasks(now);
  }

  void publish_vectors(tensor_kind kind, uint64_t number, peer_id to, moment now) {
    const index_range all{0, run_.element_count};
    const tensor_route route{to, all};
    for (uint64_t part = 0; part < task_parts; ++part)
      exchange.publish(kept({kind, view_.term, number, only_leaf, part}, all), {&route, 1}, now);
  }

  expectation vectors(tensor_kind kind, uint64_t number, peer_id from) {
    auto what = expected(kind, number, {0, run_.element_count});
    what.parts = {0, task_parts};
    what.sources = {{from, what.elements}};
    return what;
  }

  // ---- both ----

  kept_tensor kept(const tensor_name& name, const index_range& elements) const {
    return {name, elements.begin, true_values(name, elements), true_note(name)};
  }

  expectation expected(tensor_kind kind, uint64_t key, const index_range& elements) const {
    expectation result;
    result.kind = kind;
    result.key = key;
    result.elements = elements;
    result.may_share = run_.may_share;
    result.memory = [elements](const tensor_name&) {
      return float_window{buffer{elements.size()}, elements.begin};
    };
    return result;
  }

  exchange_run run_;
  std::optional<size_t> index_;
  exchange_view view_;
  bool has_version_ = false;
  uint64_t version_ = 0;
  uint64_t shard_version_ = 0;
  span_set covered_; ///< slices of the shard's step
  uint64_t checkpoint_ = 0;
  std::vector<std::pair<tree_node, index_range>> computing_; ///< and what is not done of it
  std::map<std::pair<uint64_t, tree_node>, float_view> gradients_;
  std::map<uint64_t, peer_id> open_tasks_;
  std::set<uint64_t> awaited_results_;
  std::set<uint64_t> done_tasks_; ///< whose results are kept
  std::set<uint64_t> known_tasks_;
  uint64_t newest_task_ = 0; ///< to this process
  std::map<peer_id, uint64_t> newest_for_;
  uint64_t last_task_ = 0;
  uint64_t finished_tasks_ = 0;
};

} // namespace troupe::test
