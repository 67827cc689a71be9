// Version gathering: which spans of which version a process has, and which it misses.
//
// Parameters come shard by shard, a span in one piece (from a shard of this process) or in many
// (over a wire), in any order, some twice. The process works on the newest version it has whole and
// gathers the next one:
//
//   version < wanted                -> stale: ignored
//   outside the model               -> malformed: ignored
//   every element known             -> known: ignored
//   otherwise                       -> accepted; version > wanted + 1 moves on to version - 1
//
// Why move on: a process whose replicas have no rows in some steps is not waited for. When a shard
// has version n, all have n - 1, and this one keeps nothing before that: what came between cannot
// be had any more, and nobody needs what this process would have made of it.
//
// Spans become news in order of version: one of v + 1 may be here before the last one of v, but who
// hears of v + 1 takes it that v is there. Where versions were left out the news says so.
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

/// `early`: of gradients only (gradient_gathering.hpp).
enum class gather_verdict : uint8_t { accepted, known, stale, early, malformed };

class version_gathering {
public:
  version_gathering() = default;

  /// `spans`: elements of each shard. `first`: the version gathered first; absent for a joiner.
  version_gathering(std::vector<index_range> spans, std::optional<uint64_t> first);

  /// A version's elements have come.
  gather_verdict offer(uint64_t version, const index_range& elements);

  /// A span that became whole.
  struct whole_span {
    uint64_t version = 0;
    size_t shard = 0;
    /// Versions before this one never were whole here: replicas begin anew at this one.
    bool skips = false;

    friend bool operator==(const whole_span&, const whole_span&) = default;
  };
  /// Those since the last call, in order of version.
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
  void tell(uint64_t version);
  bool is_whole(const span_set& here) const;

  std::vector<index_range> spans_;
  size_t element_count_ = 0;
  std::optional<uint64_t> held_;
  std::optional<uint64_t> wanted_;
  std::optional<uint64_t> next_;         ///< the version the next news is expected of
  std::map<uint64_t, span_set> here_;    ///< from the wanted version on
  std::optional<uint64_t> told_version_; ///< the version that news are of
  std::vector<bool> told_;               ///< by shard: its span of that version was news
  std::vector<whole_span> news_;
};

} // namespace troupe
