// What a director is told when it is made.

#pragma once

#include "actors/protocol/cluster_messages.hpp"
#include "actors/protocol/write_messages.hpp"
#include "coordinators/exchange/tensor_exchange.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/membership/lost_work.hpp"
#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/run/director_rule.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/metrics/metric_set.hpp"
#include "models/network/model.hpp"
#include "models/optimizers/optimizer_options.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class run_recorder; // data/records/run_recorder.hpp

struct director_options {
  director_rule_options rule;
  membership_options membership;
  optimizer_options optimizer; ///< for the learning rate in the history
  bool classification = true;
  double test_total_squares = 0; ///< regression: of the test targets around their mean
  double validation_total_squares = 0;
  std::shared_ptr<const metric_set> metrics; ///< of evaluations; null: none
  size_t parameter_count = 0;
  size_t slot_count = 0;  ///< of the optimizer's state
  std::string job_sha256; ///< for checkpoints
  std::string arithmetic; ///< likewise
  /// Lives and dies with the director. Null: no checkpoint is written, and there is no scratch room.
  checkpoint_writer_actor writer;
  /// Where parameters are kept that nobody else has: the best version, the result. Null: in memory.
  std::shared_ptr<scratch_pool> scratch;
  std::optional<checkpoint> resume_from; ///< nothing: from the beginning
  exchange_options exchange;
  lost_work_options lost_work{0};
  bool hides_work = false; ///< how much was computed and sent would tell of a private run's clients
  /// For people: the rows of these slices of a step, and where they come from. May be empty.
  std::function<std::string(uint64_t step, const std::vector<size_t>& slices)> rows;
  /// Told of each report that compares a process's clock with this one's, with when it came; may be empty.
  std::function<void(const std::string& process, const clock_stamps& stamps, uint64_t heard)>
    on_clock;
  std::shared_ptr<run_recorder> trace; ///< of its links; null: it is not recorded
};

/// What a director needs to know of a resolved job; who takes part is still open.
director_options director_options_of(const job& resolved, const prepared_data& data,
                                     const model& network);

/// How often the director looks whether something is due.
inline constexpr milliseconds director_tick_interval{50};

/// How often views, directives and holds are said again, for those who missed them.
inline constexpr milliseconds repeat_interval{1000};

} // namespace troupe
