// What everybody did and whose wait it was, on its way from the shard that counts it to people.

#pragma once

#include "actors/protocol/wire_numbers.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/run/replica_statistics.hpp"
#include "models/training/round_record.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

auto inspect(auto& f, replica_name& x) {
  return f(x.process, x.index);
}

/// shard -> its node, and on to whoever asks: who did what, and who waited for whom.
struct trainer_figures {
  uint64_t barrier_count = 0; ///< steps or rounds that waited for several
  std::vector<named_statistics> replicas;
  std::vector<std::string>
    left_out{};            ///< work that nobody does any more, with its rows: for people
  client_totals clients{}; ///< of federated training, since its parameter server began

  friend bool operator==(const trainer_figures&, const trainer_figures&) = default;
};

auto inspect(auto& f, trainer_statistics& x) {
  return inspect_fields(f, x.result_count, x.last_count, x.last_by, x.last_by_max, x.waited,
                        x.computed, x.network, x.applied_count, x.discarded_count, x.refused_count,
                        x.lost_count, x.lags);
}

auto inspect(auto& f, named_statistics& x) {
  return f(x.who, x.figures, x.partition);
}

auto inspect(auto& f, boundary_wait& x) {
  return inspect_fields(f, x.whom, x.count, x.time, x.longest);
}

auto inspect(auto& f, boundary_waits& x) {
  return inspect_fields(f, x.computed, x.waits);
}

auto inspect(auto& f, client_totals& x) {
  return inspect_fields(f, x.rounds, x.void_rounds, x.updates, x.refused, x.rows, x.privacy);
}

auto inspect(auto& f, trainer_figures& x) {
  return plain(f, "troupe.trainer_figures", x.barrier_count, x.replicas, x.left_out, x.clients);
}

} // namespace troupe
