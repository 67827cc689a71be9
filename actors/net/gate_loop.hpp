// The gate's loop: what its thread does. Internal to gate.cpp and gate_loop.cpp.

#pragma once

#include "troupe/actors/net/gate.hpp"
#include "troupe/actors/net/hello.hpp"
#include "troupe/coordinators/dial_clock.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

class gate::loop {
public:
  loop(gate_options options, owned_socket listener);
  ~loop();

  void start(std::function<void(gate_news)> tell);

  /// From any thread: carried out by the loop, soon.
  void post(std::function<void(loop&)> command);

  // On the loop's thread.
  void on_answer(uint64_t ticket, const verdict& what);
  void on_visit_answer(uint64_t ticket, const std::string& line);
  void on_dial_again(const std::string& name);
  void on_term(uint64_t term);
  void on_over(const verdict& over);

private:
  /// One attempt to reach a name after another.
  struct dial {
    dial_target target;
    dial_clock clock;
    std::optional<lookup> question; ///< while its answer is missing
    moment answer_due{};
    std::vector<socket_address> addresses; ///< of this attempt, those not tried yet
    std::string problem;                   ///< why the last one failed
  };
  struct connection {
    channel line;
    std::optional<greeting> hello; ///< nothing while it connects
    moment deadline{};
    std::optional<size_t> dialled; ///< index of its dial
    bool was_announced = false;    ///< as a candidate
    bool is_visitor = false;       ///< its question was told
    bool is_lingering = false;     ///< all is said, the peer may still read it
  };
  using connections = std::map<uint64_t, connection>; ///< by ticket: the oldest first

  void run();
  void carry_out_commands();
  moment next_deadline(moment now) const;
  void wait(moment now);

  void begin_due_dials(moment now);
  void begin_attempt(size_t index, moment now);
  void try_next_address(size_t index, moment now);
  void fail_dial(size_t index, const std::string& why, moment now);

  void accept_all(moment now);
  void add(uint64_t ticket, connection&& x);
  void on_ready(uint64_t ticket, bool readable, moment now);
  bool finish_connecting(uint64_t ticket, moment now);
  void read_from(uint64_t ticket, moment now);
  void go_on(uint64_t ticket, moment now);
  void conclude(uint64_t ticket, moment now);
  void drop(uint64_t ticket, const std::string& why, moment now);
  void drop_overdue(moment now);
  process_facts facts_of_connection() const;
  void greet(connection& x) const;

  gate_options options_;
  owned_socket listener_;
  std::shared_ptr<owned_socket> waker_; ///< an eventfd; lookups may outlive the loop
  moment accepts_from_{};               ///< after an error of accepting: a pause
  std::function<void(gate_news)> tell_;
  uint64_t next_ticket_ = 1;
  connections connections_;
  std::vector<dial> dials_;

  std::mutex mutex_; ///< of the two below
  std::vector<std::function<void(loop&)>> commands_;
  bool is_stopping_ = false;
  std::thread thread_;
};

} // namespace troupe
