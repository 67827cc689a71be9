// A wire between tensor exchanges that loses, delays, reorders, duplicates and damages, by seed;
// and the truth that values are held against.

#pragma once

#include "coordinators/exchange/tensor_exchange.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::test {

/// Follows from the name, as the bits of a gradient follow from the job: not from the term.
inline float true_value(const tensor_name& name, uint64_t element) {
  uint64_t x = static_cast<uint64_t>(name.kind) + 7 * name.key + 131 * name.node.begin +
               1'543 * name.node.end + 6'151 * name.part + 49'157 * element;
  x = (x ^ (x >> 15)) * 0x9E37'79B9'7F4A'7C15u;
  return static_cast<float>(x >> 40);
}

inline tensor_note true_note(const tensor_name& name) {
  return {{name.key, name.node.begin, name.node.end, name.part}, {}};
}

/// Elements of a tensor in memory of their own.
inline float_view true_values(const tensor_name& name, const index_range& elements) {
  const buffer storage{elements.size()};
  for (auto e = elements.begin; e < elements.end; ++e)
    storage.values()[e - elements.begin] = true_value(name, e);
  return {storage, 0, elements.size()};
}

/// All of `values`, the elements from `first` on, are as the name says.
inline bool is_true(const tensor_name& name, uint64_t first, const float_view& values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values.values()[i] != true_value(name, first + i))
      return false;
  return true;
}

inline uint64_t sum_of_bits(std::span<const float> values) {
  uint64_t result = values.size();
  for (const auto x : values)
    result = (result ^ std::bit_cast<uint32_t>(x)) * 0x100'0000'01B3u;
  return result;
}

/// As it arrives: in memory of its own, with its checksum; perhaps with a bit turned over.
inline tensor_piece over_the_wire(const tensor_piece& news, std::optional<size_t> flipped) {
  const buffer storage{news.values.size()};
  std::ranges::copy(news.values.values(), storage.values().begin());
  const auto checksum = sum_of_bits(news.values.values());
  if (flipped && storage.size() > 0) {
    auto& hit = storage.values()[*flipped / 32 % storage.size()];
    hit = std::bit_cast<float>(std::bit_cast<uint32_t>(hit) ^ (1u << *flipped % 32));
  }
  auto result = news;
  result.values = {storage, storage.size(), checksum, sum_of_bits};
  return result;
}

/// Beside pieces: all tasks to the receiver that are open, or a result that is here.
struct task_note {
  uint64_t term = 0;
  uint64_t last = 0; ///< task to the receiver; of a result its number
  bool is_result = false;
  std::vector<uint64_t> open{};
};

struct wire_message {
  peer_id from = peer_id::director;
  peer_id to = peer_id::director;
  std::variant<tensor_piece, tensor_want, send_stamp, send_credit, task_note> what;
  bool is_damaged = false;
  bool is_copy = false;
};

struct wire_faults {
  unsigned loss = 0; ///< percent, as the others
  unsigned duplicates = 0;
  unsigned damage = 0;
  bool keeps_order = true; ///< between two ends

  friend bool operator==(const wire_faults&, const wire_faults&) = default;
};

class faulty_wire {
public:
  explicit faulty_wire(const wire_faults& faults) : faults_(faults) {}

  void send(wire_message message, std::mt19937_64& random) {
    if (falls(faults_.loss, random))
      return;
    message.is_damaged = falls(faults_.damage, random);
    if (auto* piece = std::get_if<tensor_piece>(&message.what))
      *piece = over_the_wire(*piece, message.is_damaged ? std::optional<size_t>{random() % 100'000}
                                                        : std::nullopt);
    else if (message.is_damaged)
      return; // its record is not read
    auto& queue = channels_[{message.from, message.to}];
    queue.push_back(std::move(message));
    if (!falls(faults_.duplicates, random))
      return;
    auto copy = queue.back();
    copy.is_copy = true;
    queue.push_back(std::move(copy));
  }

  bool is_empty() const { return channels_.empty(); }

  wire_message take(std::mt19937_64& random) {
    const auto at =
      std::next(channels_.begin(), static_cast<std::ptrdiff_t>(random() % channels_.size()));
    auto& queue = at->second;
    const auto place = faults_.keeps_order ? 0 : random() % queue.size();
    std::swap(queue.front(), queue[place]);
    auto result = std::move(queue.front());
    queue.pop_front();
    if (queue.empty())
      channels_.erase(at);
    return result;
  }

  /// A link broke: what is under way on it comes no more.
  void cut(peer_id a, peer_id b) {
    channels_.erase({a, b});
    channels_.erase({b, a});
  }

  /// Bytes of pieces under way, copies that the wire made aside.
  uint64_t bytes_between(peer_id from, peer_id to) const {
    uint64_t result = 0;
    if (const auto found = channels_.find({from, to}); found != channels_.end())
      for (const auto& message : found->second)
        if (const auto* piece = std::get_if<tensor_piece>(&message.what))
          result += message.is_copy ? 0 : piece->values.size() * sizeof(float);
    return result;
  }

  void heal() { faults_ = {.keeps_order = faults_.keeps_order}; }

private:
  static bool falls(unsigned percent, std::mt19937_64& random) { return random() % 100 < percent; }

  wire_faults faults_;
  std::map<std::pair<peer_id, peer_id>, std::deque<wire_message>> channels_;
};

} // namespace troupe::test
