// Version gathering: which spans of which version a process has, and which it misses.
//
// Parameters come span by span, from shards of this process or in pieces over a wire, in any order,
// some twice. The process works on the newest version it has whole and gathers what is newer:
//
//   version < wanted, or older than
//   the newest three that are known  -> stale: ignored
//   outside the model                -> malformed: ignored
//   every element known              -> known: ignored
//   otherwise                        -> accepted
//
// Usually versions become whole one by one. A process that was away (frozen, cut off, or a joiner,
// who holds nothing) finds that the others have gone on: it asks each shard for its current version
// and the one before, and takes the highest version that becomes whole, a *jump*. All shards are at
// v or v + 1 and keep both, so v can be had whole; and once this process owns slices training
// stands still for it, so v is whole soon. A process that owned slices all the time never jumps:
// nobody gets beyond a version it does not have.
//
// Three are enough: the version that is wanted, and the two a shard may be known to have.

#pragma once

#include "troupe/coordinators/base/span_set.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace troupe {

/// `early`: of gradients only (gradient_gathering.hpp).
enum class gather_verdict : uint8_t { accepted, known, stale, early, malformed };

/// Versions gathered at a time.
inline constexpr size_t gathered_versions_max = 3;

class version_gathering {
public:
  version_gathering() = default;

  /// `spans`: elements of each shard. `first`: the version gathered first; absent for a joiner.
  version_gathering(std::vector<index_range> spans, std::optional<uint64_t> first);

  /// A version's elements have come.
  gather_verdict offer(uint64_t version, const index_range& elements);

  /// A version that became whole since the last call; at most the newest is told. `jump`: it does
  /// not follow the one told before.
  struct whole_version {
    uint64_t version = 0;
    bool jump = false;
    friend bool operator==(const whole_version&, const whole_version&) = default;
  };
  std::optional<whole_version> take_whole();

  /// The newest version that is whole here; nothing before the first.
  std::optional<uint64_t> held() const { return held_; }
  /// The version that is gathered next; nothing while a joiner does not know.
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
  std::map<uint64_t, span_set> here_; ///< of versions above held_
  std::optional<whole_version> news_;
};

} // namespace troupe
