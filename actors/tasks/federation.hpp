// Federation: the clients of a federated run, and who of them takes part in each round. The parameter server and all
// trainers of a process share one object.
//
//   simulated   their rows are here; a round's cohort is drawn
//   recorded    their rows are here; a round's cohort is that of an earlier run, whose clients dialled in
//   dialled in  they compute elsewhere: `gather` asks for a round, and knows its cohort once it is over

#pragma once

#include "coordinators/clients/gathered_round.hpp"
#include "coordinators/modes/federated_rounds.hpp"
#include "models/training/client_rows.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct recorded_round; // data/records/recorded_rounds.hpp

/// Opens a round for clients that start from a model, and calls `done` once when it is over, on any thread.
using round_opener = std::function<void(uint64_t round, uint64_t attempt, const const_buffer& start,
                                        std::function<void(gathered_round)> done)>;

class federation {
public:
  /// `key`: for drawing secret cohorts and noise.
  federation(const federated_options& options, client_rows rows, const secret_key& key = {})
    : options_(options), client_count_(rows.client_count()), rows_(std::move(rows)), key_(key) {}

  /// Clients dial in, at most `client_count` in a round where all may take part. `closer`: the open round is to end.
  federation(const federated_options& options, size_t client_count, round_opener opener,
             std::function<void()> closer, const secret_key& key = {})
    : options_(options),
      client_count_(client_count),
      key_(key),
      closer_(std::move(closer)),
      opener_(std::move(opener)) {}

  /// The cohorts are those of a record, of a run with at most `client_count` clients. `files`: what the files of the
  /// clients whose rows are here are called, in their order; that of a client begins with its name and a point.
  void repeat(std::shared_ptr<const std::vector<recorded_round>> record,
              std::vector<std::string> files, size_t client_count);

  const federated_options& options() const { return options_; }
  const client_rows& rows() const { return rows_; }
  size_t client_count() const { return client_count_; }
  ring_bounds bounds() const { return options_.bounds(client_count_); }
  const secret_key& key() const { return key_; }
  bool gathers() const { return opener_ != nullptr; }
  /// Groups of a round, where clients dial in.
  size_t group_count() const;
  /// Rounds that the record has; nothing: there is no record.
  std::optional<uint64_t> recorded_rounds() const;

  /// Thread-safe; a call waits while another thread draws the cohort. `attempt`: each attempt at a private round has
  /// another cohort. Where clients dial in, of a round that is over; else null. Throws failure(missing_input) for a
  /// recorded client that has no rows here.
  std::shared_ptr<const cohort> cohort_at(uint64_t round, uint64_t attempt = 0) const;

  /// The round that is open waits for nobody any more.
  void hurry() const {
    if (closer_)
      closer_();
  }
  /// Calls `take` once the round is over, at once or on another thread. The first call for a round opens it.
  void gather(uint64_t round, uint64_t attempt, const const_buffer& start,
              std::function<void(const gathered_round&)> take) const;

private:
  cohort draw(uint64_t round, uint64_t attempt) const;
  cohort recorded(uint64_t round) const;
  void on_gathered(gathered_round x) const;

  struct entry {
    uint64_t round;
    uint64_t attempt;
    std::shared_ptr<const cohort> who;
  };

  federated_options options_;
  size_t client_count_ = 0;
  client_rows rows_;
  secret_key key_;
  std::shared_ptr<const std::vector<recorded_round>> record_;
  std::vector<std::string> files_;
  mutable std::mutex mutex_;
  mutable std::vector<entry> kept_; ///< at most two: a late trainer may be a round behind
  mutable bool has_opened_ = false;
  mutable entry open_{}; ///< the round that was opened last; its cohort once it is over
  mutable std::shared_ptr<const gathered_round> gathered_; ///< of it
  mutable std::vector<std::function<void(const gathered_round&)>> waiting_;
  std::function<void()> closer_;
  round_opener opener_; ///< last: with it ends the thread that calls back
};

} // namespace troupe
