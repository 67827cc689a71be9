// Leave rule: the processes that ask to leave, and which of them may go.
//
//   member --asks--> leaving --it has no spans--------------------------------------> gone
//                     |   |                                                             ^
//                     |   +--a cut at a version; a term from there without its spans;   |
//                     |      whoever owns them now has them ---------------------------+
//                     +--the others could not go on: it stays and works, until another comes
//
// A process may be asked to end some time before it has to: a spot machine, a pod that moves. The cut (cut_rule.hpp) makes
// of it a loss with nothing undone. Of a model whose spans are not copied, the loss of spans costs a roll-back all the
// same. First it waits a moment, because a stop of all processes comes as one signal to each.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/membership/cluster_view.hpp"

#include <map>
#include <string>
#include <vector>

namespace troupe {

class leave_rule {
public:
  /// How long a process waits for a stop of the run: a signal to all reaches each by itself.
  static constexpr milliseconds patience_default{2'000};

  /// What a process says of itself, again and again. `leaves`: it asks to.
  void on_word(const std::string& name, bool leaves, moment now) {
    if (leaves)
      those_.try_emplace(name, leaver{now, false});
    else if (!is_out(name)) // its spans are on their way
      those_.erase(name);
  }
  void on_lost(const std::string& name) { those_.erase(name); }

  /// Of the members those that leave and may: without them the others `can_go_on`.
  template <class Members, class Predicate>
  std::vector<std::string> may_go(const Members& present, const Predicate& can_go_on) const {
    std::vector<std::string> result;
    if (those_.empty())
      return result;
    std::vector<member> members = present();
    for (const auto& [name, one] : those_) {
      auto others = members;
      std::erase_if(others, [&](const member& who) { return who.name == name; });
      if (others.size() == members.size() || !can_go_on(others))
        continue;
      members = std::move(others);
      result.push_back(name);
    }
    return result;
  }

  /// A term begins without spans and slices of this process; it is a member until all have what it holds.
  void set_out(const std::string& name) { those_.at(name).is_out = true; }
  /// The others cannot go on without those that are out: they take part again.
  void take_back() {
    for (auto& [name, one] : those_)
      one.is_out = false;
  }
  bool is_out(const std::string& name) const {
    const auto found = those_.find(name);
    return found != those_.end() && found->second.is_out;
  }
  bool has_waited(const std::string& name, milliseconds patience, moment now) const {
    return now - those_.at(name).since >= patience;
  }

  friend bool operator==(const leave_rule&, const leave_rule&) = default;

private:
  struct leaver {
    moment since;
    bool is_out = false;
    friend bool operator==(const leaver&, const leaver&) = default;
  };
  std::map<std::string, leaver> those_;
};

} // namespace troupe
