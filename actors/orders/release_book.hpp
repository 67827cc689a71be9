// The book of a private run's releases: the ledger on the disk, and what it comes to. The keeper's.
//
//   is_spent? --no--> attempt_at(round) --> record: on the disk --> the model may leave the keeper
//       \--yes--> training ends
//
// A run that goes on reads what earlier lives wrote. A round that was released and whose model was lost
// with its process is made again at the next attempt: another cohort, other noise. Both count.

#pragma once

#include "troupe/coordinators/modes/privacy_budget.hpp"
#include "troupe/data/privacy/release_ledger.hpp"
#include "troupe/models/training/round_record.hpp"

#include <cstdint>
#include <string>

namespace troupe {

struct release_options {
  std::string ledger; ///< path; the file is made when the book is opened
  privacy_budget_options budget;
  double clip_norm = 1; ///< for people
};

class release_book {
public:
  /// Of a run that begins at `version`. Throws failure as release_ledger does, and bad_data for a
  /// ledger that lacks a round below it: then nobody knows what was released.
  release_book(const release_options& options, uint64_t version);

  bool is_spent() const { return budget_.is_spent(); }
  uint64_t attempt_at(uint64_t round) const { return ledger_.next_attempt(round); }
  /// Returns once it is on the disk. Throws as release_ledger does.
  void record(uint64_t round);

  privacy_totals totals() const;

private:
  release_options options_;
  release_ledger ledger_;
  privacy_budget budget_;
};

} // namespace troupe
