#include "troupe/coordinators/job/job_bounds.hpp"

#include "troupe/models/optimizers/optimizer_options.hpp"
#include "troupe/models/segments/layer_cuts.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace troupe {

namespace {

constexpr uint64_t unbounded = std::numeric_limits<uint64_t>::max();

/// Rows are counted in 32 bits where their order is drawn.
constexpr uint64_t rows_max = 1'000'000'000;
/// As many as a CSV file may have.
constexpr uint64_t columns_max = 1'000'000;
/// Each is a run of its own.
constexpr uint64_t folds_max = 1'000;
/// A layer between two of these has 10^14 weights, and a thousand layers still fit 64 bits.
constexpr uint64_t units_max = 10'000'000;
/// Thirty years of a step each microsecond.
constexpr uint64_t steps_max = 1'000'000'000'000'000;
constexpr uint64_t epochs_max = 1'000'000'000'000;
/// Each is a message a step to each shard: with so many a step takes some 30 ms of bookkeeping.
constexpr uint64_t slices_max = 4'096;
/// Actors of one process, and threads: each has memory of its own, and all know each other.
constexpr uint64_t actors_max = 1'024;
/// Clients cost 4 bytes each, and some nanoseconds a round where all are looked at.
constexpr uint64_t clients_max = 100'000'000;

constexpr std::array bounds{
  whole_bounds{"job.seed", 0, unbounded},
  whole_bounds{"data.rows", 1, rows_max},
  whole_bounds{"data.features", 1, columns_max},
  whole_bounds{"data.classes", 2, columns_max},
  whole_bounds{"data.targets", 1, columns_max},
  whole_bounds{"data.target", 0, columns_max - 1},
  whole_bounds{"data.categories_max", 1, columns_max},
  whole_bounds{"data.skip_lines", 0, 1'000'000},
  whole_bounds{"data.folds", 2, folds_max},
  whole_bounds{"data.fold", 0, folds_max - 1},
  whole_bounds{"data.index_base", 0, 1},
  whole_bounds{"data.hash_bits", 4, 30},
  whole_bounds{"data.chunk_rows", 1, rows_max},
  whole_bounds{"data.window_rows", 1, rows_max},
  whole_bounds{"data.window", 1, columns_max},
  whole_bounds{"data.stride", 1, rows_max},
  whole_bounds{"model.hidden", 1, units_max},
  whole_bounds{"model.cuts", 1, part_count_max},
  whole_bounds{"optimizer.history_size", 1, history_size_max},
  whole_bounds{"optimizer.plateau.patience", 1, epochs_max},
  whole_bounds{"optimizer.schedule.steps", 1, steps_max},
  whole_bounds{"optimizer.schedule.milestones", 1, steps_max},
  whole_bounds{"training.batch_size", 1, rows_max},
  whole_bounds{"training.slices", 1, slices_max},
  whole_bounds{"training.replicas", 1, actors_max},
  whole_bounds{"training.epochs", 1, epochs_max},
  whole_bounds{"training.steps", 1, steps_max},
  whole_bounds{"training.patience", 1, epochs_max},
  whole_bounds{"training.evaluate_every", 0, epochs_max},
  whole_bounds{"training.history_every", 1, epochs_max},
  whole_bounds{"training.members", 1, slices_max},
  whole_bounds{"training.local_steps", 1, steps_max},
  whole_bounds{"training.consistency.staleness", 0, steps_max},
  whole_bounds{"training.consistency.first", 1, actors_max* node_count_max},
  whole_bounds{"merge.trimmed_count", 0, slices_max},
  whole_bounds{"merge.faulty_count", 0, slices_max},
  whole_bounds{"merge.kept_count", 0, slices_max},
  whole_bounds{"merge.flipped_members", 0, clients_max},
  whole_bounds{"federated.clients", 1, clients_max},
  whole_bounds{"federated.cohort", 1, clients_max},
  whole_bounds{"federated.rounds", 1, epochs_max},
  whole_bounds{"federated.local_epochs", 1, epochs_max},
  whole_bounds{"federated.local_steps", 1, steps_max},
  whole_bounds{"federated.partition.labels", 1, columns_max},
  whole_bounds{"federated.min_count", 1, clients_max},
  whole_bounds{"federated.groups", 0, clients_max},
  whole_bounds{"federated.weight_max", 1, 1'048'576},
  whole_bounds{"parallel.data", 1, actors_max},
  whole_bounds{"parallel.tensor", 1, part_count_max},
  whole_bounds{"parallel.pipeline", 1, actors_max},
  whole_bounds{"parallel.stages", 1, hidden_layers_max + 1},
  whole_bounds{"runtime.threads", 1, actors_max},
  whole_bounds{"checkpoint.every_steps", 0, steps_max},
  whole_bounds{"runtime.attempts", 0, 1'000},
  whole_bounds{"runtime.lease", 0, 1'000'000},
  whole_bounds{"checkpoint.keep", 1, 1'000'000},
  whole_bounds{"node.replicas", 0, actors_max},
  whole_bounds{"node.shards", 0, actors_max},
  whole_bounds{"min_nodes", 1, node_count_max},
};

} // namespace

const whole_bounds& bounds_of(std::string_view key) {
  const auto found = std::ranges::find(bounds, key, &whole_bounds::key);
  if (found == bounds.end())
    throw std::invalid_argument("job bounds: no whole number is called '" + std::string{key} + "'");
  return *found;
}

std::string bounds_text(const whole_bounds& x) {
  return x.most == unbounded ? "of at least " + std::to_string(x.least)
                             : "from " + std::to_string(x.least) + " to " + std::to_string(x.most);
}

std::optional<job_problem> bounds_problem(std::string_view key, uint64_t value) {
  const auto& allowed = bounds_of(key);
  if (value >= allowed.least && value <= allowed.most)
    return std::nullopt;
  return job_problem{std::string{key}, std::to_string(value) + " is out of range",
                     "use a whole number " + bounds_text(allowed)};
}

} // namespace troupe
