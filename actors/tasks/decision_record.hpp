// Decision record: the file that an asynchronous run's decisions go to as they are followed, so that the run can be
// repeated (data/records/sequence_file.hpp, actors/tasks/replay_policy.hpp). A disk that refuses it does not end the
// run: the file is removed, and training goes on without.

#pragma once

#include "coordinators/modes/span_model.hpp"
#include "data/records/sequence_file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

class decision_record {
public:
  /// A term begins at this version. No path: nothing is written.
  void begin(const std::string& path, uint64_t version);
  void add(const sequence_entry& entry);
  void flush();
  /// Why the file was given up, once; empty: it was not.
  std::string take_problem() { return std::exchange(problem_, {}); }

private:
  void attempt(const std::function<void()>& what);

  std::string path_;
  std::optional<sequence_writer> out_;
  std::string problem_;
};

} // namespace troupe
