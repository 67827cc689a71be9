// sequence.txt: what a run decided whose bits depend on the order in which gradients came. Who has it, the job and the
// data can repeat the run, bit for bit (`troupe train --replay`).
//
//   begin VERSION       a life of the run begins here: anew (0), or from a checkpoint; numbers of tasks begin anew, too
//   give TASK STEP      a replica gets the newest parameters, to compute this step's gradient
//   take TASK SCALE     it is here: it is put in its place, and shortens its step by this factor
//   late TASK           it is here and too late: nothing comes of it
//   drop TASK           it will not come, or not count: its replica is lost
//   close               the gradients in place make the next parameters
//   loss                likewise, as a replica is lost that they waited for: the version is out without them
//   pass STEP           the step is left out
//
// `take`, `late` and `pass` make the next version. A line is in the file before a checkpoint of its version is.

#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class decision_kind : uint8_t { begin, give, take, late, drop, close, pass, loss };

struct recorded_decision {
  decision_kind kind = decision_kind::close;
  uint64_t number = 0; ///< the task; of `begin` the version, of `pass` the step
  uint64_t step = 0;   ///< of `give`
  double scale = 1;    ///< of `take`: in (0, 1]

  friend bool operator==(const recorded_decision&, const recorded_decision&) = default;
};

struct recorded_round; // data/records/recorded_rounds.hpp

using recorded_sequence = std::vector<recorded_decision>;

/// What a run does with records of what does not follow from its job: asynchronous decisions, or clients that dialled in.
struct sequence_options {
  std::string file = {};                                ///< these go there; empty: nowhere
  std::shared_ptr<const recorded_sequence> replay = {}; ///< it repeats these; null: it decides
  std::shared_ptr<const std::vector<recorded_round>> rounds =
    {}; ///< it repeats these; null: it draws, or waits for, clients
};

/// Throws failure: missing_input, no_permission or io_error as the disk refuses; bad_data, with the line, for what is
/// no such record. A last line without its end was cut off as it was written: it does not count.
recorded_sequence read_sequence(const std::string& path);

/// The file while a run lasts.
class sequence_writer {
public:
  /// Of a run that goes on from `version`: what is in the file beyond it goes, and a life begins; 0: all goes. Throws
  /// failure: bad_data when the file does not reach that version, otherwise as read_sequence and write_file_atomically
  /// do.
  sequence_writer(std::string path, uint64_t version);

  void add(const recorded_decision& x);
  /// All that was added is in the file, as far as the system goes. Throws failure(io_error) if not.
  void flush();

private:
  std::string path_;
  std::ofstream file_;
};

} // namespace troupe
