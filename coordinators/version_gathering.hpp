// Version gathering: which spans of which version a process has, and which it misses.
//
// Parameters come shard by shard, a span in one piece (from a shard of this process) or in many
// (over a wire), in any order, some twice. The process works on the newest version it has whole and
// gathers the next one:
//
//   version <= held                 -> stale: ignored
//   version > held + 2              -> early: ignored (it is asked for when its turn comes)
//   outside the model               -> malformed: ignored
//   every element known             -> known: ignored
//   otherwise                       -> accepted
//
// Why + 2: a process whose replicas have no rows in a step hears of v + 2 from one shard before it
// has v + 1 from another.
//
// A joiner holds nothing and cannot know which version is in work, so it asks each shard for its
// current version and the one before. All shards are at v or v + 1, and training stands still while
// the joiner's slices are missing, so v is whole soon. It takes the highest version that is.

#pragma once

#include "troupe/coordinators/span_set.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace troupe {

enum class gather_verdict : uint8_t { accepted, known, stale, early, malformed };

class version_gathering {
public:
  version_gathering() = default;

  /// `spans`: elements of each shard. `first`: the version gathered first; absent for a joiner.
  version_gathering(std::vector<index_range> spans, std::optional<uint64_t> first);

  /// A version's elements have come.
  gather_verdict offer(uint64_t version, const index_range& elements);

  /// Spans that became whole since the last call, in order of version: {version, shard}.
  struct whole_span {
    uint64_t version = 0;
    size_t shard = 0;
    friend bool operator==(const whole_span&, const whole_span&) = default;
  };
  std::vector<whole_span> take_whole_spans();

  /// The newest version that is whole here; nothing before the first.
  std::optional<uint64_t> held() const { return held_; }
  /// The version that is gathered; nothing while a joiner does not know.
  std::optional<uint64_t> wanted() const { return wanted_; }
  /// Elements of the wanted version that are not here, cut at the bounds of shards; for a joiner
  /// everything.
  std::vector<index_range> missing() const;

  friend bool operator==(const version_gathering&, const version_gathering&) = default;

private:
  void settle();
  bool is_whole(const span_set& here) const;

  std::vector<index_range> spans_;
  size_t element_count_ = 0;
  std::optional<uint64_t> held_;
  std::optional<uint64_t> wanted_;
  std::map<uint64_t, span_set> here_;          ///< of versions above held_
  std::map<uint64_t, std::vector<bool>> told_; ///< by version and shard: told as whole
  std::vector<whole_span> news_;
};

} // namespace troupe
