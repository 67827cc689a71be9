// Rounds by seed: a server whose clients come, go, lie, repeat themselves and lose messages, and which is itself lost and
// comes back from its last round, or the one before. Each sum is compared with that of the honest updates that count.

#pragma once

#include "actors/net/clients/round_sums.hpp"
#include "coordinators/clients/round_server.hpp"
#include "data/text/checksum.hpp"
#include "models/base/rounding.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

inline constexpr size_t model_size_of_walk = 3;

enum class client_lie : uint8_t { none, altered, beyond, not_finite, eager, doubled };

struct walking_client {
  std::string name;
  uint64_t key = 0;
  client_lie what = client_lie::none;
  uint64_t ticket = 0; ///< 0: not connected
  bool has_plan = false;
  std::optional<client_update> computed;
  order_name order;
};

/// On its way to the server; to a client it is an action.
struct told_by_client {
  enum class kind : uint8_t { report, here, ready, update } what = kind::report;
  order_name order;
  std::optional<client_update> update;
};

struct walked_connection {
  size_t client = 0;
  std::deque<told_by_client> up;
  std::deque<client_action> down;
  bool is_cut = false;    ///< the client is gone; the server hears of it later
  bool has_place = false; ///< values may come
};

class client_walk {
public:
  explicit client_walk(uint64_t seed) : random_(seed) {
    options_.cohort.cohort_size = 1 + below(4);
    options_.cohort.group_count = below(3);
    options_.cohort.over_selection = below(2) * 0.5;
    options_.update_range = 10;
    options_.min_count = 1 + below(options_.cohort.cohort_size);
    const auto clients = options_.cohort.invited_max() + below(4);
    for (size_t i = 0; i < clients; ++i) {
      auto& x = clients_.emplace_back();
      x.name = "c" + std::to_string(i);
      x.key = i * 0x9e3779b97f4a7c15;
      x.what = below(4) == 0 ? static_cast<client_lie>(below(6)) : client_lie::none;
    }
    model_ = model_of({0, 0, 0});
    start_server();
  }

  /// The first problem; empty: none.
  std::string run() {
    constexpr uint64_t round_count = 6;
    const default_rounding rounding;
    for (uint64_t step = 0; round_ < round_count && problem_.empty(); ++step) {
      expect(step < 200'000u, "the walk does not end");
      expect(now_ - opened_ <= 2 * round_time_ + std::chrono::seconds{2}, "a round does not end");
      step_once(step < 4'000); // then nobody is lost any more
    }
    return problem_;
  }

private:
  void expect(bool holds, const std::string& words) {
    if (!holds && problem_.empty())
      problem_ = "round " + std::to_string(round_) + ": " + words;
  }

  uint64_t below(uint64_t limit) { return random_() % limit; }

  static const_buffer model_of(std::array<float, model_size_of_walk> values) {
    const buffer result{model_size_of_walk};
    std::ranges::copy(values, result.values().begin());
    return result;
  }

  /// What an honest client makes of a round's model.
  client_update honest(const walking_client& x, uint64_t round, const const_buffer& start) const {
    const buffer values{model_size_of_walk};
    for (size_t i = 0; i < model_size_of_walk; ++i)
      values.values()[i] =
        start.values()[i] * 0.5f + static_cast<float>((x.key >> (7 * i + round)) % 100) * 0.01f;
    client_update result{x.name, 0, 1 + x.key % 9, 0.25, 1, {}, values};
    result.announced = sha256_hex(std::as_bytes(result.values.values()));
    return result;
  }

  client_update made_by(const walking_client& x, uint64_t round, const const_buffer& start) const {
    auto result = honest(x, round, start);
    if (x.what == client_lie::altered)
      result.announced[3] = result.announced[3] == '0' ? '1' : '0';
    if (x.what == client_lie::beyond || x.what == client_lie::not_finite) {
      const buffer values{model_size_of_walk};
      std::ranges::copy(result.values.values(), values.values().begin());
      values.values()[1] =
        x.what == client_lie::beyond ? 1e6f : std::numeric_limits<float>::quiet_NaN();
      result.values = values;
      result.announced = sha256_hex(std::as_bytes(values.values()));
    }
    return result;
  }

  void start_server() {
    round_server_options wanted;
    const auto& cohort = options_.cohort;
    wanted.rounds = {
      7,          cohort.cohort_size, cohort.invited_max(), options_.min_count, cohort.group_count,
      round_time_};
    wanted.places = 1 + below(3);
    wanted.first_term = random_() >> 1;
    server_.emplace(wanted);
    sums_.emplace(options_, options_.bounds(clients_.size()));
    for (auto& [ticket, x] : connections_)
      clients_[x.client].ticket = 0;
    connections_.clear();
    open_round();
  }

  void open_round() {
    sums_->begin(model_);
    server_->open(round_, now_);
    opened_ = now_;
    receipts_.clear(); // of a server that was lost in the round
    carry_out();
  }

  void carry_out() {
    for (auto& x : server_->take_actions()) {
      const auto found = connections_.find(x.ticket);
      if (found == connections_.end())
        continue;
      if (x.what == client_act::send)
        found->second.has_place = true;
      if (x.what == client_act::receipt && x.receipt == receipt_kind::counted)
        receipts_.insert(clients_[found->second.client].name);
      if (x.what == client_act::close)
        lose(x.ticket);
      else
        found->second.down.push_back(std::move(x));
    }
  }

  void lose(uint64_t ticket) {
    const auto gone = connections_.extract(ticket);
    if (gone.empty())
      return;
    auto& client = clients_[gone.mapped().client];
    if (client.ticket == ticket)
      client.ticket = 0;
    server_->on_gone(ticket);
    carry_out();
  }

  void step_once(bool with_faults) {
    now_ += milliseconds{below(60)};
    if (with_faults && below(300) == 0) {
      if (round_ > 0 && below(2) == 0)
        model_ = models_.at(--round_); // the last checkpoint was lost with it
      start_server();
      return;
    }
    auto& client = clients_[below(clients_.size())];
    if (client.ticket == 0) {
      if (below(3) == 0)
        dial(client);
    } else if (with_faults && below(40) == 0) {
      connections_.at(client.ticket).is_cut = true;
      client.ticket = 0;
      if (below(2) == 0)
        client.computed.reset(); // killed, not only cut off
    } else {
      hear(client);
    }
    if (!connections_.empty()) {
      auto one = connections_.begin();
      std::advance(one, below(connections_.size()));
      arrive(one->first);
    }
    if (below(4) == 0)
      server_->tick(now_);
    carry_out();
    close_if_over();
  }

  void dial(walking_client& x) {
    const auto ticket = ++last_ticket_;
    x.ticket = ticket;
    connections_[ticket].client = static_cast<size_t>(&x - clients_.data());
    server_->on_connected(ticket, now_);
    say(x, {told_by_client::kind::report, {}, {}});
  }

  void say(walking_client& x, told_by_client what) {
    connections_.at(x.ticket).up.push_back(what);
    if (x.what == client_lie::doubled && what.what != told_by_client::kind::report)
      connections_.at(x.ticket).up.push_back(std::move(what));
  }

  void hear(walking_client& x) {
    auto& line = connections_.at(x.ticket);
    if (line.down.empty())
      return;
    const auto news = line.down.front();
    line.down.pop_front();
    switch (news.what) {
    case client_act::plan:
      return say(x, {told_by_client::kind::here, {}, {}});
    case client_act::order:
      if (!x.computed || x.order != news.order)
        x.computed = made_by(x, news.order.round, models_.at(news.order.round));
      x.order = news.order;
      if (x.what == client_lie::eager)
        say(x, {told_by_client::kind::update, x.order, x.computed});
      return say(x, {told_by_client::kind::ready, x.order, x.computed});
    case client_act::send:
      if (x.computed && x.order == news.order)
        say(x, {told_by_client::kind::update, x.order, x.computed});
      return;
    case client_act::receipt:
      if (x.order == news.order)
        x.computed.reset();
      return;
    default:
      return;
    }
  }

  void arrive(uint64_t ticket) {
    auto& line = connections_.at(ticket);
    if (line.up.empty()) {
      if (line.is_cut)
        lose(ticket);
      return;
    }
    const auto news = line.up.front();
    line.up.pop_front();
    const auto& client = clients_[line.client];
    server_->on_heard(ticket, now_);
    switch (news.what) {
    case told_by_client::kind::report:
      server_->on_report(ticket, {client_protocol_number, client.name, client.key}, nullptr, now_);
      break;
    case told_by_client::kind::here:
      server_->on_here(ticket, now_);
      break;
    case told_by_client::kind::ready:
      announced_[ticket] = news.update ? news.update->announced : "";
      server_->on_ready(ticket, news.order, now_);
      break;
    case told_by_client::kind::update:
      if (!std::exchange(line.has_place, false))
        return lose(ticket); // frame_line.hpp refuses it
      take_update(ticket, news);
      break;
    }
    carry_out();
  }

  void take_update(uint64_t ticket, const told_by_client& news) {
    const auto group = server_->on_update(ticket, news.order, now_);
    if (!group)
      return;
    auto update = *news.update;
    update.group = *group;
    update.announced = announced_[ticket];
    server_->settle(ticket, sums_->add(update), now_);
  }

  void close_if_over() {
    if (!server_->is_over(now_))
      return;
    const auto others = server_->close(now_);
    check(sums_->take(others));
    carry_out();
    if (!problem_.empty())
      return;
    ++round_;
    models_[round_] = model_;
    open_round();
  }

  void check(const gathered_round& x) {
    std::set<std::string> counted;
    std::vector<ring_sum> expected;
    const auto bounds = options_.bounds(clients_.size());
    for (size_t i = 0; i < x.who->named.size(); ++i) {
      if (x.figures[i].verdict != update_verdict::counted)
        continue;
      const auto& one = x.who->named[i];
      expect(counted.insert(one.name).second, one.name + " counts twice");
      const auto& client = *std::ranges::find(clients_, one.name, &walking_client::name);
      const auto again = honest(client, round_, model_);
      expect(one.update == again.announced, "an update of another round or attempt counts");
      size_t group = 0;
      while (i >= x.who->group_ends[group])
        ++group;
      while (expected.size() <= group)
        expected.emplace_back(bounds, model_size_of_walk);
      expected[group].add(model_.values(), again.values.values(), options_.weight_of(one.rows),
                          measure_update(model_.values(), again.values.values()));
    }
    expect(counted.size() <= options_.cohort.cohort_size, "more updates count than the cohort has");
    expect(counted == receipts_, "others were told that their update counts than those whose does");
    for (size_t i = 0; i < x.groups.size(); ++i)
      expect(i < expected.size() ? x.groups[i] == expected[i] : x.groups[i].count() == 0,
             "a sum is not that of its updates");
    expect(x.groups.size() <= (options_.cohort.group_count > 0 ? options_.cohort.group_count
                                                               : options_.cohort.invited_max()),
           "there are more groups than the job has");
    expect(counted.size() + others_missing(x) <= clients_.size() + x.who->invited,
           "more are missing than were invited");
    if (!expected.empty() && expected[0].count() > 0) {
      const auto next = expected[0].mean_onto(model_.values());
      const buffer moved{model_size_of_walk};
      std::ranges::copy(next, moved.values().begin());
      model_ = moved;
    }
  }

  static size_t others_missing(const gathered_round& x) {
    return x.who->dropped + x.who->late + x.who->surplus;
  }

  std::mt19937_64 random_;
  federated_options options_;
  std::vector<walking_client> clients_;
  std::optional<round_server> server_;
  std::optional<round_sums> sums_;
  std::map<uint64_t, walked_connection> connections_;
  std::map<uint64_t, std::string> announced_;
  std::map<uint64_t, const_buffer> models_{{0, model_of({0, 0, 0})}};
  std::set<std::string> receipts_; ///< of the open round: whom it was told that their update counts
  const_buffer model_;
  uint64_t round_ = 0;
  uint64_t last_ticket_ = 0;
  milliseconds round_time_{20'000};
  moment now_ = moment{} + std::chrono::hours{1};
  moment opened_{};
  std::string problem_;
};

} // namespace troupe::test
