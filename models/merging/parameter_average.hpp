// Averaged parameters, for evaluation and saving: the last version of noisy training jumps about
// where its average stands still. Training never sees them.
//
// Of the n versions x_1 .. x_n since `first_version`, the newest last:
//   mean         sum x_i / n                                       Polyak & Juditsky 1992
//   exponential  sum d^(n-i) x_i / sum d^(n-i), d the decay        "exponential moving average"
// The weights of both add up to 1 from the first version on, so no early version (or a start of 0)
// stays behind as a remainder d^n. In double, version by version, so the bits depend on the
// versions alone: y += s (x_n - y) with s = 1 / n, or s = (1 - d) / (1 - d^n).

#pragma once

#include "models/base/names.hpp"
#include "models/base/saved_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

enum class averaging_kind : uint8_t { none, mean, exponential };

template <>
struct name_table<averaging_kind> {
  static constexpr std::array entries{named(averaging_kind::none, "none"),
                                      named(averaging_kind::mean, "mean"),
                                      named(averaging_kind::exponential, "exponential")};
};

struct averaging_options {
  averaging_kind kind = averaging_kind::none;
  double decay =
    0.999; ///< exponential: in [0, 1); 0.999 remembers some 1,000 versions, fewer all alike
  uint64_t first_version = 0; ///< earlier ones are left out: they are far from any minimum

  friend bool operator==(const averaging_options&, const averaging_options&) = default;
};

class parameter_average {
public:
  parameter_average() = default;

  /// Throws std::invalid_argument for a decay out of range.
  explicit parameter_average(const averaging_options& options);

  /// A version (P) was made; called once for each, in order. Throws std::invalid_argument for
  /// another size than before.
  void add(uint64_t version, std::span<const float> values);

  /// The average (P); empty while it has seen no version, and for kind `none`.
  std::vector<float> values() const { return {average_.begin(), average_.end()}; }
  uint64_t count() const { return count_; }

  /// What it remembers: the average.
  static state_shape shape_of(const averaging_options& options);
  void save(state_saver& out) const;
  void load(state_loader& in);

  friend bool operator==(const parameter_average&, const parameter_average&) = default;

private:
  averaging_options options_;
  std::vector<double> average_;
  uint64_t count_ = 0;
  double rest_ = 1; ///< exponential: decay to the power of count_
};

} // namespace troupe
