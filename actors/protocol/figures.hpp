// What everybody did and whose wait it was, on its way from the shard that counts it to people.

#pragma once

#include "troupe/actors/protocol/wire_numbers.hpp"
#include "troupe/coordinators/membership/cluster_view.hpp"
#include "troupe/coordinators/run/replica_statistics.hpp"
#include "troupe/coordinators/run/seam_waits.hpp"
#include "troupe/models/training/round_record.hpp"

#include <caf/error.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A time on its way: its nanoseconds.
struct wire_time {
  std::chrono::nanoseconds& value;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, wire_time x) {
  auto count = static_cast<int64_t>(x.value.count());
  auto load = [&]() -> caf::error {
    x.value = std::chrono::nanoseconds{count};
    return caf::none;
  };
  return f(count, caf::meta::load_callback(load));
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, replica_name& x) {
  return f(x.process, x.index);
}

/// shard -> its node, and on to whoever asks: who did what, and who waited for whom.
struct trainer_figures {
  uint64_t barrier_count = 0; ///< steps or rounds that waited for several
  std::vector<named_statistics> replicas;
  std::vector<std::string>
    left_out{};            ///< work that nobody does any more, with its rows: for people
  client_totals clients{}; ///< of federated training, since its keeper began

  friend bool operator==(const trainer_figures&, const trainer_figures&) = default;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, trainer_statistics& x) {
  wire_time last_by{x.last_by};
  wire_time last_by_max{x.last_by_max};
  wire_time waited{x.waited};
  wire_time computed{x.computed};
  wire_time network{x.network};
  return f(x.result_count, x.last_count, last_by, last_by_max, waited, computed, network,
           x.applied_count, x.discarded_count, x.refused_count, x.lost_count, x.lags);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, named_statistics& x) {
  return f(x.who, x.figures, x.portion);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, seam_wait& x) {
  wire_time time{x.time};
  wire_time longest{x.longest};
  return f(x.whom, x.count, time, longest);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, seam_waits& x) {
  wire_time computed{x.computed};
  return f(computed, x.waits);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, client_totals& x) {
  bool is_private = x.privacy.has_value();
  auto privacy = x.privacy.value_or(privacy_totals{});
  auto load = [&]() -> caf::error {
    x.privacy = is_private ? std::optional{privacy} : std::nullopt;
    return caf::none;
  };
  return f(x.rounds, x.void_rounds, x.updates, x.refused, x.rows, is_private, privacy,
           caf::meta::load_callback(load));
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, trainer_figures& x) {
  return f(caf::meta::type_name("troupe.trainer_figures"), x.barrier_count, x.replicas, x.left_out,
           x.clients);
}

} // namespace troupe
