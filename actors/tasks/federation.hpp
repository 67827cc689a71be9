// Federation: the clients' rows of a federated run, and the cohort of each round. The parameter server and all trainers
// of a process share one object. It keeps the cohorts of the newest rounds, so most calls only copy a pointer.

#pragma once

#include "coordinators/modes/federated_rounds.hpp"
#include "models/training/client_rows.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

class federation {
public:
  /// `key`: for drawing secret cohorts and noise.
  federation(const federated_options& options, client_rows rows, const secret_key& key = {})
    : options_(options), rows_(std::move(rows)), key_(key) {}

  const federated_options& options() const { return options_; }
  const client_rows& rows() const { return rows_; }
  ring_bounds bounds() const { return options_.bounds(rows_.client_count()); }
  const secret_key& key() const { return key_; }

  /// Thread-safe; a call waits while another thread draws the cohort. `attempt`: each attempt at a private round has
  /// another cohort.
  std::shared_ptr<const cohort> cohort_at(uint64_t round, uint64_t attempt = 0) const;

private:
  cohort draw(uint64_t round, uint64_t attempt) const;

  struct entry {
    uint64_t round;
    uint64_t attempt;
    std::shared_ptr<const cohort> who;
  };

  federated_options options_;
  client_rows rows_;
  secret_key key_;
  mutable std::mutex mutex_;
  mutable std::vector<entry> kept_; ///< at most two: a late trainer may be a round behind
};

} // namespace troupe
