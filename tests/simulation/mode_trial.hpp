// A mode's trial: one mode of training where a parameter server owns all parameters, one seed. The seed draws
// how many trainers there are and how fast each is, who dies, whom views leave out and take up, and
// when; a bystander judges what the parameter server does (tests/support/server_oracle.hpp), and training
// must end: with every step done once, and rounds with the bits of the undisturbed run, federated
// ones with its clients, its void rounds and its losses in every round.

#pragma once

#include "actors/base/test_hooks.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/run/company.hpp"
#include "tests/simulation/cluster.hpp"
#include "tests/simulation/world.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::simulation {

// A kept company: the run of a mode where a parameter server owns all parameters, on one thread in virtual
// time, in which every piece of work takes the time that it is given.
//
//   director, node, parameter server, trainers 0 .. R-1     the real actors, of one process
//   trainers R .. R+E-1                           wait until a view names them
//
// A synchronous run is the same with replicas, each on a machine of its own that takes its time for
// each message: with one shard that is once a step.
//
// Trainers die when asked to. Views leave some out and take others up, as those of a cluster do:
// who is left out goes on with what it has, and its result comes too late.

struct kept_options {
  /// How long the trainer on this place is at the work that begins at this step; empty: no time.
  std::function<duration(uint64_t place, uint64_t step)> takes;
  std::function<void(const trainer_event&)> on_trainer;
  size_t extra_count = 0;           ///< E
  size_t clients_of_task = 0;       ///< as test_hooks has it
  std::vector<duration> step_times; ///< of synchronous replicas, by index; empty: no time
  sequence_options decisions;       ///< as in train_options
};

class kept_company {
public:
  /// Begins training.
  kept_company(world& here, const cluster_job& what, const kept_options& options);
  ~kept_company();
  kept_company(const kept_company&) = delete;
  kept_company& operator=(const kept_company&) = delete;

  size_t trainer_count() const { return trainers_.size(); }
  size_t original_count() const { return company_->replicas().size(); }
  bool is_alive(size_t trainer) const { return trainers_[trainer].lives; }
  bool is_named(size_t trainer) const { return trainers_[trainer].named; }

  void kill(size_t trainer);
  /// The next view names this trainer, or does not.
  void name(size_t trainer, bool named);
  void stop();

  const std::optional<training_finished>& finished() const { return finished_; }
  std::vector<float> pull_parameters();
  trainer_figures figures();

private:
  struct trainer_place {
    worker_actor actor;
    bool lives = true;
    bool named = true;
  };

  template <class Answer, class Handle, class... Question>
  Answer ask(const Handle& whom, const Question&... question);

  world& world_;
  machine_id home_;
  std::unique_ptr<company> company_;
  std::unique_ptr<process> extras_;
  std::vector<trainer_place> trainers_;
  uint64_t view_number_ = 1; ///< of the view that the run began with
  caf::strong_actor_ptr observer_;
  std::optional<training_finished> finished_;
};

// ---- A timed run: real training in virtual time, in which each replica has a speed of its own -----

struct timed_run {
  training_finished finished; ///< its seconds, and those of its history, are virtual
  trainer_figures figures;    ///< none of a synchronous run
};

/// Trains to the end. Replica i needs `row_times[i]` for a row: in each step for its share of the
/// rows when the job is synchronous, else for the rows of a whole step, or of a member's local
/// steps. Adding, updating and evaluating take no time. Throws std::runtime_error when training
/// does not end within an hour.
timed_run train_timed(caf::actor_system& system, const job& x,
                      const std::vector<duration>& row_times);

/// Makes an asynchronous run's recorded decisions again, by one process that nothing disturbs. What differs in words:
/// every row's hash and figures, and the result, must be the run's.
std::vector<std::string> replay(caf::actor_system& system, const cluster_job& what,
                                const std::string& record, const training_finished& run,
                                const std::vector<float>& parameters);

struct mode_workload {
  std::string name;
  job what; ///< its replicas are drawn
};

/// Every mode, with the options that change who waits for whom or what is merged.
const std::vector<mode_workload>& mode_workloads();

/// What the undisturbed run came to.
struct mode_twin {
  std::vector<float> parameters;
  std::vector<history_row> history;
  client_totals clients; ///< of federated training
};

/// What is made once for a mode and used by all its trials.
struct prepared_mode {
  const mode_workload* what = nullptr;
  cluster_job trained;
  mode_twin twin; ///< of local and federated rounds
};

prepared_mode prepare(caf::actor_system& system, const mode_workload& what);

struct mode_report {
  std::vector<std::string> violations; ///< empty: all is well
  std::map<trainer_event::kind, size_t> counts;
  uint64_t staleness_max = 0;
  size_t messages = 0;
  duration virtual_time{0};
  uint64_t fingerprint = 0; ///< of what happened, and of the parameters it led to
};

mode_report run_trial(caf::actor_system& system, const prepared_mode& what, uint64_t seed,
                      const trace_sink& trace = {});

} // namespace troupe::simulation
