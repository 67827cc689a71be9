// Round server: what the server of a federated run tells each client that dialled in, and which updates it takes. A plain
// object: connections have tickets here, and no sockets; updates are announced here, and their vectors are elsewhere.
//
//   connection          round server                            decisions (take_actions)
//     report ------------> name proven, admitted, not denied?      plan, or over
//     here --------------> may be invited                          order, once a round invites it
//     ready -------------> asks for a place to send from           send, when one of the places is free; or a receipt
//     update ------------> takes it, in a group, or not            receipt
//
// A name has one connection: a newer one closes the older. An order is known by (round, term); each opening of a round has
// a term of its own, and a server that starts again has other terms. So an update counts at most once, and never in
// another attempt at its round. Everything that is waited for has a deadline: a report, a place, a sign of life, a round.

#pragma once

#include "coordinators/clients/client_presence.hpp"
#include "coordinators/clients/present_round.hpp"
#include "models/base/names.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

/// Of the conversation with clients alone: it changes seldom, so that clients of several versions may take part.
inline constexpr uint64_t client_protocol_number = 1;

/// What became of an update.
enum class receipt_kind : uint8_t {
  counted,
  not_finite,
  out_of_range,
  surplus, ///< enough others were faster
  late,    ///< its round was over
  stale,   ///< of another attempt at its round, or an older round
  altered, ///< other bytes than were announced
};

template <>
struct name_table<receipt_kind> {
  static constexpr std::array entries{named(receipt_kind::counted, "counted"),
                                      named(receipt_kind::not_finite, "not-finite"),
                                      named(receipt_kind::out_of_range, "out-of-range"),
                                      named(receipt_kind::surplus, "surplus"),
                                      named(receipt_kind::late, "late"),
                                      named(receipt_kind::stale, "stale"),
                                      named(receipt_kind::altered, "altered")};
};

struct round_server_options {
  present_options rounds;
  std::string admit = "*";          ///< which names may take part, with * and ?
  size_t clients_max = 10'000;      ///< connections that may take part
  uint64_t first_term = 0;          ///< unpredictable: of this life of the server alone
  size_t places = 16;               ///< updates under way at a time
  milliseconds place_time{120'000}; ///< to send an update
  milliseconds report_time{20'000}; ///< to say who one is
  milliseconds ping_every{30'000};  ///< keeps the entry of a NAT
  milliseconds silence_max{120'000};
};

/// What a client says of itself at first.
struct client_report {
  uint64_t protocol = client_protocol_number;
  std::string name;
  uint64_t key = 0; ///< of the name
};

struct order_name {
  uint64_t round = 0;
  uint64_t term = 0;
  friend bool operator==(const order_name&, const order_name&) = default;
};

enum class client_act : uint8_t { plan, wait, order, send, receipt, ping, over, close };

/// What a connection is told, or that it is closed.
struct client_action {
  client_act what = client_act::close;
  uint64_t ticket = 0;
  order_name order{};
  uint64_t group = 0;   ///< order
  milliseconds left{0}; ///< order: of the round; wait: before it dials again
  receipt_kind receipt = receipt_kind::counted; ///< receipt
  int code = 0;                                 ///< over: an exit code
  std::string text{};                           ///< wait, over, close: why
};

/// How many took part, but for whose updates counted.
struct round_absences {
  size_t invited = 0;
  size_t dropped = 0;              ///< lost, and not back
  std::vector<std::string> lost{}; ///< the names of some of them
  size_t late = 0;
  size_t surplus = 0;
  bool has_no_draw = false; ///< of a secret draw: it waited for its first client
  bool is_in_vain = false;  ///< and will wait no more
};

class round_server {
public:
  explicit round_server(const round_server_options& options);

  // ---- Connections ----
  void on_connected(uint64_t ticket, moment now);
  /// `proven`: names in its certificate; null: connections are not secured.
  void on_report(uint64_t ticket, const client_report& news, const std::vector<std::string>* proven,
                 moment now);
  void on_here(uint64_t ticket, moment now);
  /// Any sign of life.
  void on_heard(uint64_t ticket, moment now);
  void on_ready(uint64_t ticket, const order_name& order, moment now);
  /// The group that takes the update; the caller then says what became of it by `settle`. Nothing: it does not count.
  std::optional<uint64_t> on_update(uint64_t ticket, const order_name& order, moment now);
  void settle(uint64_t ticket, receipt_kind what, moment now);
  void on_gone(uint64_t ticket);

  // ---- Rounds ----
  void open(uint64_t round, moment now, client_coin coin = {});
  bool is_open() const { return round_.is_open(); }
  /// Nothing more is waited for: take the actions, then close.
  bool is_over(moment now);
  /// The open round is over as it is now.
  void hurry(moment now) { round_.hurry(now); }
  round_absences close(moment now);
  void set_denied(std::set<std::string> names);
  /// All clients are told that there is no more to do, now and later.
  void end(int code, const std::string& why);

  void tick(moment now);
  std::vector<client_action> take_actions();
  const std::string& name_of_ticket(uint64_t ticket) const;
  /// Of now: who is here, and what the open round waits for.
  client_presence presence() const;

private:
  struct connection {
    moment connected{};
    moment heard{};
    moment pinged{};
    std::string name{}; ///< empty: it has not said
    uint64_t key = 0;
    bool is_here = false;
    std::optional<moment> place_since{};
  };

  connection* find(uint64_t ticket);
  void refuse(uint64_t ticket, int code, std::string why);
  void drop(uint64_t ticket, std::string why);
  void send_receipt(uint64_t ticket, const order_name& order, receipt_kind what);
  receipt_kind refusal_of(const order_name& order) const;
  void give_places(moment now);
  void invite(moment now);

  round_server_options options_;
  present_round round_;
  uint64_t term_;
  order_name last_{};     ///< the newest order
  bool was_full_ = false; ///< the last round closed because enough had answered
  std::map<uint64_t, connection> connections_;
  std::map<std::string, uint64_t> by_name_;
  client_names here_;
  std::deque<uint64_t> waiting_; ///< for a place
  std::set<std::string> denied_;
  std::optional<std::pair<int, std::string>> end_;
  std::vector<client_action> actions_;
};

} // namespace troupe
