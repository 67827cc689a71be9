#include "coordinators/membership/membership_rule.hpp"

#include "models/base/listed.hpp"

#include <tuple>

namespace troupe {

namespace {

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
    outside_(options_.links_first, std::min(options_.lost_after, options_.join_timeout / 2),
             readmission{2 * options_.lost_after, options_.join_timeout}),
    joined_at_(now),
    terms_{options_.persisted_term, options_.persisted_term, options_.persisted_term},
    restart_{options_.checkpoint_version, {}, {}},
    lacking_since_(now) {
  for (const auto& one : options_.expected)
    seats_.push_back({one.name, {}});
}

// ---- events ----

membership_decisions membership_rule::on_joined(const member& who, moment now) {
  now_ = std::max(now_, now);
  if (!order_of(who.name) && !options_.lets_join)
    return {turn_away{who.name, who.incarnation, who.name + " is not in the cluster file"}};
  const auto lives = lost_lives_.find(who.name);
  if (lives != lost_lives_.end() && lives->second.contains(who.incarnation))
    return settle({turn_away{who.name, who.incarnation,
                             who.name + " was given up as lost under this incarnation: it may "
                                        "join anew under another one"}});
  const auto* before = find(who.name);
  if (before && before->incarnation == who.incarnation)
    return settle();
  if (before)
    remove(who.name, who.name + " was started again");
  outside_.add(who, now_);
  joined_at_ = now_;
  return settle();
}

void membership_rule::admit_waiting(membership_decisions& out) {
  const auto names = [this] {
    std::vector<std::string> result;
    for (const auto& [name, who] : seats_)
      if (who)
        result.push_back(name);
    return result;
  };
  const auto is_needed = [this] { return phase_ != phase::running || !lacking().empty(); };
  while (const auto who = outside_.admit(names(), is_needed(), now_)) {
    if (!order_of(who->name))
      seats_.push_back({who->name, {}});
    seats_[*order_of(who->name)].who = *who;
    note(who->name + " joined");
    if (phase_ != phase::running)
      continue;
    restart_.spread_at = now_ + options_.spread_after;
    if (who->replica_count > 0 && options_.links_first && options_.decider.empty() &&
        !options_.split.splits())
      newcomers_[who->name] = {now_}; // it gets slices once it has a version
  }
  for (const auto& one : outside_.newly_unlinked(names(), now_))
    out.push_back(stays_out{one.name, "no link with " + listed(one.missing)});
}

membership_decisions membership_rule::on_lost(const std::string& name, uint64_t incarnation,
                                              moment now) {
  now_ = std::max(now_, now);
  if (!order_of(name) && !options_.lets_join)
    return {};
  // The loss may arrive before the join.
  lost_lives_[name].insert(incarnation);
  outside_.on_lost(name, incarnation);
  if (const auto* who = find(name); who && who->incarnation == incarnation)
    remove(name, name + " was lost");
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
  const auto found = std::ranges::find(seats_, name, &seat::name);
  return found == seats_.end() ? std::nullopt
                               : std::optional{static_cast<size_t>(found - seats_.begin())};
}

const member* membership_rule::find(const std::string& name) const {
  const auto order = order_of(name);
  return order && seats_[*order].who ? &*seats_[*order].who : nullptr;
}

std::vector<member> membership_rule::present() const {
  std::vector<member> result;
  for (const auto& [name, who] : seats_)
    if (who) {
      result.push_back(*who);
      if (leaving_.is_out(name))
        result.back().replica_count = result.back().shard_count = 0;
    }
  return result;
}

std::vector<std::string> membership_rule::missing_names() const {
  std::vector<std::string> result;
  for (const auto& one : options_.expected)
    if (one.works() && !is_present(one.name))
      result.push_back(one.name);
  return result;
}

bool membership_rule::is_too_few() const {
  return options_.min_nodes ? working_count() < needed_count() : !missing_names().empty();
}

size_t membership_rule::working_count() const {
  const auto here = present();
  return static_cast<size_t>(std::ranges::count_if(here, &member::works));
}

size_t membership_rule::needed_count() const {
  return options_.min_nodes.value_or(
    static_cast<size_t>(std::ranges::count_if(options_.expected, &expected_member::works)));
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

void membership_rule::remove(const std::string& name, const std::string& why) {
  const auto order = *order_of(name);
  lost_lives_[name].insert(seats_[order].who->incarnation);
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
  seats_[order].who.reset();
  if (order >= options_.expected.size())
    seats_.erase(seats_.begin() + static_cast<std::ptrdiff_t>(order));
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
