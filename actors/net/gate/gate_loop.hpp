// The gate's loop: what its thread does. Internal to the gate: gate_loop.cpp waits and dials (gate_dials.hpp says whom),
// gate_connections.cpp leads each connection from its first byte to its end.

#pragma once

#include "actors/net/gate/gate_dials.hpp"
#include "actors/net/gate/gate_options.hpp"
#include "actors/net/gate/hello.hpp"
#include "actors/net/socket/tls_identity.hpp"
#include "coordinators/links/rate_limit.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

/// A connection from its first byte until it is opened, or gone.
struct gate_connection {
  enum class stage : uint8_t {
    connecting, ///< dialled, not there yet
    securing,   ///< the TLS handshake; accepted: its first byte is to come
    talking,    ///< `hello` goes on
    lingering,  ///< everything is sent, the peer may still read it
  };

  /// The events to poll for.
  short events();
  /// Everything is sent: closes once the peer has read it, or at the deadline.
  void linger(moment now);
  /// Of a lingering connection: the peer has closed it, or sends too much.
  bool has_lingered();

  channel line;
  moment deadline{};
  std::optional<size_t> dialled; ///< index of its dial
  stage at = stage::talking;
  std::optional<greeting> hello; ///< while `talking`
  bool speaks_tls = false;       ///< the peer has begun a TLS handshake
  bool wants_to_write = false;   ///< during the handshake
  bool was_announced = false;    ///< as a candidate
  bool is_visitor = false;       ///< its question was reported
  size_t heard_bytes = 0;        ///< read from it, without the handshake
};

class gate_loop {
public:
  gate_loop(gate_options options, owned_socket listener);
  /// Waits until refused peers have closed, for 1 s at most.
  ~gate_loop();

  void start(std::function<void(gate_news)> tell);

  /// From any thread: the loop carries the command out soon.
  void post(std::function<void(gate_loop&)> command);

  // On the loop's thread.
  void on_answer(uint64_t ticket, const verdict& what);
  void on_visit_answer(uint64_t ticket, const std::string& line);
  gate_dials& dials() { return dials_; }
  void on_term(uint64_t term);
  void on_over(const verdict& over);

private:
  using connection = gate_connection;
  using stage = gate_connection::stage;

  void run();
  /// True once it is to stop.
  bool carry_out_commands();
  void wait(moment now);

  void begin_due_dials(moment now);
  void try_next_address(size_t index, moment now);
  void fail_dial(size_t index, const std::string& why, moment now);

  void accept_all(moment now);
  void add(connection&& x);
  void on_ready(uint64_t ticket, bool readable, moment now);
  void finish_connecting(uint64_t ticket, moment now);
  void shake_hands(uint64_t ticket, moment now);
  bool expect_tls(uint64_t ticket, moment now);
  void secure(connection& x, tls_side side);
  void fail_hands(uint64_t ticket, transfer why, moment now);
  void begin_to_talk(uint64_t ticket, moment now);
  void read_from(uint64_t ticket, moment now);
  void go_on(uint64_t ticket, moment now);
  void conclude(uint64_t ticket, const verdict& outcome, moment now);
  void open(uint64_t ticket);
  void tell_refusal(const connection& x, const std::string& said_name, const verdict& outcome,
                    moment now);
  /// `why` by value: it may be a text of the connection, which ends here.
  void drop(uint64_t ticket, std::string why, moment now);
  void drop_overdue(moment now);
  void greet(connection& x) const;

  gate_options options_;
  std::optional<tls_identity> identity_; ///< with `tls`
  owned_socket listener_;
  std::shared_ptr<owned_socket> waker_; ///< an eventfd; lookups may outlive the loop
  moment accepts_from_{}; ///< pause after an error of accepting, or too many connections
  rate_limit accepts_{accepts_per_second, accepts_at_once};
  std::function<void(gate_news)> tell_;
  uint64_t next_ticket_ = 1;
  std::map<uint64_t, connection> connections_; ///< by ticket: the oldest first
  gate_dials dials_;

  std::mutex mutex_; ///< guards the two below
  std::vector<std::function<void(gate_loop&)>> commands_;
  bool is_stopping_ = false;
  std::thread thread_;
};

} // namespace troupe
