// Sequence link: a parameter server's decisions on their way to the owners of spans in other processes. Plain objects of
// the nodes at both ends.
//
//   sequence_outbox ==== decisions ====> sequence_inbox --in order, each once--> owner
//         ^                                    |
//         +------------ position --------------+
//
// The first position, 0, says that the owner is there: before that nothing goes to it. Then a decision goes out at once.
// What the other end does not acknowledge in time is sent again from the first one on.

#pragma once

#include "coordinators/exchange/repair_clock.hpp"
#include "coordinators/modes/span_model.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace troupe {

class sequence_outbox {
public:
  struct message {
    std::string to;
    std::vector<sequence_entry> entries;
  };

  /// A term begins: positions start again. `owners`: their processes.
  void begin_term(const std::vector<std::string>& owners);
  /// The next decisions; others are ignored.
  void add(const std::vector<sequence_entry>& entries);
  /// The owner in this process has all decisions up to this position.
  void on_progress(const std::string& from, uint64_t position, moment now);
  /// What is to be sent now.
  std::vector<message> due(moment now);

private:
  struct owner {
    bool is_there = false;
    uint64_t known = 0; ///< up to here it has them
    uint64_t sent = 0;
    repair_clock clock{};
  };

  std::vector<sequence_entry> next(owner& x) const;

  std::deque<sequence_entry> entries_;  ///< that some owner does not have
  uint64_t last_ = 0;                   ///< position
  std::map<std::string, owner> owners_; ///< by process
};

class sequence_inbox {
public:
  void begin_term() { position_ = 0; }
  uint64_t position() const { return position_; }

  /// Those that are next, in order; none if one before them is missing.
  std::vector<sequence_entry> accept(const std::vector<sequence_entry>& entries);

private:
  uint64_t position_ = 0;
};

} // namespace troupe
