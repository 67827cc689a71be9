// Ring sums: the updates of many clients added exactly, so that the order does not exist.
//
// Of a client's model theta_c that began at theta, with the weight w (a whole number), each element
// is rounded once to a whole multiple of 2^-f and added as a 64-bit integer:
//   q_j   = round_to_even((theta_c_j - theta_j) w 2^f)
//   sum_j = sum of all q_j, modulo 2^64
//   mean_j = sum_j 2^-f / sum of all w                      once, in double
// Integers add up to the same in any order, grouping and number of parts. So any thread or process
// can make a partial sum; it may come late, or be made anew by another. It takes 8 bytes an element,
// however many clients there are.
//
// f is derived, never configured. With R the greatest change that is taken, W the greatest weight
// and K the greatest number of clients (ceil log2 of each product):
//   f = min(62 - log2(K W R), 50 - log2(W R))
// The first keeps the sum below 2^63: it cannot overflow. The second keeps q below 2^51, where adding
// 1.5 2^52 rounds a double to a whole number on every machine that rounds to nearest: callers of
// `add` need a default_rounding (models/base/rounding.hpp) around it, as all actors have. With K =
// 10,000, W = R = 1,024: f = 28, a client is rounded to 2^-29 of a weight of 1, 1.9e-9.
//
// An update beyond R, or one that is not finite, is refused and adds nothing.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// What a ring sum has room for.
struct ring_bounds {
  double range = 1024;        ///< R > 0: the greatest |theta_c_j - theta_j|
  uint64_t weight_max = 1024; ///< W >= 1
  uint64_t count_max = 1;     ///< K >= 1: clients of one sum
  int fraction_bits_max = 62; ///< of f: a coarser grid than there is room for

  friend bool operator==(const ring_bounds&, const ring_bounds&) = default;
};

/// The f of these bounds. Throws std::invalid_argument for a range that is not above 0 and finite, or
/// bounds so wide that a weight of 1 would be rounded to more than a millionth of the range.
int fraction_bits_of(const ring_bounds& bounds);

/// What became of an update.
enum class update_verdict : uint8_t {
  counted,
  not_finite,     ///< a value of it is not
  out_of_range,   ///< a value of it changed by more than the range
  not_as_recorded ///< it is not the one that a record of the round has
};

template <>
struct name_table<update_verdict> {
  static constexpr std::array entries{named(update_verdict::counted, "counted"),
                                      named(update_verdict::not_finite, "not-finite"),
                                      named(update_verdict::out_of_range, "out-of-range"),
                                      named(update_verdict::not_as_recorded, "not-as-recorded")};
};

/// How far a client went.
struct update_size {
  double norm = 0;    ///< |theta_c - theta|, squares added in double in fixed lanes
  double largest = 0; ///< greatest |theta_c_j - theta_j|
};

/// Both (P) of one size. The norm is not finite exactly when a value is not.
update_size measure_update(std::span<const float> start, std::span<const float> values);

class ring_sum {
public:
  ring_sum() = default;
  /// Of `size` elements (P), 0 at first. Throws as fraction_bits_of does.
  ring_sum(const ring_bounds& bounds, size_t size);

  /// Adds a client's update, its `values` (P) against `start` (P) times `scale`, unless it is refused.
  /// `size` is measure_update's of both. Throws std::invalid_argument for other sizes, a weight of 0 or beyond
  /// the greatest one, and more clients than there is room for.
  update_verdict add(std::span<const float> start, std::span<const float> values, uint64_t weight,
                     const update_size& size, double scale = 1);
  /// Adds a part. Throws std::invalid_argument for other bounds or another size, or when there is no
  /// room.
  void add(const ring_sum& part);
  /// Adds words that came from elsewhere, of `count` clients with the weight `weight` together.
  /// Throws likewise.
  void add(std::span<const int64_t> words, uint64_t weight, uint64_t count);
  void clear();

  std::span<const int64_t> words() const { return words_; }
  uint64_t weight() const { return weight_; } ///< of all clients
  uint64_t count() const { return count_; }   ///< of clients
  int fraction_bits() const { return fraction_bits_; }
  size_t size() const { return words_.size(); }

  /// `start` (P) moved by the mean update, each element rounded once. Throws std::invalid_argument
  /// for no clients, or another size.
  std::vector<float> mean_onto(std::span<const float> start) const;

  friend bool operator==(const ring_sum&, const ring_sum&) = default;

private:
  void take_room(uint64_t weight, uint64_t count);

  ring_bounds bounds_;
  int fraction_bits_ = 0;
  std::vector<int64_t> words_;
  uint64_t weight_ = 0;
  uint64_t count_ = 0;
};

/// `start` (P) moved by a sum of `words` (P) with `fraction_bits`, divided by `denominator`, each element
/// rounded once.
std::vector<float> moved_by(std::span<const float> start, std::span<const int64_t> words,
                            int fraction_bits, double denominator);

/// Words on their way between processes: as two vectors that hold the lower and upper halves' bits.
/// They are never computed with; all (P) of one size.
void split_words(std::span<const int64_t> words, std::span<float> low, std::span<float> high);
void join_words(std::span<const float> low, std::span<const float> high, std::span<int64_t> words);

} // namespace troupe
