// The name registry: which connection holds which name. No two processes ever hold one name at
// once, and no process is kept out by an old connection of its own.
//
//   free --candidate--> promised --opened--> opened --introduced--> held
//    ^                     |                   |                      |
//    +-----withdrawn-------+----withdrawn------+                      |
//    +----------------------------- lost -----------------------------+
//
// A candidate for a name that is not free:
//
//   the same process    it would not come if it still had its old connection, whatever this side
//                       sees of that: the old one is to be cut, and the candidate comes later
//   another, held       ask whether the holder is alive: it is: refused; no word in time: later
//   another, not held   later: an opened connection is introduced or forgotten in time
//
// This side asks the holder over the old connection. A process that lost that connection gets no
// question. So one that comes back gets its name once the old connection is known to be gone. This
// side cuts an opened connection whose two ends do not introduce themselves in time: after a stall
// one end may think that it is linked, and the other not.

#pragma once

#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe {

/// A process, whichever connection it comes over (`process_facts`).
struct process_identity {
  std::string process;
  uint64_t life = 0;

  friend bool operator==(const process_identity&, const process_identity&) = default;
};

class name_registry {
public:
  enum class advice : uint8_t {
    let_in,     ///< the name is promised to this ticket now
    ask_holder, ///< another process has it
    later,      ///< another one is being let in with it, or this one is already
    replace,    ///< the process itself has it on a connection it has given up: cut that; later
  };
  /// `deadline`: how long an opened connection may take to be introduced.
  explicit name_registry(milliseconds deadline) : deadline_(deadline) {}

  advice on_candidate(const std::string& name, const process_identity& who, uint64_t ticket);

  /// The connection of this ticket is handed to the actor system. False when another one has the
  /// name: it is to be closed.
  bool on_opened(const std::string& name, const process_identity& who, uint64_t ticket, moment now);

  /// The holder of this name has introduced itself. False when the connection of this ticket has
  /// been forgotten.
  bool on_introduced(const std::string& name, uint64_t ticket);

  /// Names in use, or promised, for which this holds.
  template <class Predicate>
  size_t count_if(const Predicate& holds) const {
    return static_cast<size_t>(
      std::ranges::count_if(entries_, [&](const auto& x) { return holds(x.first); }));
  }

  /// Tickets of opened connections that were not introduced in time: to be cut, and withdrawn.
  std::vector<uint64_t> overdue(moment now) const;

  /// The promise to this ticket is void. One that was kept is not.
  void on_withdrawn(uint64_t ticket);
  void on_lost(const std::string& name) { entries_.erase(name); }

  friend bool operator==(const name_registry&, const name_registry&) = default;

private:
  enum class phase : uint8_t { promised, opened, held };
  struct entry {
    uint64_t ticket = 0;
    process_identity who;
    phase at = phase::promised;
    moment due{}; ///< of an opened one

    friend bool operator==(const entry&, const entry&) = default;
  };

  milliseconds deadline_;
  std::map<std::string, entry> entries_;
};

} // namespace troupe
