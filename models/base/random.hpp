// Random numbers as a pure function of what they are for.
//
// A number's place is (seed, purpose, major, index): nothing is drawn "next", so any process can
// make any part of any sequence, in any order, and all agree. The generator is Philox4x32-10
// (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; Random123). Distributions are
// our own: those of the standard library differ between implementations.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// What random numbers are for. Values are part of the results: never renumber, only append.
enum class random_purpose : uint32_t {
  initialization = 1,
  shuffle = 2,
  split = 3,
  synthetic_features = 4,
  synthetic_targets = 5,
  synthetic_noise = 6,
  dropout = 7,
  cohort = 8,
  partition = 9,
  client_shuffle = 10,
  drop_out = 11,
  client_speed = 12,
  grouping = 13,
  shuffle_chunks = 14,
  shuffle_window = 15,
  generated_text = 16,
  importance = 17,
  holding = 18,
  invitation = 19,
};

/// One sequence: `major` separates sequences of one purpose (an epoch, a tensor, a step).
struct random_sequence {
  uint64_t seed = 0;
  random_purpose purpose = random_purpose::initialization;
  uint64_t major = 0;

  /// Block `index` of the sequence: four independent words.
  std::array<uint32_t, 4> block(uint32_t index) const;
};

/// Element i of the sequence of 32-bit words: lane i % 4 of block i / 4.
uint32_t random_word(const random_sequence& sequence, uint64_t i);

/// Words of a sequence one after the other, from any of them on: what needs an unknown number.
class word_reader {
public:
  explicit word_reader(const random_sequence& sequence, uint64_t first = 0);

  uint32_t operator()() {
    if (next_ % 4 == 0)
      block_ = sequence_.block(static_cast<uint32_t>(next_ / 4));
    return block_[next_++ % 4];
  }
  /// Uniform in (0, 1): the middle of one of 2^32 equal parts.
  double unit() { return ((*this)() + 0.5) * 0x1p-32; }
  /// Uniform among 0 .. count - 1 but for a share of count / 2^32; count >= 1.
  uint32_t below(uint32_t count) {
    return static_cast<uint32_t>((uint64_t{(*this)()} * count) >> 32);
  }

private:
  random_sequence sequence_;
  uint64_t next_;
  std::array<uint32_t, 4> block_{};
};

/// out[i] uniform in [low, high), from element first + i.
void fill_uniform(const random_sequence& sequence, uint64_t first, float low, float high,
                  std::span<float> out);

/// out[i] normal with mean 0 and the given deviation (Box & Muller 1958), from the words
/// 2 (first + i) and 2 (first + i) + 1. |out| <= 6.8 deviation.
void fill_normal(const random_sequence& sequence, uint64_t first, float deviation,
                 std::span<float> out);

/// The numbers 0 .. count - 1 in random order (Fisher & Yates; Durstenfeld 1964).
std::vector<uint32_t> random_permutation(const random_sequence& sequence, uint32_t count);

// Draws of distributions, in double, with our own elementary functions: the same on every machine.

/// Normal with mean 0 and deviation 1 (Box & Muller 1958), two words.
double draw_normal(word_reader& words);

/// Log of a gamma variate with this shape > 0 and scale 1 (Marsaglia & Tsang 2000, "A simple method
/// for generating gamma variables"; below 1 by their boost, x u^(1/shape)). The log, since with a
/// shape of 0.001 most variates are below the least double.
double draw_log_gamma(word_reader& words, double shape);

} // namespace troupe
