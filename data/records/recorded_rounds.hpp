// rounds.jsonl: which clients' updates made the model of each federated round, for a run whose clients dialled in. Who has
// it, the job and the clients' rows can repeat the run, bit for bit (`troupe train --replay`).
//
//   {"round":1,"clients":[{"name":"north","group":0,"rows":120,"update":"<SHA-256>"}]}
//
// One line a round, in order; a run that goes on from a checkpoint writes its rounds again, and then the newest line of a
// round counts, and none behind it. A void round has no clients.

#pragma once

#include "data/disk/open_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct recorded_client {
  std::string name;
  uint64_t group = 0;
  uint64_t rows = 0;
  std::string update; ///< SHA-256 of its model's values, hexadecimal

  friend bool operator==(const recorded_client&, const recorded_client&) = default;
};

struct recorded_round {
  uint64_t round = 0; ///< from 1
  std::vector<recorded_client> clients;

  friend bool operator==(const recorded_round&, const recorded_round&) = default;
};

/// Rounds 1, 2, .. in order. Throws failure: missing_input, no_permission or io_error as the disk refuses; bad_data, with
/// the line, for what is no such record. A last line without its end was cut off as it was written: it does not count.
std::vector<recorded_round> read_recorded_rounds(const std::string& path);

/// The file while a run lasts.
class recorded_rounds_writer {
public:
  /// Of a run that goes on after `round` rounds: later ones go. Throws failure: bad_data when the file does not reach that
  /// round, otherwise as read_recorded_rounds and write_file_atomically do.
  recorded_rounds_writer(std::string path, uint64_t round);

  /// Returns once the round is on the disk: a checkpoint of it is written later. Throws failure(io_error) if it cannot be.
  void add(const recorded_round& x);

private:
  std::string path_;
  open_file file_;
};

} // namespace troupe
