// The name book: which name is held by which connection, so that no name is ever held by two
// processes at once.
//
//   free --candidate--> promised --introduced--> held
//    ^                     |                       | candidate: ask whether the holder is alive
//    +-----withdrawn-------+                       |   it is: refused; no word in time: come later
//    +--------------------------- lost ------------+
//
// The holder is asked over the old connection. A process that lost it is not reached by that, so
// one that comes back gets its name as soon as the old connection is known to be gone.

#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace troupe {

class name_book {
public:
  enum class advice : uint8_t {
    let_in,     ///< the name is promised to this ticket now
    ask_holder, ///< somebody has it
    later,      ///< somebody is being let in with it
  };
  advice on_candidate(const std::string& name, uint64_t ticket) {
    const auto [place, is_new] = entries_.try_emplace(name, entry{ticket, false});
    if (is_new)
      return advice::let_in;
    return place->second.held ? advice::ask_holder : advice::later;
  }
  /// The holder of this name has introduced itself. False when another one has it.
  bool on_introduced(const std::string& name, uint64_t ticket) {
    const auto [place, is_new] = entries_.try_emplace(name, entry{ticket, true});
    if (!is_new && place->second.ticket != ticket)
      return false;
    place->second.held = true;
    return true;
  }
  /// The promise to this ticket is void. One that was kept is not.
  void on_withdrawn(uint64_t ticket) {
    std::erase_if(entries_,
                  [&](const auto& x) { return x.second.ticket == ticket && !x.second.held; });
  }
  void on_lost(const std::string& name) { entries_.erase(name); }

  friend bool operator==(const name_book&, const name_book&) = default;

private:
  struct entry {
    uint64_t ticket = 0;
    bool held = false;

    friend bool operator==(const entry&, const entry&) = default;
  };
  std::map<std::string, entry> entries_;
};

} // namespace troupe
