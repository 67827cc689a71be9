// Version reports: what the director collects of versions from several processes: hashes and metrics, until all of
// a version is there, when versions came, and how fast they come.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/step/timeline.hpp"
#include "models/base/index_range.hpp"
#include "models/base/version_hash.hpp"
#include "models/metrics/metric_set.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

// Version hashes: the hashes of versions, from the owners of their blocks. Parts go in as they come, in any order
// and some of them twice; a version's hash comes out once all its blocks have one.
//
//   add (some blocks of a version), ... --> hash_of (version) --> forget_below (version)
class version_hashes {
public:
  /// No blocks: no shard reports hashes.
  explicit version_hashes(size_t block_count) : block_count_(block_count) {}

  /// False for blocks that there are not, or that overlap those of another part: it is to be ignored.
  bool add(uint64_t version, const index_range& blocks, const version_hash& hash);

  /// Nothing while blocks are missing.
  std::optional<version_hash> hash_of(uint64_t version) const;

  /// The hashes of these are not needed any more.
  void forget_below(uint64_t version) { parts_.erase(parts_.begin(), parts_.lower_bound(version)); }
  void forget() { parts_.clear(); }

  friend bool operator==(const version_hashes&, const version_hashes&) = default;

private:
  struct part {
    uint64_t end = 0; ///< of its blocks
    version_hash hash;
    friend bool operator==(const part&, const part&) = default;
  };

  uint64_t block_count_;
  std::map<uint64_t, std::map<uint64_t, part>> parts_; ///< by version and first block
};

// Version metrics: what evaluations come to beside their losses. Sums of chunks go in as they come, in any
// order and some of them twice; a version's figures come out once all are there.
//
//   add (chunks of a version), ... --> figures_of (version) --> forget_below (version)
class version_metrics {
public:
  version_metrics(std::shared_ptr<const metric_set> metrics, const evaluation_rows& rows);

  /// True for sums of chunks [first, first + `chunk_count`) that there are, of this job's metrics.
  bool takes(uint64_t first_chunk, size_t chunk_count, const std::vector<metric_sums>& sums) const;
  /// Of what it takes; a chunk that is there already stays as it is.
  void add(uint64_t version, uint64_t first_chunk, const std::vector<metric_sums>& sums);

  /// Of the test rows and of the validation rows; without values while chunks are missing.
  metric_figures figures_of(uint64_t version) const;

  /// The figures of these are not needed any more.
  void forget_below(uint64_t version) { sums_.erase(sums_.begin(), sums_.lower_bound(version)); }
  void forget() { sums_.clear(); }

  friend bool operator==(const version_metrics&, const version_metrics&) = default;

private:
  /// Added in the order of chunks, so with the same bits whichever replica evaluated them.
  std::vector<double> total_of(uint64_t version, const index_range& chunks) const;

  std::shared_ptr<const metric_set> metrics_;
  evaluation_rows rows_;
  std::map<uint64_t, std::map<uint64_t, metric_sums>> sums_; ///< by version and chunk
};

// Version times: when versions came to be, as their shard reported: for progress at once; for rows of the
// history, checkpoints and the end, which are made once evaluations and copies are there. Reports go on while
// no row is made, so only times that will be needed are kept.
class version_times {
public:
  /// Rows that wait for their evaluation and checkpoints that wait for copies are a few at a time.
  static constexpr size_t kept_max = 64;

  /// The first report on a version counts. One that is not `kept` is forgotten with the next.
  void add(uint64_t version, double seconds, bool kept) {
    newest_ = {version, of(version).value_or(seconds)};
    if (kept)
      seconds_.insert(newest_);
    if (seconds_.size() > kept_max)
      seconds_.erase(seconds_.begin());
  }

  /// Nothing when it was never reported, or is forgotten.
  std::optional<double> of(uint64_t version) const {
    const auto found = seconds_.find(version);
    if (found != seconds_.end())
      return found->second;
    return version == newest_.first && version > 0 ? std::optional{newest_.second} : std::nullopt;
  }

  /// Versions below this are not needed any more.
  void forget_below(uint64_t version) {
    seconds_.erase(seconds_.begin(), seconds_.lower_bound(version));
  }

  void clear() { *this = {}; }
  size_t size() const { return seconds_.size(); }

  friend bool operator==(const version_times&, const version_times&) = default;

private:
  std::map<uint64_t, double> seconds_;
  std::pair<uint64_t, double> newest_; ///< version 0: none
};

// Pace: how fast versions come, over the last seconds. Reported versions are seconds old at most:
// the shard that counts the metrics reports ten times a second while training moves.
class pace {
public:
  /// Long enough for a step of a second to count evenly, short enough to show what happens now.
  static constexpr milliseconds window{10'000};

  /// A version was reached. An earlier one than before is a roll-back: counting begins anew.
  void on_version(uint64_t version, moment now) {
    if (!seen_.empty() && version < seen_.back().second)
      seen_.clear();
    seen_.emplace_back(now, version);
    while (seen_.size() > 1 && now - seen_.front().first > window)
      seen_.pop_front();
  }

  /// 0 while nothing is known, and when nothing came within the window.
  double steps_per_second(moment now) const {
    if (seen_.size() < 2 || now - seen_.back().first > window)
      return 0;
    const std::chrono::duration<double> seconds = now - seen_.front().first;
    const auto steps = seen_.back().second - seen_.front().second;
    return seconds.count() > 0 ? static_cast<double>(steps) / seconds.count() : 0;
  }

  friend bool operator==(const pace&, const pace&) = default;

private:
  std::deque<std::pair<moment, uint64_t>> seen_;
};

} // namespace troupe
