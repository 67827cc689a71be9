// A world: the state of a small cluster at one moment, as a few numbers. Equal parts are kept once
// (`pool`), so that millions of worlds fit.

#pragma once

#include "troupe/tests/support/walk/cluster_director.hpp"
#include "troupe/tests/support/walk/cluster_parts.hpp"

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace troupe::test {

/// Equal values get one number. `key` must be equal for equal values.
template <class T>
class pool {
public:
  uint16_t number_of(const T& value, uint64_t key) {
    auto& same_key = by_key_[key];
    for (auto number : same_key)
      if (values_[number] == value)
        return number;
    values_.push_back(value);
    same_key.push_back(static_cast<uint16_t>(values_.size() - 1));
    if (values_.size() > 0xFFFF)
      throw std::length_error{"too many different parts"};
    return same_key.back();
  }
  const T& operator[](uint16_t number) const { return values_[number]; }
  size_t size() const { return values_.size(); }

private:
  std::deque<T> values_;
  std::unordered_map<uint64_t, std::vector<uint16_t>> by_key_;
};

/// How often each trouble may still come, in any world.
struct troubles {
  uint8_t crashes = 0;    ///< a replica's process ends
  uint8_t suspicions = 0; ///< 1: the second replica's process is thought to be lost and goes on
  uint8_t duplicates = 0; ///< a message comes twice
  uint8_t losses = 0;     ///< a message does not come
  uint8_t wants = 0;      ///< somebody asks for what it misses before it is due
  uint8_t stops = 0;      ///< an interrupt

  friend bool operator==(const troubles&, const troubles&) = default;
};

struct world {
  static constexpr size_t messages_max = 256;

  std::array<uint16_t, replica_count> replicas{};
  std::array<uint16_t, shard_count> shards{};
  uint16_t director = 0;
  troubles left{};
  std::bitset<messages_max> messages; ///< under way, by number

  friend bool operator==(const world&, const world&) = default;
};

struct hash_of_world {
  size_t operator()(const world& w) const {
    const auto& left = w.left;
    return derive({w.replicas[0], w.replicas[1], w.shards[0], w.shards[1], w.director, left.crashes,
                   left.suspicions, left.duplicates, left.losses, left.wants, left.stops,
                   std::hash<std::bitset<world::messages_max>>{}(w.messages)})
      .id;
  }
};

} // namespace troupe::test
