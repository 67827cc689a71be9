// Outsiders: the processes that the director has a link with, and that no view names. The object says who may be admitted
// next, and who has no link with some member.
//
//   linked --> outside --links to all members, works, and its time to stay out is over--> admitted
//                 ^                                                                          |
//                 +------------------- taken out, joins anew ------------------------------+
//
// A process without a link to some member would hold up both. So it stays outside, and is named once after a while. Only
// where it is needed, it is admitted after that while all the same: the rule of members finds out who of the two goes.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/membership/cut_rule.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

// Readmission: when a process that was taken out of the run may take part again.
//
// Two processes that cannot reach each other both reach the director, so the one that was taken out
// joins anew at once. Admitted at once, it would get work, the others would wait for it until it is
// taken out again, and so on: training would stand still most of the time. So it stays out for a
// while, twice as long each time. Once it has then been in for as long as it was out, it is trusted
// again.
class readmission {
public:
  readmission() = default;
  readmission(milliseconds wait_min, milliseconds wait_max)
    : wait_min_(wait_min), wait_max_(std::max(wait_min, wait_max)) {}

  void on_taken_out(const std::string& name, moment now) {
    auto& last = last_[name];
    const bool is_trusted = last.wait == milliseconds{0} || now - last.until >= last.wait;
    last.wait = is_trusted ? wait_min_ : std::min(2 * last.wait, wait_max_);
    last.until = now + last.wait;
  }

  bool may_join(const std::string& name, moment now) const {
    const auto last = last_.find(name);
    return last == last_.end() || now >= last->second.until;
  }

  friend bool operator==(const readmission&, const readmission&) = default;

private:
  struct absence {
    milliseconds wait{0};
    moment until{};
    friend bool operator==(const absence&, const absence&) = default;
  };
  milliseconds wait_min_{0};
  milliseconds wait_max_{0};
  std::map<std::string, absence> last_;
};

/// What a process says of itself.
struct fitness {
  bool hangs = false;                ///< it is not admitted while it does
  std::vector<std::string> linked{}; ///< processes that it has links with, while it is outside
  bool has_version = false;          ///< of the present term
  held_copies copies{};              ///< as it answers before a term
  bool leaves = false;               ///< it asks to (leave_rule.hpp)
};

/// A process that has no link with some members, and so takes no part until it has.
struct unlinked_process {
  std::string name;
  std::vector<std::string> missing;
};

class outsiders {
public:
  /// `patience`: a process without links is named after it, or admitted where it is needed.
  outsiders(bool links_first, milliseconds patience, const readmission& later)
    : links_first_(links_first), patience_(patience), readmission_(later) {}

  /// A process is linked, or joins anew.
  void add(const member& who, moment now) { those_[who.name] = {who, now}; }
  void on_lost(const std::string& name, uint64_t incarnation);
  void on_taken_out(const std::string& name, moment now) { readmission_.on_taken_out(name, now); }
  void on_hung(const std::string& name) { hung_.insert(name); }
  void on_fitness(const std::string& name, const fitness& news);

  bool empty() const { return those_.empty(); }
  /// A process that may be a member now, beside these; it is no outsider any more. `is_needed`: training does not go on.
  std::optional<member> admit(const std::vector<std::string>& members, bool is_needed, moment now);
  /// Who lacks links for long by now; each once.
  std::vector<unlinked_process> newly_unlinked(const std::vector<std::string>& members, moment now);

  friend bool operator==(const outsiders&, const outsiders&) = default;

private:
  struct outsider {
    member who;
    moment since;
    std::set<std::string> linked{}; ///< as it said last
    bool is_named = false;          ///< as one without links

    friend bool operator==(const outsider&, const outsider&) = default;
  };
  bool may_join(const std::string& name, moment now) const {
    return readmission_.may_join(name, now) && !hung_.contains(name);
  }
  std::vector<std::string> missing_links(const outsider& one,
                                         const std::vector<std::string>& members) const;

  bool links_first_;
  milliseconds patience_;
  readmission readmission_;
  std::set<std::string> hung_;
  std::map<std::string, outsider> those_;
};

} // namespace troupe
