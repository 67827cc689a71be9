// Cut rule: from which version a term begins after the loss of a span.
//
// In synchronous training the state at a version follows from the job and the version. So it needs no term, and whoever
// holds a part may give it. Every few steps each owner of a span copies the span with its optimizer's state, keeps the
// copy, and sends it to its *deputies*, the owners of the next spans. A *cut* is a version of which the living
// processes together hold copies of all spans. When a span is lost, the director asks all processes what they hold, and
// a term begins from the newest cut. Only without one it begins from the last checkpoint on the disk.
//
// An owner copies a version before it announces it. It copies nothing before its last copy has come to all of its
// deputies. So where version c is whole, the copy before it is at all deputies, whoever is lost then: with copies every
// k steps at most 2k steps are undone. Still older copies are forgotten (`copies_needed_from`). A term begins with a
// copy of its start, whose parts may lie elsewhere; until that is everywhere, the copies of the term before are kept.
//
// A cut can be made on purpose, with nothing undone: all hold, a version is named (coordinators/run/hold_rule.hpp), and
// owners keep their spans of it. So spans leave a process that goes, and come to one that has none (leave_rule.hpp).

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/base/span_set.hpp"
#include "coordinators/membership/cluster_view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

struct copy_options {
  size_t deputies =
    0; ///< of each span, where so many other processes have spans; 0: nothing is copied
  uint64_t every =
    0; ///< steps from one copy to the next; 0: so many that copies are few of the bytes
  size_t slot_count = 0;     ///< of the optimizer
  bool are_possible = false; ///< any process may begin with what others hold of the state

  friend bool operator==(const copy_options&, const copy_options&) = default;
};

/// Sets how spans of this view are copied: not at all where one process has them all. Unless given, the interval makes
/// copies a twentieth of what an owner sends otherwise, with spans of one size.
void plan_copies(cluster_view& view, const copy_options& options);

/// The members with deputies' copies of this shard's span: those that own the next spans, in a circle.
std::vector<size_t> deputies_of(const cluster_view& view, size_t shard);

/// The next version of the view's term behind `version` that is copied; nothing when none is.
std::optional<uint64_t> next_copy(const cluster_view& view, uint64_t version);

/// Older copies than this one are not needed once a version is whole somewhere.
uint64_t copies_needed_from(const cluster_view& view, uint64_t whole_version);

/// A version that a process holds copies of.
struct held_copy {
  uint64_t version = 0;
  std::vector<index_range> blocks;

  friend bool operator==(const held_copy&, const held_copy&) = default;
};

/// What a process holds, as it answers the question before a term.
struct held_copies {
  /// Of the question; until it begins nothing is forgotten, and shards stop. 0: nobody asked.
  uint64_t term = 0;
  std::vector<held_copy> copies;

  friend bool operator==(const held_copies&, const held_copies&) = default;
};

/// A version, and who has which part of its state.
struct cut {
  uint64_t version = 0;
  std::vector<span_holder> holders;

  friend bool operator==(const cut&, const cut&) = default;
};

/// The newest of the versions in `allowed` of which these members, in order of the view, hold every block.
std::optional<cut> newest_cut(const std::vector<std::vector<held_copy>>& members,
                              size_t block_count, const index_range& allowed);

// The question before a term: who is asked, and whether all have answered.
class cut_question {
public:
  /// How long a term waits for answers, and when it asks again.
  static constexpr milliseconds patience{1'000};
  static constexpr milliseconds again{200};
  /// An answer with more versions is none.
  static constexpr size_t copies_max = 64;

  void on_answer(const std::string& name, const held_copies& what);
  void on_lost(const std::string& name);
  void end() { *this = {}; }

  /// Who has to be asked now, before this term: of the members those that the last view names, in the same life, until
  /// they have answered. Others hold nothing. `waits`: for all answers, however long they take.
  std::vector<std::string> due(const std::optional<cluster_view>& last,
                               const std::vector<member>& members, uint64_t term, bool waits,
                               moment now);
  bool is_over(moment now) const {
    return missing_.empty() || (!waits_ && now - since_ >= patience);
  }
  /// What the members of a new view have answered.
  std::vector<std::vector<held_copy>> answers_of(const std::vector<member>& members) const;

  friend bool operator==(const cut_question&, const cut_question&) = default;

private:
  uint64_t term_ = 0;
  bool waits_ = false;
  moment since_{};
  std::optional<moment> asked_;
  std::set<std::string> missing_;
  std::map<std::string, std::vector<held_copy>> answers_;
};

} // namespace troupe
