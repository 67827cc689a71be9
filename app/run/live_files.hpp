// The files of a run that grow while it lasts: whoever reads along has each row and each event as
// soon as it is there. A disk that refuses one must not end the run: that file is given up with one
// warning, and training goes on.

#pragma once

#include "data/records/event_file.hpp"
#include "data/records/history_file.hpp"
#include "data/records/rounds_file.hpp"
#include "data/records/tensorboard_file.hpp"
#include "data/run_folder/run_directory.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class live_files {
public:
  /// `earlier`: the rows that a resumed run goes on from, at `version`; nothing for one that begins. `warn` is told
  /// of a file that is given up, in a whole line. No file is touched before `begin`: until then the
  /// folder may be an earlier run's.
  live_files(const run_directory& folder, bool wants_tensorboard,
             std::optional<std::vector<history_row>> earlier, uint64_t version,
             std::function<void(const std::string&)> warn);

  /// The folder is this run's: `event` is the first of this process's life. What came before is
  /// left out.
  void begin(const run_event& event);

  void add(const history_row& row);
  /// Federated rounds; of a run without them none.
  void add(const std::vector<round_record>& rounds);
  void add(const run_event& event) { add(event, nullptr); }

private:
  // A file that is made when it is needed, until the disk refuses something.
  template <class Writer>
  struct growing {
    bool is_wanted = false;
    std::optional<Writer> out{};
  };
  template <class Writer, class Make, class Put>
  void attempt(growing<Writer>& file, const Make& make, const Put& put);
  void add(const run_event& event, const history_row* row);

  std::string history_path_;
  std::string rounds_path_;
  std::string tensorboard_folder_;
  std::string event_path_;
  bool wants_tensorboard_;
  std::optional<std::vector<history_row>> earlier_;
  uint64_t version_;
  std::function<void(const std::string&)> warn_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  growing<history_writer> history_;
  growing<rounds_writer> rounds_;
  growing<tensorboard_writer> tensorboard_;
  growing<event_writer> events_;
};

} // namespace troupe
