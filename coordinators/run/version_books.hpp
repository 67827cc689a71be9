// Version books: what several processes tell of a version, until all of it is there. The director keeps
// one for hashes and one for metrics.

#pragma once

#include "troupe/coordinators/step/timeline.hpp"
#include "troupe/models/base/index_range.hpp"
#include "troupe/models/base/version_hash.hpp"
#include "troupe/models/metrics/metric_set.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

// Hash book: the hashes of versions, from those who own their blocks. Parts go in as they come, in any order
// and some of them twice; a version's hash comes out once all blocks are told of.
//
//   add (some blocks of a version), ... --> hash_of (version) --> forget_below (version)
class hash_book {
public:
  /// No blocks: nobody tells hashes.
  explicit hash_book(size_t block_count) : block_count_(block_count) {}

  /// False for blocks that there are not, or that overlap those of another part: it is to be ignored.
  bool add(uint64_t version, const index_range& blocks, const version_hash& hash);

  /// Nothing while blocks are missing.
  std::optional<version_hash> hash_of(uint64_t version) const;

  /// Nobody asks for the hashes of these any more.
  void forget_below(uint64_t version) { parts_.erase(parts_.begin(), parts_.lower_bound(version)); }
  void forget() { parts_.clear(); }

  friend bool operator==(const hash_book&, const hash_book&) = default;

private:
  struct part {
    uint64_t end = 0; ///< of its blocks
    version_hash hash;
    friend bool operator==(const part&, const part&) = default;
  };

  uint64_t block_count_;
  std::map<uint64_t, std::map<uint64_t, part>> parts_; ///< by version and first block
};

// Metric book: what evaluations come to beside their losses. Sums of chunks go in as they come, in any
// order and some of them twice; a version's figures come out once all are there.
//
//   add (chunks of a version), ... --> figures_of (version) --> forget_below (version)
class metric_book {
public:
  metric_book(std::shared_ptr<const metric_set> metrics, const evaluation_rows& rows);

  /// True for sums of chunks [first, first + `chunk_count`) that there are, of this job's metrics.
  bool takes(uint64_t first_chunk, size_t chunk_count, const std::vector<metric_sums>& sums) const;
  /// Of what it takes; a chunk that is there already stays as it is.
  void add(uint64_t version, uint64_t first_chunk, const std::vector<metric_sums>& sums);

  /// Of the test rows and of the validation rows; without values while chunks are missing.
  metric_figures figures_of(uint64_t version) const;

  /// Nobody asks for the figures of these any more.
  void forget_below(uint64_t version) { sums_.erase(sums_.begin(), sums_.lower_bound(version)); }
  void forget() { sums_.clear(); }

  friend bool operator==(const metric_book&, const metric_book&) = default;

private:
  /// Added in the order of chunks, so with the same bits whoever judged them.
  std::vector<double> total_of(uint64_t version, const index_range& chunks) const;

  std::shared_ptr<const metric_set> metrics_;
  evaluation_rows rows_;
  std::map<uint64_t, std::map<uint64_t, metric_sums>> sums_; ///< by version and chunk
};

} // namespace troupe
