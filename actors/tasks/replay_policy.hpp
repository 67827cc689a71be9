// Replay policy: an asynchronous run again, bit for bit, from the record of its decisions (data/records/sequence_file.hpp).
//
//   record: give 7 - give 8 - take 8 - close - give 9 - take 7 - ..
//                      ^
//        the decisions before it are made; a `take` waits until the gradient is here
//
// Each task begins with the parameters that it began with in the recorded run, and its gradient moves the model when it
// did there. So the result does not depend on how many replicas there are now, or how fast: another computes a lost
// replica's gradient, from the same parameters. Tasks that came to nothing are not given out. Where the record ends,
// training does.

#pragma once

#include "actors/tasks/server_policy.hpp"
#include "data/records/sequence_file.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class replay_policy : public server_policy {
public:
  /// `record` as read_sequence gives it.
  explicit replay_policy(const recorded_sequence& record);

  void begin(server_records& records, span_model& span, state_loader* saved) override;
  void save(state_saver& out, const span_model& span) const override { span.save(out); }

  std::optional<server_outcome> pass_over(server_records& records, moment now) override;
  uint64_t piece_limit(server_records&) override { return given_count_; }
  std::optional<trainer_task> task_for(size_t place, server_records& records, moment now) override;
  server_outcome on_result(const trainer_result& news, server_records& records,
                           moment now) override;

  server_outcome on_left_out(uint64_t piece, server_records& records, moment now) override;
  std::string in_words(uint64_t piece) const override;
  piece_rows rows_of(uint64_t piece) const override { return {step_of_[piece], 1, 0}; }

  uint64_t next_step(const server_records& records) const override;
  uint64_t piece_of(uint64_t, uint64_t step) const override;
  bool keeps_tasks() const override { return true; }

private:
  /// A decision about the task of a piece: pieces are the tasks that came to something, in the order they were given.
  struct item {
    decision_kind kind = decision_kind::close;
    uint64_t piece = 0; ///< give, take, late
    uint64_t step = 0;  ///< give, pass
    double scale = 1;   ///< take
  };
  struct arrived {
    batch_sums sums;
    bool finite = true;
    uint64_t trainer = 0;
  };

  /// Training ends at this version; told once.
  std::optional<server_outcome> end_here();
  server_outcome make(const item& what, server_records& records);

  std::vector<item> items_;
  std::vector<uint64_t> step_of_;            ///< of each piece
  std::map<uint64_t, uint64_t> open_pieces_; ///< that are given and open, by step
  std::vector<uint64_t> quiet_versions_;     ///< at which no task is open, ascending
  size_t next_ = 0;                          ///< item
  uint64_t given_count_ = 0;                 ///< pieces below it are given
  std::map<uint64_t, arrived> arrived_;      ///< results, by piece
  std::map<uint64_t, uint64_t>
    closed_at_; ///< of each piece that is given and open: models that were made before
  uint64_t closed_count_ = 0;
  bool has_ended_ = false;
};

} // namespace troupe
