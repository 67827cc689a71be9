#include "coordinators/membership/membership_rule.hpp"

#include "models/base/listed.hpp"

#include <tuple>

namespace troupe {

namespace {

bool is_filled(const std::map<size_t, size_t>& stand_ins, size_t order) {
  return std::ranges::any_of(stand_ins, [&](const auto& entry) { return entry.second == order; });
}

template <class Links>
size_t broken_links_of(const Links& links, const std::string& name) {
  std::set<std::string> peers;
  for (const auto& [broken, times] : links) {
    if (broken.first == name)
      peers.insert(broken.second);
    if (broken.second == name)
      peers.insert(broken.first);
  }
  return peers.size();
}

} // namespace

uint64_t term_floor(uint64_t on_disk, std::chrono::nanoseconds since_epoch) {
  const auto time = std::chrono::duration_cast<milliseconds>(since_epoch).count();
  return std::max(on_disk, static_cast<uint64_t>(std::max<int64_t>(time, 0)));
}

membership_rule::membership_rule(membership_options options, moment now)
  : options_(std::move(options)),
    now_(now),
    members_(options_.expected.size()),
    outside_(options_.links_first, std::min(options_.lost_after, options_.join_timeout / 2),
             readmission{2 * options_.lost_after, options_.join_timeout}),
    joined_at_(now),
    terms_{options_.persisted_term, options_.persisted_term, options_.persisted_term},
    restart_{options_.checkpoint_version, {}, {}},
    lacking_since_(now) {}

// ---- events ----

membership_decisions membership_rule::on_joined(const member& who, moment now) {
  now_ = std::max(now_, now);
  const auto order = order_of(who.name);
  if (!order)
    return {turn_away{who.name, who.incarnation, who.name + " is not in the cluster file"}};
  const auto lives = lost_lives_.find(who.name);
  if (lives != lost_lives_.end() && lives->second.contains(who.incarnation))
    return settle({turn_away{who.name, who.incarnation,
                             who.name + " was given up as lost under this incarnation: it may "
                                        "join anew under another one"}});
  const auto& place = members_[*order];
  if (place && place->incarnation == who.incarnation)
    return settle();
  if (place)
    remove(*order, who.name + " was started again");
  outside_.add(who, now_);
  joined_at_ = now_;
  return settle();
}

void membership_rule::admit_waiting(membership_decisions& out) {
  const auto names = [this] {
    std::vector<std::string> result;
    for (const auto& who : members_)
      if (who)
        result.push_back(who->name);
    return result;
  };
  const auto is_needed = [this] { return phase_ != phase::running || !lacking().empty(); };
  while (const auto who = outside_.admit(names(), is_needed(), now_)) {
    members_[*order_of(who->name)] = *who;
    note(who->name + " joined");
    follow_first(who->name);
    if (phase_ == phase::running)
      restart_.spread_at = now_ + options_.spread_after;
  }
  for (const auto& one : outside_.newly_unlinked(names(), now_))
    out.push_back(stays_out{one.name, "no link with " + listed(one.missing)});
}

void membership_rule::follow_first(const std::string& name) {
  const auto here = present();
  const bool computes = std::ranges::any_of(
    here, [&](const member& who) { return who.name == name && who.replica_count > 0; });
  if (computes && options_.links_first && phase_ == phase::running && options_.decider.empty() &&
      !options_.split.splits())
    newcomers_[name] = {now_};
}

membership_decisions membership_rule::on_lost(const std::string& name, uint64_t incarnation,
                                              moment now) {
  now_ = std::max(now_, now);
  const auto order = order_of(name);
  if (!order)
    return {};
  // The loss may arrive before the join.
  lost_lives_[name].insert(incarnation);
  outside_.on_lost(name, incarnation);
  const auto& place = members_[*order];
  if (place && place->incarnation == incarnation)
    remove(*order, name + " was lost");
  return settle();
}

membership_decisions membership_rule::on_unreachable(const std::string& reporter,
                                                     const std::string& peer, moment now) {
  now_ = std::max(now_, now);
  if (reporter != peer && is_present(reporter) && is_present(peer))
    broken_.try_emplace({reporter, peer}, broken_link{now_, now_}).first->second.last = now_;
  return settle();
}

membership_decisions membership_rule::on_reachable(const std::string& reporter,
                                                   const std::string& peer, moment now) {
  now_ = std::max(now_, now);
  broken_.erase({reporter, peer});
  return settle();
}

membership_decisions membership_rule::on_hung(const std::string& name, const std::string& why,
                                              moment now) {
  now_ = std::max(now_, now);
  membership_decisions out;
  if (is_present(name) && name != options_.home) {
    outside_.on_hung(name);
    take_out(name, name + " was taken out: " + why, out);
  }
  return settle(std::move(out));
}

membership_decisions membership_rule::on_fitness(const std::string& name, const fitness& news,
                                                 moment now) {
  now_ = std::max(now_, now);
  outside_.on_fitness(name, news);
  if (const auto found = newcomers_.find(name); found != newcomers_.end() && news.has_version)
    found->second.has_version = true;
  if (is_present(name)) {
    restart_.question.on_answer(name, news.copies);
    if (phase_ == phase::running && news.has_version) // so all owners have what the term began with
      view_->holders.clear();
    if (name != options_.home)
      leaving_.on_word(name, news.leaves, now_);
  }
  return settle();
}

membership_decisions membership_rule::on_standstill(const std::string& why, moment now) {
  now_ = std::max(now_, now);
  restart_.stand.reset();
  if (phase_ == phase::running) {
    note(why);
    phase_ = phase::restarting;
  }
  return settle();
}

membership_decisions membership_rule::on_cut(uint64_t version) {
  if (phase_ == phase::running || restart_.stand) {
    restart_.stand = version;
    note(std::exchange(restart_.stand_why, {}));
    phase_ = phase::restarting;
  }
  return settle();
}

membership_decisions membership_rule::on_speeds(const speed_wish& wish, const std::string& why) {
  speeds_ = wish.speeds;
  if (phase_ == phase::running) {
    wish_ = wish;
    note(why);
  }
  return settle();
}

void membership_rule::on_restarts(uint64_t checkpoint, const index_range& cuts) {
  restart_.checkpoint = std::max(restart_.checkpoint, checkpoint);
  restart_.cuts = cuts;
}

membership_decisions membership_rule::on_term_seen(uint64_t term) {
  membership_decisions out;
  // A term above the highest that this director has published came from another director.
  if (phase_ != phase::stopped && term > terms_.known)
    stop(stand_down{"another director has begun term " + std::to_string(term) +
                    ", this one knows of none above " + std::to_string(terms_.known) +
                    ": it has been replaced"},
         out);
  return out;
}

membership_decisions membership_rule::on_term_persisted(uint64_t term) {
  if (term == terms_.asked)
    terms_.persisted = term;
  return settle();
}

membership_decisions membership_rule::on_tick(moment now) {
  now_ = std::max(now_, now);
  return settle();
}

// ---- Members ----

std::optional<size_t> membership_rule::order_of(const std::string& name) const {
  const auto found = std::ranges::find(options_.expected, name, &expected_member::name);
  if (found == options_.expected.end())
    return std::nullopt;
  return static_cast<size_t>(found - options_.expected.begin());
}

bool membership_rule::is_present(const std::string& name) const {
  const auto order = order_of(name);
  return order && members_[*order];
}

std::vector<member> membership_rule::present() const {
  std::vector<member> result;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i])
      continue;
    auto& who = result.emplace_back(*members_[i]);
    if (const auto found = stands_in_.find(i); found != stands_in_.end()) {
      who.replica_count = options_.expected[found->second].replica_count;
      who.shard_count = options_.expected[found->second].shard_count;
    }
    if (leaving_.is_out(who.name))
      who.replica_count = who.shard_count = 0;
  }
  return result;
}

void membership_rule::fill_gaps() {
  std::erase_if(stands_in_, [this](const auto& entry) {
    const auto& name = options_.expected[entry.first].name;
    const bool keeps_spans = phase_ == phase::running && is_costly(name);
    return !members_[entry.first] || leaving_.is_out(name) ||
           (members_[entry.second] && !keeps_spans);
  });
  const auto& expected = options_.expected;
  const auto can_stand_in = [&](size_t spare, size_t missing) {
    return expected[spare].is_spare() && members_[spare] && !stands_in_.contains(spare) &&
           !leaving_.is_out(expected[spare].name) &&
           options_.holders.of(expected[spare].name) == options_.holders.of(expected[missing].name);
  };
  for (size_t i = 0; i < members_.size(); ++i) {
    if (options_.expected[i].is_spare() || members_[i] || is_filled(stands_in_, i))
      continue;
    size_t spare = 0;
    while (spare < members_.size() && !can_stand_in(spare, i))
      ++spare;
    if (spare == members_.size())
      continue;
    stands_in_[spare] = i;
    follow_first(options_.expected[spare].name);
    restart_.spread_at = now_ + options_.spread_after;
    note(options_.expected[spare].name + " stands in for " + options_.expected[i].name);
  }
}

std::vector<std::string> membership_rule::missing_names() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < members_.size(); ++i) {
    const auto& expected = options_.expected[i];
    if (!members_[i] && !expected.is_spare() && !is_filled(stands_in_, i))
      result.push_back(expected.name);
  }
  return result;
}

size_t membership_rule::expected_count() const {
  return static_cast<size_t>(std::ranges::count_if(
    options_.expected, [](const expected_member& one) { return !one.is_spare(); }));
}

bool membership_rule::is_too_few() const {
  const auto here = expected_count() - missing_names().size();
  return here < std::min(options_.min_nodes.value_or(expected_count()), expected_count());
}

bool membership_rule::lacks_shard() const {
  if (phase_ == phase::running)
    return false;
  return (!options_.decider.empty() && !is_present(options_.decider)) ||
         std::ranges::all_of(present(), [](const member& who) { return who.shard_count == 0; });
}

std::string membership_rule::lacking() const {
  const auto who = present();
  if (can_place(options_.split, options_.holders, who) && replicas_of(who) > 0)
    return lacks_shard() ? "a shard" : "";
  if (!options_.holders.empty())
    return rows_need(options_.holders, who) + (lacks_shard() ? " or a shard" : "");
  const auto replicas = options_.split.shape.group_size() > 1 ? "a group of replicas" : "a replica";
  return lacks_shard() ? replicas + std::string{" or a shard"} : replicas;
}

// ---- Losses ----

void membership_rule::remove(size_t order, const std::string& why) {
  auto& place = members_[order];
  const auto& name = place->name;
  lost_lives_[name].insert(place->incarnation);
  newcomers_.erase(name);
  leaving_.on_lost(name);
  restart_.question.on_lost(name);
  restart_.stand.reset();
  std::erase_if(speeds_, [&](const auto& entry) { return entry.first.first == name; });
  std::erase_if(broken_, [&](const auto& entry) {
    return entry.first.first == name || entry.first.second == name;
  });
  const bool rolls_back = phase_ == phase::running && is_costly(name);
  note(rolls_back ? why + " with its spans" : why);
  if (rolls_back)
    phase_ = phase::restarting;
  place.reset();
}

/// True when its loss costs spans; while no term runs, when it has shards to take some.
bool membership_rule::is_costly(const std::string& name) const {
  if (phase_ != phase::running)
    return std::ranges::any_of(
      present(), [&](const member& who) { return who.name == name && who.shard_count > 0; });
  const auto index = view_->find(name);
  return index && (view_->holds_spans(*index) ||
                   std::ranges::count(view_->holders, *index, &span_holder::member) > 0);
}

const std::string& membership_rule::to_evict(const link& broken) const {
  const auto& [a, b] = broken;
  const auto rank = [&](const std::string& name) {
    return std::tuple{name != options_.home, !is_costly(name), broken_links_of(broken_, name),
                      *order_of(name)};
  };
  return rank(a) > rank(b) ? a : b;
}

void membership_rule::note(const std::string& what) {
  why_ += (why_.empty() || what.empty() ? "" : "; ") + what;
}

} // namespace troupe
