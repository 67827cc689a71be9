// Node loop: the thread of a process's node. It runs the node's actor and waits for the carriers'
// sockets as well, so a piece wakes one thread where it comes, and none before it goes.
//
//   messages of others --> mailbox --+                 +--> sockets of carriers
//                                    +--> this thread--+
//   sockets of carriers -------------+    (the node)   +--> mailboxes of others
//
// An actor that lives here is scheduled by `queue`, and by nobody else. What it sends is scheduled as
// ever: no other actor runs on this thread.

#pragma once

#include "troupe/actors/net/socket/channel.hpp"

#include <caf/execution_unit.hpp>
#include <caf/fwd.hpp>
#include <caf/resumable.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

class node_loop : public std::enable_shared_from_this<node_loop> {
public:
  /// Throws failure(io_error) when the system has no descriptor left.
  explicit node_loop(caf::actor_system& system);
  ~node_loop();
  node_loop(const node_loop&) = delete;
  node_loop& operator=(const node_loop&) = delete;

  void start();
  /// Returns once the actors that live here have ended: they have to be told before.
  void stop();

  /// Where an actor that lives here is queued. It keeps the loop for as long as it lives.
  caf::execution_unit* queue() { return &queue_; }
  /// An actor lives here, until it ends.
  void add_actor();

  /// Calls this on the loop's thread, soon; from any thread. Not after `stop`.
  void post(std::function<void()> what);

  // ---- On the loop's thread only ----

  /// Calls `ready(events)` whenever a descriptor has some of these epoll events.
  void watch(int descriptor, uint32_t events, std::function<void(uint32_t)> ready);
  void change(int descriptor, uint32_t events);
  void forget(int descriptor);
  /// Called each time before the thread waits, once the actors have done what there was.
  void before_waiting(std::function<void()> what) { before_waiting_ = std::move(what); }

private:
  class queue_of_actors : public caf::execution_unit {
  public:
    queue_of_actors(caf::actor_system& system, node_loop& loop)
      : caf::execution_unit(&system), loop_(loop) {}
    void exec_later(caf::resumable* what) override { loop_.add(what); }

  private:
    node_loop& loop_;
  };

  void add(caf::resumable* what);
  void wake();
  void run();
  bool run_queued();
  void wait(bool has_work);
  int look_out(const std::function<int()>& look);

  caf::actor_system& system_;
  queue_of_actors queue_;
  std::function<bool()> others_are_idle_; ///< the system's threads; empty: that is not known
  owned_socket epoll_;
  owned_socket waker_;
  std::map<int, std::shared_ptr<std::function<void(uint32_t)>>> watched_;
  std::function<void()> before_waiting_;
  std::thread thread_;

  std::mutex mutex_; ///< of what is below
  std::vector<caf::resumable*> queued_;
  std::vector<std::function<void()>> posted_;
  size_t actor_count_ = 0;
  bool is_waiting_ = false;
  bool is_stopping_ = false;
};

} // namespace troupe
