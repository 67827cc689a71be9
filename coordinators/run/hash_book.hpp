// Hash book: the hashes of versions, from those who own their blocks. Parts go in as they come, in any order
// and some of them twice; a version's hash comes out once all blocks are told of.
//
//   add (some blocks of a version), ... --> hash_of (version) --> forget_below (version)

#pragma once

#include "troupe/models/base/index_range.hpp"
#include "troupe/models/base/version_hash.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

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

} // namespace troupe
