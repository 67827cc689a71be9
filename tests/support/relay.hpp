// A relay between two ports of this machine: a wire that a test can cut, or make silent.

#pragma once

#include "troupe/actors/net/channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::test {

class relay {
public:
  explicit relay(uint16_t target)
    : target_(target), listener_(listen_on(loopback(0))), thread_([this] {
        while (!ends_)
          step();
      }) {}

  ~relay() {
    ends_ = true;
    thread_.join();
  }

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
  };

  static socket_address loopback(uint16_t port) {
    return resolve({"127.0.0.1", port}, milliseconds{0}).addresses.at(0);
  }

  void step() {
    if (state_ == state::cut)
      wires_.clear();
    is_clear_ = wires_.empty();
    std::vector<pollfd> sockets{{listener_.get(), POLLIN, 0}};
    if (state_ == state::whole)
      for (const auto& x : wires_)
        for (int i = 0; i < 2; ++i)
          sockets.push_back({x.ends[i].descriptor(),
                             static_cast<short>((x.waiting[1 - i].empty() ? POLLIN : 0) |
                                                (x.waiting[i].empty() ? 0 : POLLOUT)),
                             0});
    ::poll(sockets.data(), sockets.size(), 10);
    if (auto socket = accept_from(listener_); socket && state_ != state::cut) {
      std::string problem;
      auto other = begin_connect(loopback(target_), problem);
      if (other)
        wires_.push_back({{channel{std::move(socket)}, channel{std::move(other)}}, {}});
    }
    if (state_ == state::whole)
      wires_.remove_if([](wire& x) { return !carry(x); });
  }

  /// False once an end has closed.
  static bool carry(wire& x) {
    for (int i = 0; i < 2; ++i) {
      auto& out = x.waiting[1 - i];
      if (out.empty() && x.ends[i].read(out).is_over)
        return false;
      const auto sent = out.empty() ? transfer{} : x.ends[1 - i].write(out);
      if (sent.is_over)
        return false;
      out.erase(0, sent.byte_count);
    }
    return true;
  }

  uint16_t target_;
  owned_socket listener_;
  std::list<wire> wires_;
  std::atomic<state> state_ = state::whole;
  std::atomic<bool> is_clear_ = true;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

} // namespace troupe::test
