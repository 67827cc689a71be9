// Outer rules: how the main model moves towards what its children's models merged to.
//
// Children train on their own for a while; their merged parameters theta* then say where to go.
// With d = theta* - theta, the main model theta becomes, element by element (t counts rounds from
// 0):
//   replace   theta*                                local SGD, FedAvg (McMahan et al. 2017)
//   sgd       v' = u v + d;  theta + a v'           with u = 0 and a < 1: a share of the way
//             nesterov: theta + a (d + u v')        DiLoCo (Douillard et al. 2023): a 0.7, u 0.9
//   adam      m' = b1 m + (1 - b1) d;  v' = b2 v + (1 - b2) d^2
//             theta + a m' / (sqrt(v') + tau)       FedAdam (Reddi et al. 2021, algorithm 2)
//   yogi      m' = b1 m + (1 - b1) d;  v' = v - (1 - b2) d^2 sign(v - d^2)
//             theta + a m' / (sqrt(v') + tau)       FedYogi (the same; Zaheer et al. 2018)
// -d stands for the gradient. As in the paper nothing corrects the moments for their start: m and
// the momentum are 0 at first, v is tau^2. State and arithmetic are in double.

#pragma once

#include "models/base/names.hpp"
#include "models/base/saved_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

enum class outer_kind : uint8_t { replace, sgd, adam, yogi };

template <>
struct name_table<outer_kind> {
  static constexpr std::array entries{
    named(outer_kind::replace, "replace"), named(outer_kind::sgd, "sgd"),
    named(outer_kind::adam, "adam"), named(outer_kind::yogi, "yogi")};
};

struct outer_options {
  outer_kind kind = outer_kind::replace;
  /// a > 0; absent: 1 for sgd (all the way), 0.01 for adam and yogi. `replace` has none.
  std::optional<double> learning_rate = std::nullopt;
  double momentum = 0;   ///< sgd: u in [0, 1)
  bool nesterov = false; ///< sgd: needs a momentum
  double beta1 = 0.9;    ///< adam, yogi: in [0, 1); the paper's
  double beta2 = 0.99;   ///< adam, yogi: in [0, 1); the paper's
  double tau = 1e-3;     ///< adam, yogi: > 0, in units of d: how adaptive (less is more)

  friend bool operator==(const outer_options&, const outer_options&) = default;
};

class outer_rule {
public:
  /// For models of P parameters. Throws std::invalid_argument for constants out of range.
  outer_rule(const outer_options& options, size_t parameter_count);

  /// next (P) from main (P) and merged (P); `next` may be the memory of `main`. False when a value
  /// of `next` is not finite: the state then is what it was before.
  /// Throws std::invalid_argument when sizes differ.
  bool apply(std::span<const float> main, std::span<const float> merged, std::span<float> next);

  const outer_options& options() const { return options_; }

  /// What it remembers: its moments.
  static state_shape shape_of(const outer_options& options);
  void save(state_saver& out) const;
  /// Throws std::invalid_argument for another number of parameters.
  void load(state_loader& in);

  friend bool operator==(const outer_rule&, const outer_rule&) = default;

private:
  double move(size_t i, double d, std::vector<double>& first, std::vector<double>& second) const;
  outer_options options_;
  double rate_ = 1;
  size_t size_ = 0;
  std::vector<double> first_;  ///< m, or the momentum's v; empty if the rule has none
  std::vector<double> second_; ///< v of adam and yogi
};

} // namespace troupe
