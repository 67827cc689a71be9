// A relay between two ports of this machine: a wire that a test can cut, or make silent, or that
// stalls once, one way, at a moment that a test chooses.

#pragma once

#include "actors/net/socket/channel.hpp"
#include "coordinators/base/moment.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::test {

/// Of the first connection: what is said one way, from the chunk of this number on, is held back.
struct wire_stall {
  bool is_answer = false; ///< of the side that was dialled
  bool is_both = false;   ///< and from then on all that is said the other way
  size_t chunk = 0;       ///< about one for each time that a side writes
  milliseconds length{};
};

class relay {
public:
  explicit relay(uint16_t target, std::optional<wire_stall> stall = {})
    : stall_(stall), target_(target), listener_(listen_on(loopback(0))), thread_([this] {
        while (!ends_)
          step();
      }) {}

  ~relay() {
    ends_ = true;
    thread_.join();
  }

  /// The stall has begun and is over.
  bool has_stalled() const { return has_stalled_; }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_of(listener_)); }

  /// All connections are lost; new ones are, too, until `mend`.
  void cut() { state_ = state::cut; }
  /// Nothing comes through any more, and nobody is told.
  void silence() { state_ = state::silent; }
  /// New connections work again.
  void mend() {
    state_ = state::cut;
    while (!is_clear_)
      std::this_thread::yield();
    state_ = state::whole;
  }

private:
  enum class state { whole, cut, silent };
  /// Two sockets, and what is still to be written to each.
  struct wire {
    channel ends[2];
    std::string waiting[2]; ///< for the end of this index
    std::optional<wire_stall> stall;
    size_t chunks = 0;
    moment held_until[2] = {}; ///< likewise
  };

  static moment now() { return moment::clock::now(); }
  static bool is_held(const wire& x, int end) { return now() < x.held_until[end]; }

  static socket_address loopback(uint16_t port) {
    return resolve({"127.0.0.1", port}, milliseconds{0}).addresses.at(0);
  }

  void step() {
    if (state_ == state::cut)
      wires_.clear();
    is_clear_ = wires_.empty();
    has_stalled_ = has_stalled_ || (stalls_until_ > moment{} && now() > stalls_until_);
    std::vector<pollfd> sockets{{listener_.get(), POLLIN, 0}};
    if (state_ == state::whole)
      for (const auto& x : wires_)
        for (int i = 0; i < 2; ++i)
          sockets.push_back({x.ends[i].descriptor(), events_of(x, i), 0});
    ::poll(sockets.data(), sockets.size(), 10);
    if (auto socket = accept_from(listener_); socket && state_ != state::cut) {
      std::string problem;
      auto other = begin_connect(loopback(target_), problem);
      if (other)
        wires_.push_back({{channel{std::move(socket)}, channel{std::move(other)}},
                          {},
                          std::exchange(stall_, std::nullopt)});
    }
    if (state_ == state::whole)
      wires_.remove_if([this](wire& x) { return !carry(x); });
  }

  static short events_of(const wire& x, int end) {
    const bool reads = x.waiting[1 - end].empty() && !is_held(x, 1 - end);
    const bool writes = !x.waiting[end].empty() && !is_held(x, end);
    return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
  }

  /// False once an end has closed.
  bool carry(wire& x) {
    for (int i = 0; i < 2; ++i) {
      auto& out = x.waiting[1 - i];
      if (is_held(x, 1 - i))
        continue;
      if (out.empty() && x.ends[i].read(out).is_over)
        return false;
      if (!out.empty() && begins_to_stall(x, i))
        continue;
      const auto sent = out.empty() ? transfer{} : x.ends[1 - i].write(out);
      if (sent.is_over)
        return false;
      out.erase(0, sent.byte_count);
    }
    return true;
  }

  /// With what has just come from this end.
  bool begins_to_stall(wire& x, int end) {
    if (!x.stall || x.stall->is_answer != (end == 1) || x.chunks++ != x.stall->chunk)
      return false;
    stalls_until_ = x.held_until[1 - end] = now() + x.stall->length;
    if (x.stall->is_both)
      x.held_until[end] = stalls_until_;
    return true;
  }

  std::optional<wire_stall> stall_;
  uint16_t target_;
  owned_socket listener_;
  std::list<wire> wires_;
  std::atomic<state> state_ = state::whole;
  std::atomic<bool> is_clear_ = true;
  moment stalls_until_{};
  std::atomic<bool> has_stalled_ = false;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

} // namespace troupe::test
