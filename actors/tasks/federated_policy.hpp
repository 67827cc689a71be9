// Federated policy: the strategy `federated`. It cuts a round's cohort of clients into pieces and gives each piece to
// a free trainer. A trainer returns one sum of updates for each piece (coordinators/modes/federated_rounds.hpp); a merged
// span has the main model and the sums (coordinators/modes/merged_span.hpp).
//
//   round open: every piece to a free trainer --all are back--> closed --below the horizon--> open
//        \--too few answer: passed over, the model stays
//
// Clients may dial in instead (actors/tasks/federation.hpp): then a piece is a group, whose clients are known when their
// round is over. A record has them, so that a later run can repeat this one from the clients' rows.
//
// A version is a round. A client's update follows from (round, client), and sums are exact. So the bits depend neither
// on trainers and pieces, nor on the order of results, nor on losses: another trainer gets a lost trainer's piece.
//
// A private run has a log of its releases (`release_log`). The log gives each round's attempt, and a round's model
// exists only once the log has it. The noise is drawn with (key, words of the sum) under the name (round, attempt). So
// even with a lost log, or one key for two runs, only equal sums could get equal noise.

#pragma once

#include "actors/tasks/federation.hpp"
#include "actors/tasks/server_policy.hpp"
#include "coordinators/modes/privacy_budget.hpp"
#include "data/privacy/release_ledger.hpp"
#include "data/records/recorded_rounds.hpp"
#include "models/training/round_record.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct release_options {
  std::string ledger; ///< path; the file is made when the log is opened
  privacy_budget_options budget;
  double clip_norm = 1; ///< for people
};

// The log of a private run's releases: the ledger on the disk, and its totals. The parameter server owns it.
//
//   is_spent? --no--> attempt_at(round) --> record: on the disk --> the model may leave the parameter server
//       \--yes--> training ends
//
// A resumed run reads what its earlier lives wrote. A process may be lost after a release, with the round's model. Then
// the run repeats the round at the next attempt, with another cohort and other noise. Both releases count.
class release_log {
public:
  /// Opens the log of a run that begins at `version`. Throws failure as release_ledger does, and bad_data for a ledger
  /// that lacks an earlier round: then it is unknown what was released.
  release_log(const release_options& options, uint64_t version);

  bool is_spent() const { return budget_.is_spent(); }
  uint64_t attempt_at(uint64_t round) const { return ledger_.next_attempt(round); }
  /// Writes the release of a round; returns once it is on the disk. Throws as release_ledger does.
  void record(uint64_t round);

  privacy_totals totals() const;

private:
  release_options options_;
  release_ledger ledger_;
  privacy_budget budget_;
};

/// The span model of all parameters, from these initial ones; of a private run with its noise.
std::unique_ptr<span_model> span_of(const federation& clients, const const_buffer& initial);

/// Maximum clients of a task: their figures travel in its result's header, 9 bytes each.
inline constexpr size_t clients_of_task_max = 4096;
/// Tasks that each trainer gets in a round, if there are enough clients. Halved, the round waits twice as long for its
/// last trainer; doubled, there are twice as many messages.
inline constexpr size_t tasks_of_round = 8;

struct federated_policy_options {
  std::shared_ptr<const federation> clients;
  size_t piece_size = 0; ///< clients of a task, for tests; 0: by how many trainers there are
  std::optional<release_options> releases = std::nullopt; ///< of private rounds
  std::string record = {}; ///< file that gets the clients of each round; empty: none does
};

class federated_policy : public server_policy {
public:
  explicit federated_policy(const federated_policy_options& options) : options_(options) {}

  void begin(server_records& records, span_model& span, state_loader* saved) override;
  void save(state_saver& out, const span_model& span) const override;

  std::optional<server_outcome> pass_over(server_records& records, moment now) override;
  uint64_t piece_limit(server_records& records) override;
  std::optional<trainer_task> task_for(size_t place, server_records& records, moment now) override;
  server_outcome on_result(const trainer_result& news, server_records& records,
                           moment now) override;

  server_outcome on_left_out(uint64_t piece, server_records& records, moment now) override;
  std::string in_words(uint64_t piece) const override;
  piece_rows rows_of(uint64_t) const override { return {round_, 0, 0}; }

  void on_hold() override { options_.clients->hurry(); }
  uint64_t next_step(const server_records& records) const override {
    return records.model.version() + (open_ ? 1 : 0);
  }
  uint64_t piece_of(uint64_t piece, uint64_t) const override { return piece; }
  uint64_t round() const override { return round_; }
  bool hides_work() const override { return options_.releases.has_value(); }

private:
  void open_log(server_records& records);
  /// Opens a round whose clients are known beforehand. False: there is nothing to do in it.
  bool open_round(server_records& records);
  server_outcome close_round(server_records& records, moment now);
  /// The log has the release of the open round from now on, and the record its clients; else why they cannot have it.
  std::string record_release();
  std::string record_clients(const closed_round& closed);
  size_t piece_size(const server_records& records, size_t counted) const;

  federated_policy_options options_;
  std::optional<federated_rounds> rounds_;
  std::optional<release_log> releases_;
  std::optional<recorded_rounds_writer> record_;
  client_totals totals_; ///< of all lives
  batch_sums last_sums_; ///< of the last round that was not void
  uint64_t last_ticket_ = 0;
  uint64_t round_ = 0;
  uint64_t attempt_ = 0; ///< of the open round
  bool open_ = false;
  std::string unreadable_;    ///< why log or record cannot be read; empty: they can
  bool reported_end_ = false; ///< the director knows that the budget is spent
};

} // namespace troupe
