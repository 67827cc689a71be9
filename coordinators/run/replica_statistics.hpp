// Replica statistics: training statistics of replicas that march in step, by name.
//
// Fed by the shard that counts the metrics. Places are indexes of a view, which move when somebody
// comes or goes; the figures stay with the names. A replica's result for a step is there when the
// last part of its gradient is. Gradients of one process may be added before they leave it: then
// whoever brought the last of them stands for all. So it does for those who share a model: who of
// them made the others wait they say themselves (`boundary_waits`).

#pragma once

#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/run/training_statistics.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What a replica did, and whose wait it was.
struct named_statistics {
  replica_name who;
  trainer_statistics figures;
  std::string partition = {}; ///< of a split model, in words; whoever tells people fills it in

  friend bool operator==(const named_statistics&, const named_statistics&) = default;
};

class replica_statistics {
public:
  struct place {
    replica_name who;
    bool computes = true; ///< it has slices
    size_t group = 0;     ///< the first of its slices: those who share them come as one
  };

  /// Who takes part from now on. Who was there before and is not named is lost.
  void on_places(const std::vector<place>& places, moment now);

  /// A version is there: everybody may work on the next step.
  void on_step_begins(moment now);

  /// A part of the gradient of who is at this place of the view; it has computed for so long in
  /// this step. Nothing comes of a place that nobody has.
  void on_part(size_t position, moment now, std::chrono::nanoseconds computed);

  /// All parts of the step are there.
  void on_step_complete(moment now);

  uint64_t barrier_count() const { return statistics_.barrier_count(); }
  /// In the order of their first coming.
  std::vector<named_statistics> figures() const;

private:
  struct arrival {
    moment when;
    std::chrono::nanoseconds computed{0};
    size_t index; ///< among names
    size_t group;
  };

  size_t index_of(const replica_name& who);
  /// What is there so far are results.
  void take_arrivals();

  training_statistics statistics_{0};
  std::vector<replica_name> names_;
  struct replica_place {
    size_t index = 0; ///< among names
    bool computes = true;
    size_t group = 0;
  };
  std::vector<replica_place> places_;
  std::vector<arrival> arrivals_; ///< of the step under way, the latest of each group
};

// Boundary waits: who makes the others of a group wait, where a model is split.
//
// Members of a group stand idle in the middle of a step, until a piece of another comes. Who hands in
// its gradient last says nothing there: in a pipeline that is always the first stage. So each member
// counts itself how long it stood idle and whose piece ended that:
//
// A member in the middle of a chain hands waits on: what others waited for it is its own fault by as
// much as it exceeds what it waited itself.
struct boundary_wait {
  replica_name whom;
  uint64_t count = 0;
  std::chrono::nanoseconds time{0};
  std::chrono::nanoseconds longest{0};

  friend bool operator==(const boundary_wait&, const boundary_wait&) = default;
};

/// What a member did and whom it waited for, by its own clock.
struct boundary_waits {
  std::chrono::nanoseconds computed{0};
  std::vector<boundary_wait> waits{}; ///< in the order of the first

  void add(const replica_name& whom, std::chrono::nanoseconds time);

  friend bool operator==(const boundary_waits&, const boundary_waits&) = default;
};

/// What a member told, and in how many steps it had work.
struct reported_waits {
  replica_name who;
  uint64_t steps = 0;
  boundary_waits waits;
};

/// Members' own figures take the place of what was seen from outside; a wait for a member counts as
/// its being last. Waits for who is not among `told` any more are nobody's.
void count_waits(std::vector<named_statistics>& figures, const std::vector<reported_waits>& told);

} // namespace troupe
