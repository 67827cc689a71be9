// Lost work: whether a piece of a synchronous step ends every process that computes it.
//
// The slices of a lost process go to others. A row that kills its reader would so kill them one after
// the other, until none is left. So this rule counts losses by slice, as long as training stands at
// the step in which they happened:
//
//   loss at step s, slices S --> counted for S --the step is done, or the lost one is back--> forgotten
//                                   |
//                    `attempts` of them for one slice
//                                   v
//                               in doubt (no view goes out) --none is back for `patience`--> the end
//
// A link that is lost is not a process that died: it joins again, under another incarnation of the same
// life (`member::life`), and its loss never counted. Until then the two look alike. So the end waits
// for processes that may come back, and their slices for the next owner.
//
// Machines that fail together are no chain: only the first loss counts at once. Others count if the
// process had reported the view in which it was lost: it was there and at work. To leave time for such
// reports, the view after a loss is *careful*: replicas begin a little later with it. Each report says
// at which step its process stood when its view came (`left`): the step of the loss.
//
// Where each life is unknown (0), nothing ever counts.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/membership/cluster_view.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Slices of a step with which so many processes were lost.
struct deadly_work {
  uint64_t step = 0;
  std::vector<size_t> slices;     ///< ascending
  std::vector<std::string> names; ///< of the processes, in the order they were lost

  friend bool operator==(const deadly_work&, const deadly_work&) = default;
};

struct lost_work_options {
  size_t attempts = 3;           ///< losses that end the run; 0: none do
  milliseconds patience{10'000}; ///< how long lost processes may take to come back
};

class lost_work {
public:
  explicit lost_work(const lost_work_options& options) : options_(options) {}

  /// This view goes out.
  void on_view(const cluster_view& news);
  /// A process that was lost and joins in the same life was not dead.
  void on_joined(const member& who);
  void on_lost(const member& who, moment now);
  /// A process has this view. `left`: the version at which it stood when that came; `version`: at
  /// which it stands. Either may be unknown.
  void on_report(const std::string& name, const view_number& has, std::optional<uint64_t> left,
                 std::optional<uint64_t> version);

  /// What goes out now may be deadly: replicas are to be careful.
  bool is_careful() const { return !losses_.empty(); }
  /// No view is to go out: a lost process may come back, or the run ends.
  bool in_doubt(moment now) const;
  /// The run ends by this.
  std::optional<deadly_work> verdict(moment now) const;

  friend bool operator==(const lost_work& a, const lost_work& b) { return a.losses_ == b.losses_; }

private:
  struct loss {
    member who;
    std::vector<size_t> slices;
    moment when;
    view_number view; ///< in which it was lost
    bool counts = false;
    std::optional<uint64_t> step; ///< nothing: no report has said yet
    view_number placed;           ///< the view of the reports that say so

    friend bool operator==(const loss&, const loss&) = default;
  };

  std::vector<size_t> slices_of(const member& who) const;
  /// Slices that were lost often enough, and when they were lost last. A loss that no report has placed
  /// is open, or, after `patience`, belongs to the step at which the others stand.
  std::optional<std::pair<deadly_work, moment>> suspect(bool is_open) const;

  lost_work_options options_;
  cluster_view view_;
  std::map<std::string, view_number> heard_; ///< the newest view that a process has
  std::optional<uint64_t> version_;          ///< the highest said in this view
  std::vector<loss> losses_;                 ///< since training moved last
};

} // namespace troupe
