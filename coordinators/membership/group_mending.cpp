#include "coordinators/membership/group_mending.hpp"

#include "coordinators/step/placement.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace troupe {

namespace {

/// The replicas that carry a group's partitions.
struct carriers {
  std::vector<std::optional<size_t>> replicas; ///< by rank in the group
  size_t gaps() const {
    return static_cast<size_t>(std::ranges::count_if(replicas, [](const auto& x) { return !x; }));
  }
};

class group_mending {
public:
  group_mending(std::vector<replica_place>& replicas, const std::vector<index_range>& orphans,
                size_t slice_count, const model_split& split)
    : replicas_(replicas), slice_count_(slice_count), wanted_(split.shape.data) {
    const grid_work work{1, split.part_count, split.segment_costs, split.stages};
    partitions_ = place_partitions({1, split.shape.tensor, split.shape.pipeline}, work,
                                   split.shape.group_size());
    for (const auto& slices : orphans)
      group_with(slices);
    for (size_t i = 0; i < replicas.size(); ++i)
      find_place_of(i);
  }

  void run() && {
    while (const auto least = fewest_gaps()) {
      auto& group = groups_[*least];
      if (group.gaps() <= spares_.size())
        fill(group);
      else
        dissolve(most_gaps());
    }
    if (!is_fair())
      split_anew();
    hand_out();
  }

private:
  carriers& group_with(const index_range& slices) {
    auto& result = groups_[slices];
    result.replicas.resize(partitions_.size());
    return result;
  }

  void find_place_of(size_t replica) {
    const auto& place = replicas_[replica];
    if (place.slices.empty())
      spares_.insert(replica);
    else
      group_with(place.slices).replicas[rank_of(place)] = replica;
  }

  size_t rank_of(const replica_place& place) const {
    const auto found = std::ranges::find_if(partitions_, [&](const partition& x) {
      return x.segments == place.segments && x.parts == place.parts;
    });
    return static_cast<size_t>(found - partitions_.begin());
  }

  std::optional<index_range> fewest_gaps() const {
    std::optional<index_range> result;
    for (const auto& [slices, group] : groups_)
      if (group.gaps() > 0 && (!result || group.gaps() < groups_.at(*result).gaps()))
        result = slices;
    return result;
  }

  /// The later group of equals.
  index_range most_gaps() const {
    auto result = groups_.begin();
    for (auto group = groups_.begin(); group != groups_.end(); ++group)
      if (group->second.gaps() >= result->second.gaps())
        result = group;
    return result->first;
  }

  void fill(carriers& group) {
    for (size_t rank = 0; rank < partitions_.size(); ++rank)
      if (!group.replicas[rank])
        group.replicas[rank] = take_spare(rank);
  }

  /// A spare that carried this partition in a dissolved group, else the first.
  size_t take_spare(size_t rank) {
    const auto carried =
      std::ranges::find_if(spares_, [&](size_t i) { return rank_of(replicas_[i]) == rank; });
    const auto found = carried != spares_.end() ? carried : spares_.begin();
    const auto result = *found;
    spares_.erase(found);
    return result;
  }

  void dissolve(const index_range& slices) {
    for (const auto& replica : groups_[slices].replicas)
      if (replica)
        spares_.insert(*replica);
    groups_.erase(slices);
  }

  /// How many more wanted groups the spares make up.
  size_t more_groups() const {
    const auto most = std::min(wanted_, slice_count_);
    return groups_.size() < most
             ? std::min(most - groups_.size(), spares_.size() / partitions_.size())
             : 0;
  }

  /// All slices are taken, and no group has two more than another, or than one that spares could make up.
  bool is_fair() const {
    size_t owned = 0;
    size_t largest = 0;
    size_t smallest = more_groups() > 0 ? 0 : slice_count_;
    for (const auto& [slices, group] : groups_) {
      owned += slices.size();
      largest = std::max(largest, slices.size());
      smallest = std::min(smallest, slices.size());
    }
    return owned == slice_count_ && largest <= smallest + 1;
  }

  void split_anew() {
    std::vector<carriers> groups;
    for (auto& [slices, group] : groups_)
      groups.push_back(std::move(group));
    for (auto more = more_groups(); more > 0; --more) {
      groups.emplace_back().replicas.resize(partitions_.size());
      fill(groups.back());
    }
    groups_.clear();
    const auto slices = split_evenly(slice_count_, groups.size());
    for (size_t g = 0; g < groups.size(); ++g)
      groups_[slices[g]] = std::move(groups[g]);
  }

  void hand_out() {
    for (const auto& [slices, group] : groups_)
      for (size_t rank = 0; rank < partitions_.size(); ++rank)
        replicas_[*group.replicas[rank]].take(
          {slices, partitions_[rank].segments, partitions_[rank].parts});
    for (const auto spare : spares_)
      replicas_[spare].take({});
  }

  std::vector<replica_place>& replicas_;
  size_t slice_count_;
  size_t wanted_;
  std::vector<partition> partitions_; ///< of a group; the slices do not count
  std::map<index_range, carriers> groups_;
  std::set<size_t> spares_;
};

} // namespace

void mend_groups(std::vector<replica_place>& replicas, const std::vector<index_range>& orphans,
                 size_t slice_count, const model_split& split) {
  group_mending{replicas, orphans, slice_count, split}.run();
}

} // namespace troupe
