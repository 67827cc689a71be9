// Node loop: serves a process's node and its carriers' sockets in turns: first the sockets, then the node's messages,
// then its sends.
//
//   messages of others --> mailbox --+           +--> sockets of carriers
//                                    +--> turns--+
//   sockets of carriers -------------+  (the node)  +--> mailboxes of others
//
// An idle worker of the actor system takes turns while it looks for work (actors/base/work_sharing.hpp). So no thread
// need be woken for a piece that this worker waits for or has just made. While all workers compute, the loop's own
// thread takes turns; it sleeps until there is something to do.
//
// Only `queue` schedules an actor that lives here. The receivers of its messages are scheduled as usual: no other actor
// runs in a turn.

#pragma once

#include "actors/base/work_sharing.hpp"
#include "actors/net/socket/channel.hpp"

#include <caf/execution_unit.hpp>
#include <caf/fwd.hpp>
#include <caf/resumable.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

class node_loop : public idle_work, public std::enable_shared_from_this<node_loop> {
public:
  /// Throws failure(io_error) when the system has no descriptor left.
  explicit node_loop(caf::actor_system& system);
  ~node_loop() override;
  node_loop(const node_loop&) = delete;
  node_loop& operator=(const node_loop&) = delete;

  void start();
  /// Returns once the actors that live here have ended. The caller must have sent them an exit before.
  void stop();

  /// The queue of an actor that lives here. The actor keeps the loop alive.
  caf::execution_unit* queue() { return &queue_; }
  /// An actor lives here from now until it ends.
  void add_actor();

  /// Calls `what` in a turn, soon. Any thread may call it, but not after `stop`.
  void post(std::function<void()> what);

  /// For a worker that looks for work.
  bool take_turn() override;
  bool is_due() const override;

  // ---- In a turn only, or before `start` ----

  /// Calls `ready(events)` whenever a descriptor has some of these epoll events.
  void watch(int descriptor, uint32_t events, std::function<void(uint32_t)> ready);
  void change(int descriptor, uint32_t events);
  void forget(int descriptor);
  /// Called at the end of each turn, after the actors' messages.
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

  /// What the loop's thread waits for.
  enum class patience : uint8_t {
    none,  ///< does not wait
    brief, ///< a worker takes turns: for other threads' work, or until `absence_max`
    full   ///< for everything
  };

  struct ready_socket {
    int descriptor = -1;
    uint32_t events = 0;
  };

  void add(caf::resumable* what);
  void wake();
  void run();
  bool go_on();
  bool serve_sockets();
  bool serve(const ready_socket& what);
  bool run_queued();
  /// Returns the socket that woke the thread; nothing when it was none.
  ready_socket wait();

  caf::actor_system& system_;
  queue_of_actors queue_;
  owned_socket epoll_;
  owned_socket waker_;
  std::thread thread_;
  std::atomic<int64_t> last_look_{0}; ///< of a worker, on the steady clock

  std::mutex turn_; ///< guards what a turn uses
  std::map<int, std::shared_ptr<std::function<void(uint32_t)>>> watched_;
  std::function<void()> before_waiting_;
  bool is_over_ = false;

  mutable std::mutex mutex_; ///< guards what follows
  std::vector<caf::resumable*> queued_;
  std::vector<std::function<void()>> posted_;
  size_t actor_count_ = 0;
  patience waiting_ = patience::none;
  bool is_stopping_ = false;
};

} // namespace troupe
