#include "actors/net/gate/gate_loop.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace troupe {

namespace {

/// How long a peer may take to read why it was refused.
constexpr milliseconds linger_time{1'000};

/// Maximum bytes read from one connection, its hello and the bytes after a refusal: many times a
/// hello. Doubled, strangers that spray bytes cost twice as much.
constexpr size_t heard_bytes_max = size_t{1} << 16;

/// Time from an error of accepting to the next attempt.
constexpr milliseconds accept_pause{100};

constexpr const char* no_process_of_ours = "it is no process of troupe";

/// The verdict on a dialled address where something else answers than the dialled process.
verdict not_believed(std::string reason) {
  return {verdict_kind::later, std::move(reason), refusal_code::unavailable};
}

/// What the peer says of itself, with the host that it comes from where its address has none.
process_facts facts_of_peer(const gate_connection& x) {
  auto result = *x.hello->peer();
  if (const auto& address = result.address; address.starts_with(':')) {
    const auto host = peer_host_of(x.line);
    result.address = (host.find(':') == std::string::npos ? host : '[' + host + ']') + address;
  }
  return result;
}

std::string seconds_text(milliseconds time) {
  return time.count() % 1000 == 0 ? std::to_string(time.count() / 1000) + " s"
                                  : std::to_string(time.count()) + " ms";
}

} // namespace

short gate_connection::events() {
  switch (at) {
  case stage::connecting:
    return POLLOUT;
  case stage::securing:
    return wants_to_write ? POLLOUT : POLLIN;
  case stage::talking:
    return static_cast<short>(hello->output().empty() ? POLLIN : POLLIN | POLLOUT);
  case stage::lingering:
    return POLLIN;
  }
  return 0;
}

// The last bytes may still be in transit: closing at once could destroy them.
void gate_connection::linger(moment now) {
  line.say_no_more();
  line.forget_session();
  at = stage::lingering;
  dialled.reset();
  was_announced = false;
  deadline = now + linger_time;
}

bool gate_connection::has_lingered() {
  std::string ignored;
  const bool is_over = line.read(ignored).is_over;
  heard_bytes += ignored.size();
  return is_over || heard_bytes > heard_bytes_max;
}

void gate_loop::greet(connection& x) const {
  auto facts = options_.facts;
  facts.incarnation = random_number();
  if (x.dialled) {
    const auto& target = dials_[*x.dialled].target;
    facts.carrier = dials_[*x.dialled].carrier;
    x.hello.emplace(facts, options_.plan, target.name);
  } else {
    x.hello.emplace(facts, options_.plan);
  }
  if (options_.over)
    x.hello->refuse_all(*options_.over);
  if (x.line.session() != nullptr)
    x.hello->on_proof(x.line.session()->peer_names());
  x.at = stage::talking;
}

// ---- the beginning ----

void gate_loop::accept_all(moment now) {
  int error = 0;
  while (error == 0 && accepts_.due(now) <= now) {
    auto socket = accept_from(listener_);
    if (!socket) {
      error = errno;
      continue;
    }
    accepts_.take(now);
    connection x{
      channel{std::move(socket)}, now + options_.hello_deadline, {}, stage::securing, {}};
    if (!identity_)
      greet(x);
    add(std::move(x));
  }
  // For example without a free file descriptor: the connection waits, and the loop pauses.
  if (error != 0 && error != EAGAIN && error != EWOULDBLOCK && error != EINTR &&
      error != ECONNABORTED)
    accepts_from_ = now + accept_pause;
  accepts_from_ = std::max(accepts_from_, accepts_.due(now));
}

// When all slots are taken the oldest connection of a stranger is dropped: a flood of silent
// strangers cannot keep processes out.
void gate_loop::add(connection&& x) {
  const auto is_stranger = [](const auto& entry) {
    return !entry.second.dialled && !entry.second.was_announced;
  };
  if (connections_.size() >= half_open_max)
    if (const auto oldest = std::ranges::find_if(connections_, is_stranger);
        oldest != connections_.end())
      connections_.erase(oldest);
  connections_.emplace(next_ticket_++, std::move(x));
}

void gate_loop::on_ready(uint64_t ticket, bool readable, moment now) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end())
    return;
  switch (found->second.at) {
  case stage::connecting:
    return finish_connecting(ticket, now);
  case stage::securing:
    return shake_hands(ticket, now);
  case stage::talking:
    if (readable)
      read_from(ticket, now);
    return go_on(ticket, now);
  case stage::lingering:
    if (found->second.has_lingered())
      connections_.erase(found);
    return;
  }
}

void gate_loop::finish_connecting(uint64_t ticket, moment now) {
  auto& x = connections_.at(ticket);
  if (const auto problem = x.line.connect_problem())
    return drop(ticket, *problem, now);
  if (!identity_)
    return begin_to_talk(ticket, now);
  secure(x, tls_side::dials);
  x.at = stage::securing;
  shake_hands(ticket, now);
}

// ---- securing ----

void gate_loop::secure(connection& x, tls_side side) {
  x.line.secure(identity_->current(), side);
  if (const auto problem = identity_->take_problem())
    tell_(files_unfit_news{*problem});
}

/// False when there can be no handshake: nothing has come yet, or something that is no TLS. The
/// gate makes a session only for a peer that begins a handshake, so silent strangers cost nothing.
bool gate_loop::expect_tls(uint64_t ticket, moment now) {
  auto& x = connections_.at(ticket);
  if (x.speaks_tls)
    return true;
  const auto first = x.line.first_byte();
  if (!first)
    return x.dialled.has_value();
  if (*first == tls_handshake_byte || (x.dialled && *first == tls_alert_byte)) {
    x.speaks_tls = true;
    if (!x.dialled)
      secure(x, tls_side::accepts);
    return true;
  }
  if (*first != '{') {
    drop(ticket, no_process_of_ours, now);
  } else if (x.dialled) {
    conclude(ticket, not_believed(comes_secured(dials_[*x.dialled].target.name).reason), now);
  } else {
    greet(x);
    x.hello->turn_away(comes_unsecured(options_.facts.node));
    go_on(ticket, now);
  }
  return false;
}

void gate_loop::shake_hands(uint64_t ticket, moment now) {
  if (!expect_tls(ticket, now)) {
    // Readable without a byte: the peer has closed.
    std::string ignored;
    if (const auto found = connections_.find(ticket); found != connections_.end() &&
                                                      found->second.at == stage::securing &&
                                                      found->second.line.read(ignored).is_over)
      drop(ticket, "it closed the connection", now);
    return;
  }
  auto& x = connections_.at(ticket);
  switch (x.line.session()->shake_hands()) {
  case tls_session::progress::done:
    return begin_to_talk(ticket, now);
  case tls_session::progress::failed:
    // A plain answer may have come after the look at the first byte.
    if (x.dialled && !x.speaks_tls && x.line.session()->has_met_no_tls())
      return conclude(ticket, not_believed(comes_secured(dials_[*x.dialled].target.name).reason),
                      now);
    return fail_hands(ticket, x.line.session()->problem(), now);
  case tls_session::progress::wants_to_read:
    x.wants_to_write = false;
    return;
  case tls_session::progress::wants_to_write:
    x.wants_to_write = true;
    return;
  }
}

// An accepted peer is refused for good. So is a dialled one that has proven its name. Before that
// any process may have answered there, and the dialled one may still come back.
void gate_loop::fail_hands(uint64_t ticket, transfer why, moment now) {
  const auto& x = connections_.at(ticket);
  if (!why.is_refusal)
    return drop(ticket, why.problem, now);
  if (!x.dialled)
    return conclude(ticket, {verdict_kind::refused, why.problem, refusal_code::no_permission}, now);
  const auto reason =
    "no secured connection with " + dials_[*x.dialled].target.name + ": " + why.problem;
  if (x.hello && x.hello->believes())
    return conclude(ticket, {verdict_kind::refused, reason, refusal_code::no_permission}, now);
  conclude(ticket, not_believed(reason), now);
}

// ---- talking ----

void gate_loop::begin_to_talk(uint64_t ticket, moment now) {
  auto& x = connections_.at(ticket);
  greet(x);
  if (x.line.has_pending())
    read_from(ticket, now);
  go_on(ticket, now);
}

void gate_loop::read_from(uint64_t ticket, moment now) {
  auto& x = connections_.at(ticket);
  std::string bytes;
  // The dialling side's actor system may write right behind the last line: the gate must not read
  // that.
  const bool is_last = !x.dialled && x.hello->peer();
  const auto what = is_last ? x.line.read_line(bytes) : x.line.read(bytes);
  if (what.is_refusal)
    return fail_hands(ticket, what, now);
  x.heard_bytes += bytes.size();
  if (x.heard_bytes > heard_bytes_max + x.hello->line_bytes_max())
    return drop(ticket, "it says too much", now);
  x.hello->on_bytes(bytes);
  if (x.hello->state() == greeting::phase::broken)
    return drop(ticket, x.hello->problem(), now);
  if (what.is_over && x.hello->state() != greeting::phase::over)
    drop(ticket, what.problem.empty() ? "it closed the connection" : what.problem, now);
}

/// Sends pending output, reports news of the hello, and ends it when it is over.
void gate_loop::go_on(uint64_t ticket, moment now) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end() || found->second.at != stage::talking)
    return;
  auto& x = found->second;
  auto& hello = *x.hello;
  if (hello.state() == greeting::phase::asking && !std::exchange(x.was_announced, true))
    tell_(candidate_news{ticket, facts_of_peer(x)});
  if (hello.state() == greeting::phase::visited && !std::exchange(x.is_visitor, true))
    tell_(visitor_news{ticket, hello.visit()});
  if (!hello.output().empty()) {
    const auto sent = x.line.write(hello.output());
    hello.output().erase(0, sent.byte_count);
    if (sent.is_over && hello.state() != greeting::phase::over)
      return drop(ticket, sent.problem, now);
    if (!hello.output().empty() && !sent.is_over)
      return;
  }
  if (hello.state() == greeting::phase::over)
    conclude(ticket, hello.outcome(), now);
}

void gate_loop::on_answer(uint64_t ticket, const verdict& what) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end() || found->second.at != stage::talking)
    return;
  found->second.hello->on_answer(what);
  go_on(ticket, moment::clock::now());
}

void gate_loop::on_visit_answer(uint64_t ticket, const std::string& line) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end() || found->second.at != stage::talking)
    return;
  found->second.hello->on_visit_answer(line);
  go_on(ticket, moment::clock::now());
}

// ---- the end ----

void gate_loop::open(uint64_t ticket) {
  auto& x = connections_.at(ticket);
  if (x.dialled) {
    dials_[*x.dialled].clock.on_opened();
    dials_[*x.dialled].is_under_way = false;
  }
  opened_news news{ticket,
                   facts_of_peer(x),
                   x.hello->mine().incarnation,
                   x.dialled.has_value(),
                   std::make_shared<channel>(std::move(x.line)),
                   x.dialled ? x.hello->mine().carrier : x.hello->peer()->carrier};
  if (news.carrier == 0)
    dials_.on_linked(news.peer.node);
  connections_.erase(ticket);
  tell_(std::move(news));
}

void gate_loop::tell_refusal(const connection& x, const std::string& said_name,
                             const verdict& outcome, moment now) {
  if (!x.dialled)
    return tell_(refused_news{{said_name, outcome, false}, peer_host_of(x.line)});
  auto& dialled = dials_[*x.dialled];
  dialled.is_under_way = false;
  if (dialled.carrier != 0)
    return;
  // A caller that dials again all the same does so ever more slowly.
  dialled.clock.on_failed(now);
  dialled.clock.give_up();
  tell_(refused_news{{dialled.target.name, outcome, true}, {}});
}

void gate_loop::conclude(uint64_t ticket, const verdict& given, moment now) {
  auto& x = connections_.at(ticket);
  const auto outcome = given; // `given` may be the hello's own
  if (outcome.is_admitted())
    return open(ticket);
  if (x.was_announced)
    tell_(withdrawn_news{ticket});
  if (outcome.kind == verdict_kind::refused) {
    const auto peer = x.hello ? x.hello->peer() : std::nullopt;
    // Who wanted a carrier takes the answer for that of the carrier alone.
    if (x.dialled || !peer || peer->carrier == 0)
      tell_refusal(x, peer ? peer->node : std::string{}, outcome, now);
  } else if (x.dialled) {
    if (x.hello && x.hello->peer()) // the process was there: try no other address
      dials_[*x.dialled].addresses.clear();
    fail_dial(*x.dialled, outcome.reason, now);
  }
  x.linger(now);
}

void gate_loop::drop(uint64_t ticket, std::string why, moment now) {
  const auto found = connections_.find(ticket);
  const auto dialled = found->second.dialled;
  const bool was_announced = found->second.was_announced;
  const auto host = dialled ? std::string{} : peer_host_of(found->second.line);
  connections_.erase(found);
  if (was_announced)
    tell_(withdrawn_news{ticket});
  if (dialled)
    fail_dial(*dialled, why, now);
  else
    tell_(turned_away_news{host, why});
}

void gate_loop::drop_overdue(moment now) {
  std::vector<uint64_t> overdue;
  for (const auto& [ticket, x] : connections_)
    if (x.deadline <= now)
      overdue.push_back(ticket);
  for (auto ticket : overdue)
    if (connections_.at(ticket).at == stage::lingering)
      connections_.erase(ticket);
    else
      drop(ticket, "it has been silent for " + seconds_text(options_.hello_deadline), now);
}

} // namespace troupe
