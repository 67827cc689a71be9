// A cluster: one job's director and processes, each on a simulated machine of its own, with the
// duties that a real process's gate has: it joins, and joins anew when it was turned away.

#pragma once

#include "actors/base/test_hooks.hpp"
#include "actors/protocol/status_messages.hpp"
#include "actors/run/process.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/prepare.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/simulated_disk.hpp"
#include "tests/simulation/world.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::simulation {

struct machine_plan {
  std::string name;
  size_t replica_count = 1;
  size_t shard_count = 1;
  bool is_late = false;            ///< switched on by a fault only
  std::optional<size_t> holding{}; ///< whose rows it has, where rows have holders

  /// One without work of its own is not in the cluster file, and brings as much as any other.
  bool is_listed() const { return replica_count + shard_count > 0; }
};

/// A resolved job and its rows: made once for all seeds.
struct cluster_job {
  job resolved;
  std::shared_ptr<const prepared_data> data; ///< all rows
  /// Where rows have holders: what a process of each holding has, and then one that has no rows.
  std::vector<std::shared_ptr<const prepared_data>> homes{};

  /// What this machine's process has.
  const std::shared_ptr<const prepared_data>& at(const machine_plan& machine) const {
    return homes.empty() ? data : homes[machine.holding.value_or(homes.size() - 1)];
  }
};

cluster_job prepare(const job& x);

/// The job's rows in three holdings of very different sizes, each of which some of these machines have.
cluster_job prepare_homes(const job& x, const std::vector<machine_plan>& machines);

struct cluster_options {
  std::vector<machine_plan> machines;
  wire_options wires;
  milliseconds join_timeout{2'000};
  std::shared_ptr<simulated_disk> disk; ///< the director's; null: no checkpoints
  duration disk_pause{0};               ///< between two moments at which it writes
  duration clock_ahead{0};              ///< of the director's wall clock: it is another day
  std::string
    record; ///< file on the parameter server's disk that gets an asynchronous run's decisions
  bool speeds_change = true; ///< replicas say so, and slices move
  bool spreads = false;      ///< spans come at once to who came
  size_t deputies = 0;       ///< with copies of spans, and how often there are new ones
  uint64_t copy_every = 0;
  test_hooks hooks;
  exchange_options exchange;
};

/// The folder of checkpoints on the director's disk.
inline constexpr const char* run_folder = "run";

class cluster {
public:
  cluster(world& here, const cluster_job& what, cluster_options options);
  ~cluster();
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;

  /// The director's machine is the first, process i's the one after its index.
  static constexpr machine_id director_machine = 0;
  static constexpr machine_id machine_of(size_t process) { return process + 1; }
  /// It has the parameter server, which no other process replaces.
  bool decides(size_t index) const;
  size_t process_count() const { return options_.machines.size(); }

  /// Why the director could not start; nothing when it did.
  std::optional<failure> boot_director();
  /// `lacking`: so many replicas less than the director counts on.
  void boot_process(size_t index, size_t lacking = 0);
  /// Once it has left, or after this time: calls the function, unless it has crashed meanwhile.
  void ask_to_leave(size_t index, duration grace, std::function<void(bool has_left)> then);
  void crash_director(bool without_a_word);
  void crash_process(size_t index, bool without_a_word);

  /// What the director that crashed last had said last reaches everybody who runs: it was not dead,
  /// and does not know that it has been replaced.
  void hear_stale_director();
  /// As an interrupt does.
  void stop();

  /// What the director now in charge came to.
  const std::optional<training_finished>& finished() const { return finished_; }
  /// The result's parameters; call it once finished.
  std::vector<float> pull_parameters();

  /// The highest version seen on the wires.
  uint64_t version() const { return version_; }
  /// The view that was published last, as far as it has arrived.
  const cluster_view& view() const { return view_; }
  /// What each process said last, in words.
  std::vector<std::string> last_words() const;
  std::string director_status();
  /// The version that the last director started from.
  const std::optional<checkpoint>& resumed_from() const { return resumed_from_; }
  /// Everybody leaves as at the end of a program.
  void shut_down();

  network& wires() { return network_; }
  const cluster_options& options() const { return options_; }

  /// Called with each line for people.
  std::function<void(const std::string&)> on_notice;
  /// Called with each view that arrives.
  std::function<void(const cluster_view&)> on_view;
  /// Called with each directive that arrives.
  std::function<void(const directive&)> on_directive;

private:
  void on_link(const network::link_news& news);
  void pause_disk();
  void end_leave(size_t index, uint64_t life, bool has_left);
  /// What a director says to all.
  struct orders {
    std::optional<cluster_view> view;
    std::optional<directive> way;
    std::optional<hold_request> hold;
  };
  void note_orders(const caf::message& content);
  void on_arrival(machine_id to, const caf::message& content);
  member member_of(size_t index, uint64_t incarnation) const;

  world& world_;
  const cluster_job& job_;
  cluster_options options_;
  network network_;
  std::vector<std::unique_ptr<process>> processes_;
  std::vector<uint64_t> incarnations_;
  std::vector<uint64_t> lives_;                         ///< how often each process was started
  std::map<size_t, std::function<void(bool)>> leavers_; ///< what follows when they have left
  std::vector<std::string> last_words_;
  director_actor director_;
  caf::strong_actor_ptr observer_;
  std::optional<training_finished> finished_;
  std::optional<checkpoint> resumed_from_;
  uint64_t version_ = 0;
  cluster_view view_;
  orders orders_;       ///< of the director now in charge
  orders stale_orders_; ///< of the one before
};

} // namespace troupe::simulation
