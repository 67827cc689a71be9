// The membership rule under any events: what a view promises is kept after each of them.

#include "coordinators/membership/membership_rule.hpp"

#include "coordinators/base/span_set.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/step/placement.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace troupe::membership_walk_test {
namespace {

/// A director's surroundings by seed: it carries out what the rule decides, and checks it.
class membership_walk {
public:
  explicit membership_walk(uint64_t seed) {
    std::mt19937_64 random{seed};
    const size_t count = 1 + random() % 5;
    for (size_t i = 0; i < count; ++i)
      those_.push_back({std::string(1, static_cast<char>('a' + i)), random() % 4, random() % 3});
    const size_t listed = count - random() % std::min<size_t>(3, count);
    options_.expected = {those_.begin(), those_.begin() + static_cast<std::ptrdiff_t>(listed)};
    options_.lets_join = listed < count || random() % 2 == 0;
    if (random() % 2 == 0)
      options_.home = "a";
    options_.slice_count = 1 + random() % 9;
    options_.parameter_count = 1 + random() % (5 * block_size);
    options_.join_timeout = milliseconds{seed % 4 == 0 ? 2'000 : 100'000};
    options_.lost_after = milliseconds{300};
    options_.links_first = random() % 2 == 0;
    options_.persisted_term = persisted_ = random() % 3;
    options_.checkpoint_version = checkpoint_ = random() % 3;
    if (random() % 2 == 0)
      draw_holders(random);
    options_.copies = {random() % 3, random() % 4, random() % 3};
    options_.copies.are_possible = options_.copies.deputies > 0 || random() % 2 == 0;
    rule_.emplace(options_, now_);
    lives_.resize(count, 1);
  }

  /// What happens, whom it concerns, and a little variety.
  struct event {
    uint8_t kind = 0;
    uint8_t who = 0;
    uint8_t more = 0;
  };

  void on(const event& what) {
    now_ += milliseconds{what.more % 60};
    if (stand_ || what.kind % 2 == 0) // all who were asked answer, with what is whole
      for (const auto& name : std::exchange(asked_names_, {})) {
        fitness news;
        news.copies = {question_, {{stand_.value_or(checkpoint_ + 1 + what.more % 3), {{0, 6}}}}};
        said_[name].push_back(news.copies.copies.front());
        take(rule_->on_fitness(name, news, now_));
      }
    if (stand_ && what.kind % 4 > 0) { // a cut is rare enough
      persisted_ = std::max(asked_, persisted_);
      take(rule_->on_term_persisted(persisted_));
    }
    const auto i = what.who % lives_.size();
    const auto& name = those_[i].name;
    const auto& peer = those_[what.more % lives_.size()].name;
    const auto life = lives_[i] - what.more % 2;
    switch (what.kind % 16) {
    case 0:
    case 1:
    case 2:
      joined_at_.try_emplace(name, now_);
      return take(rule_->on_joined(life_of(i, life), now_));
    case 3:
      joined_at_[name] = now_;
      return take(rule_->on_joined(life_of(i, ++lives_[i]), now_));
    case 4:
      lost_.insert({name, life});
      return take(rule_->on_lost(name, life, now_));
    case 5:
      return take(rule_->on_unreachable(name, peer, now_));
    case 6:
    case 7:
      take(rule_->on_term_seen(persisted_ > 0 ? persisted_ - 1 : 0));
      return take(rule_->on_reachable(name, peer, now_));
    case 8:
      rule_->on_restarts(checkpoint_ / 2, {}); // an old one
      checkpoint_ += what.more % 3;
      cuts_ = {size_t{what.more} % 5, size_t{what.more} % 16};
      return rule_->on_restarts(checkpoint_, cuts_);
    case 9:
      persisted_ = std::max(asked_, persisted_);
      return take(rule_->on_term_persisted(persisted_));
    case 10:
    case 11:
      return say(name, what.more);
    case 12:
      return is_cut_wanted_ ? stand(what.more) : share(what.more);
    case 13:
    case 14:
      return stand(what.more);
    default:
      return take(rule_->on_tick(now_));
    }
  }

  size_t views() const { return views_; }
  size_t terms() const { return terms_; }
  size_t cuts() const { return cuts_taken_; }
  size_t stands() const { return stands_; }
  size_t leaves() const { return leaves_; }
  size_t joiners() const { return joiners_; }
  bool stopped() const { return rule_->state() == membership_rule::phase::stopped; }

private:
  /// One to three holdings, each of which some processes have; one process in four has none.
  void draw_holders(std::mt19937_64& random) {
    auto& holders = options_.holders;
    const size_t count = 1 + random() % std::min<size_t>(3, options_.slice_count);
    for (const auto& [rows, slices] :
         share_slices(std::vector<size_t>(count, 1 + random() % 9), options_.slice_count))
      holders.slices.push_back(slices);
    for (const auto& one : those_)
      if (random() % 4 > 0)
        holders.holding_of[one.name] = random() % count;
  }

  member life_of(size_t i, uint64_t life) const {
    const auto& known = those_[i];
    return {known.name, life, known.replica_count, known.shard_count};
  }

  /// A process says how it is. One that the last view names may have a version; others have links.
  void say(const std::string& name, unsigned more) {
    fitness news{.hangs = more % 16 == 0, .leaves = more % 16 == 1};
    if (news.leaves)
      leavers_.insert(name);
    const bool takes_part = last_ && last_->find(name);
    news.has_version = takes_part && more % 2 > 0;
    for (size_t k = 0; k < lives_.size() && !takes_part; ++k)
      if (more % 5 > 0 || (more >> k) % 2 > 0)
        news.linked.push_back(those_[k].name);
    if (news.has_version)
      newcomers_.erase(name);
    if (question_ > 0) {
      news.copies.term = question_ - more % 8 / 7; // or of an earlier question
      for (uint64_t version = more % 3; version < 12 && more % 7 > 0; version += 3)
        news.copies.copies.push_back({version, {{more / 7 % 3, 6}, {0, more / 7 % 5}}});
      if (news.copies.term == question_)
        for (const auto& one : news.copies.copies)
          said_[name].push_back(one);
    }
    take(rule_->on_fitness(name, news, now_));
    if (news.leaves) {
      now_ += options_.leave_patience;
      take(rule_->on_tick(now_));
    }
  }

  /// The director lets all stand, if that is wanted, at a version that it can go back to.
  void stand(unsigned more) {
    if (!std::exchange(is_cut_wanted_, false))
      return;
    stand_ = std::max<uint64_t>(stand_.value_or(0), checkpoint_ + more % 4);
    cuts_ = {std::min<size_t>(cuts_.begin, *stand_), std::max<size_t>(cuts_.end, *stand_ + 1)};
    rule_->on_restarts(0, cuts_);
    take(rule_->on_cut(*stand_));
  }

  /// Slices go by drawn speeds, which some replicas do not have, and maybe one is tried.
  void share(unsigned more) {
    speed_wish wish;
    for (const auto& one : those_)
      for (size_t i = 0; i < one.replica_count; ++i, more = more * 5 + 1)
        if (more % 4 > 0)
          wish.speeds[{one.name, i}] = more % 7 + 0.1;
    if (more % 3 == 0)
      wish.tried = {those_[more % lives_.size()].name, 0};
    goes_by_speed_ = !wish.speeds.empty();
    take(rule_->on_speeds(wish, "speeds"));
  }

  void take(const membership_decisions& decisions) {
    for (const auto& decision : decisions) {
      RC_ASSERT(!ended_);
      RC_ASSERT(!test::reason_of(decision).empty());
      std::visit([this](const auto& what) { on(what); }, decision);
    }
  }

  void on(const persist_term& what) {
    RC_ASSERT(what.term == std::max(asked_, persisted_) + 1);
    asked_ = what.term;
  }
  void on(const ask_copies& what) {
    RC_ASSERT((what.term == asked_ && last_ && (last_->copy_every > 0 || stand_)));
    for (const auto& name : what.names)
      RC_ASSERT(last_->find(name) &&
                !lost_.contains({name, last_->members[*last_->find(name)].incarnation}));
    if (std::exchange(question_, what.term) != what.term)
      said_.clear();
    asked_names_ = what.names;
  }
  void on(const ask_cut&) {
    RC_ASSERT(rule_->state() == membership_rule::phase::running && options_.copies.are_possible);
    is_cut_wanted_ = true;
  }
  void on(const turn_away& what) {
    RC_ASSERT(!what.has_left || (leavers_.contains(what.name) && what.name != options_.home));
    leaves_ += what.has_left ? 1 : 0;
    lost_.insert({what.name, what.incarnation});
  }
  void on(const wait_for& what) { RC_ASSERT(what.since <= now_); }
  void on(const stays_out&) {
    RC_ASSERT(options_.links_first && rule_->state() != membership_rule::phase::joining);
  }
  void on(const give_up&) { ended_ = true; }
  void on(const stand_down&) { RC_FAIL("no higher term was ever seen"); }
  void on(const publish& what) {
    const auto& view = what.view;
    ++views_;
    RC_ASSERT((!last_ || last_->id < view.id)); // in brackets: RapidCheck knows no short cut
    RC_ASSERT(view.id.term == persisted_);
    RC_ASSERT((what.restarts == (!last_ || last_->id.term < view.id.term)));
    RC_ASSERT((!what.is_cut || (stand_ && view.start_version >= *stand_)));
    stands_ += what.is_cut ? 1 : 0;
    if (what.restarts) {
      stand_.reset();
      is_cut_wanted_ = false;
    }
    check_members(view);
    check_work(view);
    joiners_ += view.members.size() > options_.expected.size() ? 1 : 0;
    note_newcomers(view, what.restarts);
    check_slices(view);
    if (what.restarts)
      check_new_term(view);
    else
      check_same_term(view);
    RC_ASSERT(rule_->view() == view);
    if (last_)
      bury_who_left(view);
    last_ = view;
  }

  /// Who came in mid-term, and has not said that it has a version.
  void note_newcomers(const cluster_view& view, bool restarts) {
    if (restarts || !options_.links_first)
      return newcomers_.clear(), unsure_.clear();
    for (const auto& who : view.members) {
      const auto place = last_->find(who.name);
      if (!place || last_->members[*place] != who)
        newcomers_.insert(who.name);
      // The rule admitted it between these times, and waits for its version no longer than `lost_after`.
      if (now_ - joined_at_[who.name] >= options_.lost_after && newcomers_.contains(who.name))
        unsure_.insert(who.name);
    }
    std::erase_if(newcomers_, [&](const std::string& name) { return !view.find(name); });
    std::erase_if(unsure_, [&](const std::string& name) { return !newcomers_.contains(name); });
  }

  void bury_who_left(const cluster_view& view) {
    for (const auto& who : last_->members) {
      const auto place = view.find(who.name);
      if (!place || view.members[*place].incarnation != who.incarnation)
        lost_.insert({who.name, who.incarnation});
    }
  }

  // Nobody brings what was not planned.
  void check_work(const cluster_view& view) const {
    for (const auto& one : those_) {
      const auto place = view.find(one.name);
      RC_ASSERT((!place || leavers_.contains(one.name) ||
                 (view.members[*place].replica_count == one.replica_count &&
                  view.members[*place].shard_count == one.shard_count)));
    }
  }

  // Those that are listed in order of the file, and behind them the others, as they came.
  void check_members(const cluster_view& view) const {
    size_t next = 0;
    std::vector<std::string> joined;
    for (const auto& who : view.members) {
      RC_ASSERT(!lost_.contains({who.name, who.incarnation}));
      while (next < options_.expected.size() && options_.expected[next].name != who.name)
        ++next;
      if (next == options_.expected.size())
        joined.push_back(who.name);
    }
    for (const auto& name : joined)
      RC_ASSERT(std::ranges::find(options_.expected, name, &expected_member::name) ==
                options_.expected.end());
    size_t at = 0;
    for (const auto& who : last_ ? last_->members : std::vector<member>{}) {
      const auto found = std::ranges::find(joined, who.name);
      const auto place = view.find(who.name);
      if (found == joined.end() || view.members[*place].incarnation != who.incarnation)
        continue;
      RC_ASSERT(static_cast<size_t>(found - joined.begin()) >= at);
      at = static_cast<size_t>(found - joined.begin());
    }
  }

  void check_slices(const cluster_view& view) const {
    std::vector<size_t> owners(options_.slice_count, 0);
    size_t next = 0;
    for (size_t m = 0; m < view.members.size(); ++m)
      for (size_t i = 0; i < view.members[m].replica_count; ++i, ++next) {
        RC_ASSERT(next < view.replicas.size());
        const auto& place = view.replicas[next];
        RC_ASSERT(place.member == m && place.index == i);
        for (auto slice = place.slices.begin; slice < place.slices.end; ++slice)
          ++owners.at(slice);
      }
    RC_ASSERT(next == view.replicas.size());
    for (const auto count : owners)
      RC_ASSERT(count == (view.replicas.empty() ? 0u : 1u));
    const auto& holders = options_.holders;
    std::map<size_t, size_t> counts; // replicas of each holding, or of all
    const auto holding_of = [&](const replica_place& place) {
      const auto found = holders.holding_of.find(view.members[place.member].name);
      return holders.empty()                     ? 0
             : found == holders.holding_of.end() ? holders.slices.size()
                                                 : found->second;
    };
    const auto is_new = [&](const replica_place& place) {
      return newcomers_.contains(view.members[place.member].name);
    };
    for (const auto& place : view.replicas)
      counts[holding_of(place)] += is_new(place) ? 0 : 1;
    std::set<size_t> only_new; // whose slices they get at once
    for (const auto& place : view.replicas)
      if (counts[holding_of(place)] == 0)
        only_new.insert(holding_of(place));
    for (const auto& place : view.replicas)
      counts[holding_of(place)] += only_new.contains(holding_of(place)) ? 1 : 0;
    for (const auto& place : view.replicas) {
      RC_ASSERT((place.slices.empty() || !is_new(place) || only_new.contains(holding_of(place)) ||
                 unsure_.contains(view.members[place.member].name)));
      const auto own = holding_of(place);
      const auto slices = holders.empty()               ? index_range{0, options_.slice_count}
                          : own < holders.slices.size() ? holders.slices[own]
                                                        : index_range{};
      RC_ASSERT((place.slices.empty() || slices.contains(place.slices)));
      RC_ASSERT(goes_by_speed_ || !unsure_.empty() ||
                place.slices.size() <= (slices.size() + counts[own] - 1) / counts[own]);
    }
  }

  void check_new_term(const cluster_view& view) {
    ++terms_;
    RC_ASSERT(view.id.number == 1u);
    RC_ASSERT((view.copy_every == 0) == (view.deputies == 0) &&
              view.deputies <= options_.copies.deputies);
    if (view.holders.empty())
      RC_ASSERT(view.start_version == checkpoint_);
    else
      check_cut(view);
    size_t next = 0;
    for (const auto& place : view.shards) {
      RC_ASSERT(place.index < view.members.at(place.member).shard_count);
      RC_ASSERT(place.blocks.begin == next && !place.blocks.empty());
      next = place.blocks.end;
    }
    RC_ASSERT(next == block_count(options_.parameter_count));
  }

  /// Whoever is to have a part has said so before this term, and is here still.
  void check_cut(const cluster_view& view) {
    ++cuts_taken_;
    RC_ASSERT(view.start_version > checkpoint_ && view.start_version < cuts_.end &&
              question_ == view.id.term);
    span_set held;
    size_t sum = 0;
    for (const auto& one : view.holders) {
      RC_ASSERT(held.add(one.blocks));
      sum += one.blocks.size();
      RC_ASSERT(
        std::ranges::any_of(said_[view.members.at(one.member).name], [&](const held_copy& x) {
          return x.version == view.start_version &&
                 std::ranges::any_of(x.blocks,
                                     [&](const index_range& y) { return y.contains(one.blocks); });
        }));
    }
    RC_ASSERT(sum == block_count(options_.parameter_count) && held.contains({0, sum}));
  }

  void check_same_term(const cluster_view& view) const {
    RC_ASSERT(view.id.number == last_->id.number + 1);
    RC_ASSERT(view.start_version == last_->start_version);
    RC_ASSERT(view.copy_every == last_->copy_every && view.deputies == last_->deputies);
    RC_ASSERT((view.holders.empty() || view.holders.size() == last_->holders.size()));
    for (size_t k = 0; k < view.holders.size(); ++k) {
      const auto& now = view.members[view.holders[k].member];
      const auto& before = last_->members[last_->holders[k].member];
      RC_ASSERT(now.name == before.name && now.incarnation == before.incarnation);
    }
    RC_ASSERT(view.shards.size() == last_->shards.size());
    for (size_t k = 0; k < view.shards.size(); ++k) {
      const auto& before = last_->shards[k];
      RC_ASSERT(view.shards[k].blocks == before.blocks && view.shards[k].index == before.index);
      RC_ASSERT(view.members[view.shards[k].member] == last_->members[before.member]);
    }
  }

  std::vector<expected_member> those_; ///< all processes that there are, listed or not
  membership_options options_;
  moment now_ = test::at(0);
  std::optional<membership_rule> rule_;
  std::vector<uint64_t> lives_;
  std::set<std::pair<std::string, uint64_t>> lost_;
  uint64_t asked_ = 0;
  uint64_t persisted_ = 0;
  uint64_t checkpoint_ = 0;
  index_range cuts_{};
  std::vector<std::string> asked_names_;
  uint64_t question_ = 0; ///< the term before which copies were asked for last
  std::map<std::string, std::vector<held_copy>> said_; ///< since then
  size_t cuts_taken_ = 0;
  std::optional<cluster_view> last_;
  std::set<std::string> newcomers_;
  std::set<std::string> unsure_; ///< of these
  std::map<std::string, moment> joined_at_;
  bool goes_by_speed_ = false;
  bool is_cut_wanted_ = false;
  std::optional<uint64_t> stand_;
  std::set<std::string> leavers_; ///< those who asked at some time
  size_t stands_ = 0;
  size_t leaves_ = 0;
  size_t joiners_ = 0; ///< views with more members than are listed
  size_t views_ = 0;
  size_t terms_ = 0;
  bool ended_ = false;
};

TEST(membership_walk, views_keep_their_promises_whatever_happens) {
  size_t views = 0;
  size_t terms = 0;
  size_t cuts = 0;
  size_t ends = 0;
  size_t stands = 0;
  size_t leaves = 0;
  size_t joiners = 0;
  const auto events = rc::gen::container<std::vector<membership_walk::event>>(
    rc::gen::map(rc::gen::arbitrary<std::array<uint8_t, 3>>(), [](const auto& numbers) {
      return membership_walk::event{numbers[0], numbers[1], numbers[2]};
    }));
  for (int hundreds = 0; hundreds < 50; ++hundreds)
    ASSERT_TRUE(rc::check([&](uint64_t seed) {
      membership_walk walk{seed + 1'000'003 *
                                    static_cast<uint64_t>(hundreds)}; // checks repeat their events
      for (const auto& event : *rc::gen::resize(200, events))
        walk.on(event);
      views += walk.views();
      terms += walk.terms();
      cuts += walk.cuts();
      stands += walk.stands();
      leaves += walk.leaves();
      joiners += walk.joiners();
      ends += walk.stopped() ? 1 : 0;
    }));
  EXPECT_GT(terms, 20u) << "the walks went where it matters";
  EXPECT_GT(cuts, 20u);
  EXPECT_GT(stands, 20u);
  EXPECT_GT(leaves, 20u);
  EXPECT_GT(joiners, 20u);
  EXPECT_GT(views, terms);
  EXPECT_GT(ends, 0u);
}

} // namespace
} // namespace troupe::membership_walk_test
