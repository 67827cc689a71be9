#include "coordinators/clients/round_server.hpp"

#include "coordinators/links/admission.hpp"
#include "models/network/parameter_layout.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

// Exit codes of a client that is refused (data/text/failure.hpp).
constexpr int mismatch = 76;
constexpr int no_permission = 77;

/// How long a client waits that comes when all places are taken.
constexpr milliseconds full_pause{30'000};

/// Bytes of a name: those of a certificate's.
constexpr size_t name_bytes_max = 63;

bool is_name(const std::string& x) {
  return !x.empty() && x.size() <= name_bytes_max &&
         std::ranges::all_of(x, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

/// Of clients that were lost in a round so many are named.
constexpr size_t named_lost_max = 10;

} // namespace

round_server::round_server(const round_server_options& options)
  : options_(options), round_(options.rounds), term_(options.first_term) {}

round_server::connection* round_server::find(uint64_t ticket) {
  const auto found = connections_.find(ticket);
  return found == connections_.end() ? nullptr : &found->second;
}

const std::string& round_server::name_of_ticket(uint64_t ticket) const {
  return connections_.at(ticket).name;
}

// ---- Connections ----

void round_server::on_connected(uint64_t ticket, moment now) {
  auto& x = connections_[ticket];
  x.connected = x.heard = x.pinged = now;
}

void round_server::refuse(uint64_t ticket, int code, std::string why) {
  actions_.push_back(
    {.what = client_act::over, .ticket = ticket, .code = code, .text = std::move(why)});
  on_gone(ticket);
}

void round_server::drop(uint64_t ticket, std::string why) {
  actions_.push_back({.what = client_act::close, .ticket = ticket, .text = std::move(why)});
  on_gone(ticket);
}

void round_server::on_report(uint64_t ticket, const client_report& news,
                             const std::vector<std::string>* proven, moment now) {
  auto* x = find(ticket);
  if (!x || !x->name.empty())
    return;
  const auto& name = news.name;
  if (end_)
    return refuse(ticket, end_->first, end_->second);
  if (news.protocol != client_protocol_number)
    return refuse(ticket, mismatch,
                  "the server speaks version " + std::to_string(client_protocol_number) +
                    " of the clients' protocol, and the client version " +
                    std::to_string(news.protocol));
  if (!is_name(name))
    return refuse(ticket, no_permission, "a client needs a name of at most 63 letters");
  if (proven && !std::ranges::count(*proven, name))
    return refuse(ticket, no_permission,
                  "the certificate does not prove the name " + shown_fact(name));
  if (!is_like(name, options_.admit))
    return refuse(ticket, no_permission,
                  "the server admits clients called " + options_.admit + ", not " +
                    shown_fact(name));
  if (denied_.contains(name))
    return refuse(ticket, no_permission,
                  "the server has " + shown_fact(name) +
                    " on its list of "
                    "clients that it refuses");
  const auto older = by_name_.find(name);
  if (older != by_name_.end())
    drop(older->second, "a newer connection of " + name);
  if (by_name_.size() >= options_.clients_max) {
    actions_.push_back({.what = client_act::wait,
                        .ticket = ticket,
                        .left = full_pause,
                        .text = "as many clients are here as may be"});
    return on_gone(ticket);
  }
  x = find(ticket);
  x->name = name;
  x->key = news.key;
  x->heard = now;
  by_name_[name] = ticket;
  actions_.push_back({.what = client_act::plan, .ticket = ticket});
}

void round_server::on_here(uint64_t ticket, moment now) {
  auto* x = find(ticket);
  if (!x || x->name.empty() || std::exchange(x->is_here, true))
    return;
  here_[x->name] = x->key;
  round_.set_here(x->name, true);
  if (const auto group = round_.group_of(x->name)) // it was lost, and is back
    actions_.push_back({.what = client_act::order,
                        .ticket = ticket,
                        .order = last_,
                        .group = *group,
                        .left = std::chrono::ceil<milliseconds>(round_.deadline() - now)});
  invite(now);
}

void round_server::on_heard(uint64_t ticket, moment now) {
  if (auto* x = find(ticket))
    x->heard = now;
}

receipt_kind round_server::refusal_of(const order_name& order) const {
  if (order != last_)
    return receipt_kind::stale;
  return was_full_ || round_.is_open() ? receipt_kind::surplus : receipt_kind::late;
}

void round_server::send_receipt(uint64_t ticket, const order_name& order, receipt_kind what) {
  actions_.push_back(
    {.what = client_act::receipt, .ticket = ticket, .order = order, .receipt = what});
}

void round_server::on_ready(uint64_t ticket, const order_name& order, moment now) {
  auto* x = find(ticket);
  if (!x || !x->is_here || x->place_since || std::ranges::count(waiting_, ticket))
    return;
  if (order != last_ || !round_.group_of(x->name))
    return send_receipt(ticket, order, refusal_of(order));
  waiting_.push_back(ticket);
  give_places(now);
}

void round_server::give_places(moment now) {
  if (waiting_.empty())
    return;
  auto taken = static_cast<size_t>(std::ranges::count_if(
    connections_, [](const auto& x) { return x.second.place_since.has_value(); }));
  for (; taken < options_.places && !waiting_.empty(); ++taken) {
    const auto ticket = waiting_.front();
    waiting_.pop_front();
    find(ticket)->place_since = now;
    actions_.push_back({.what = client_act::send, .ticket = ticket, .order = last_});
  }
}

std::optional<uint64_t> round_server::on_update(uint64_t ticket, const order_name& order,
                                                moment now) {
  auto* x = find(ticket);
  if (!x)
    return std::nullopt;
  x->heard = now;
  const bool has_place = std::exchange(x->place_since, std::nullopt).has_value();
  const auto group = has_place && order == last_ ? round_.group_of(x->name) : std::nullopt;
  if (!group) {
    send_receipt(ticket, order, refusal_of(order));
    give_places(now);
  }
  return group;
}

void round_server::settle(uint64_t ticket, receipt_kind what, moment now) {
  send_receipt(ticket, last_, what);
  round_.on_update(connections_.at(ticket).name, what == receipt_kind::counted);
  give_places(now);
  invite(now);
}

void round_server::on_gone(uint64_t ticket) {
  const auto gone = connections_.extract(ticket);
  if (gone.empty())
    return;
  std::erase(waiting_, ticket);
  const auto& name = gone.mapped().name;
  if (by_name_.erase(name) == 0)
    return;
  here_.erase(name);
  round_.set_here(name, false);
}

// ---- Rounds ----

void round_server::open(uint64_t round, moment now, client_coin coin) {
  last_ = {round, ++term_};
  waiting_.clear();
  round_.open(round, now, std::move(coin));
  invite(now);
}

void round_server::invite(moment now) {
  for (const auto& one : round_.invite(here_, now))
    actions_.push_back({.what = client_act::order,
                        .ticket = by_name_.at(one.name),
                        .order = last_,
                        .group = one.group,
                        .left = std::chrono::ceil<milliseconds>(round_.deadline() - now)});
}

bool round_server::is_over(moment now) {
  if (!round_.has_begun()) // the time to wait for clients may be over
    invite(now);
  return round_.is_over(now);
}

client_presence round_server::presence() const {
  client_presence result;
  result.here = here_.size();
  result.wanted = round_.wanted();
  result.gathers = round_.is_open() && !round_.has_begun();
  if (round_.is_open() && !result.gathers) {
    result.invited = round_.invited();
    result.answered = result.invited - round_.missing();
  }
  return result;
}

round_absences round_server::close(moment now) {
  was_full_ = round_.has_begun() && now < round_.deadline();
  round_absences result;
  result.invited = round_.invited();
  result.has_no_draw = round_.has_no_draw();
  result.is_in_vain = round_.has_waited_in_vain(now);
  result.dropped = round_.missing() - round_.awaited();
  result.lost = round_.lost(named_lost_max);
  (was_full_ ? result.surplus : result.late) = round_.awaited();
  round_.close(); // an update that still comes keeps its place, and gets a receipt
  for (const auto ticket : std::exchange(waiting_, {}))
    send_receipt(ticket, last_, refusal_of(last_));
  return result;
}

void round_server::set_denied(std::set<std::string> names) {
  denied_ = std::move(names);
  std::vector<uint64_t> gone;
  for (const auto& [name, ticket] : by_name_)
    if (denied_.contains(name))
      gone.push_back(ticket);
  for (const auto ticket : gone)
    refuse(ticket, no_permission, "the server has put this client on its list of those it refuses");
}

void round_server::end(int code, const std::string& why) {
  end_ = {code, why};
  std::vector<uint64_t> all;
  for (const auto& [ticket, x] : connections_)
    all.push_back(ticket);
  for (const auto ticket : all)
    refuse(ticket, code, why);
}

void round_server::tick(moment now) {
  std::vector<std::pair<uint64_t, const char*>> gone;
  for (auto& [ticket, x] : connections_) {
    if (x.name.empty() && now - x.connected >= options_.report_time)
      gone.emplace_back(ticket, "it does not say who it is");
    else if (x.place_since && now - *x.place_since >= options_.place_time)
      gone.emplace_back(ticket, "its update takes too long");
    else if (now - x.heard >= options_.silence_max)
      gone.emplace_back(ticket, "nothing is heard of it");
    else if (!x.name.empty() && now - std::max(x.pinged, x.heard) >= options_.ping_every) {
      x.pinged = now;
      actions_.push_back({.what = client_act::ping, .ticket = ticket});
    }
  }
  for (const auto& [ticket, why] : gone)
    drop(ticket, why);
  give_places(now);
  invite(now);
}

std::vector<client_action> round_server::take_actions() {
  return std::exchange(actions_, {});
}

} // namespace troupe
