// The privacy accountant: what n releases of noised sums reveal about one client, as (epsilon, delta).
//
// A release: each client takes part with probability q (Poisson sampling, with a secret cohort); the
// sum of their updates, each of norm at most C, gets Gaussian noise of deviation z C. Its Rényi
// divergence of order a (Mironov, Talwar & Zhang 2019, "Rényi differential privacy of the sampled
// Gaussian mechanism", section 3.3) is at most
//   R(a) = 1 / (a - 1) ln sum_{k=0..a} binomial(a, k) (1 - q)^(a - k) q^k e^((k^2 - k) / (2 z^2)),
// a / (2 z^2) for q = 1. Those of several releases add up, and for each a
//   epsilon = R(a) + ln((a - 1) / a) - (ln delta + ln a) / (a - 1)
// (Canonne, Kamath & Steinke 2020, proposition 12); the least over whole a in [2, 512] counts. It is
// an upper bound, for clients that are added or left out.
//
// With elementary functions of our own, so that a run that stops by epsilon stops at the same round
// everywhere.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

/// Orders a that are looked at.
inline constexpr size_t privacy_order_min = 2;
inline constexpr size_t privacy_order_max = 512;

/// How releases are made.
struct release_kind {
  double sampling_rate = 1; ///< q in (0, 1]
  double noise = 1;         ///< z > 0: deviation of the noise, as a multiple of the clip norm

  friend bool operator==(const release_kind&, const release_kind&) = default;
};

class privacy_accountant {
public:
  /// Throws std::invalid_argument unless delta is in (0, 1).
  explicit privacy_accountant(double delta);

  /// So many releases were made; in which order does not show. Throws std::invalid_argument for a rate or noise out of range.
  void add(const release_kind& kind, uint64_t count = 1);

  /// Of all releases so far; 0 for none.
  double epsilon() const;
  double delta() const { return delta_; }

private:
  using divergences = std::array<double, privacy_order_max + 1>;

  struct releases {
    release_kind kind;
    uint64_t count = 0;
    divergences of_one{}; ///< by order
  };

  releases& releases_of(const release_kind& kind);

  double delta_;
  std::vector<releases> all_;
};

/// Releases of this kind that together are at most (epsilon, delta); at most `limit`.
uint64_t release_count_within(double epsilon, double delta, const release_kind& kind,
                              uint64_t limit);

/// The least noise z, to a thousandth of it, with which `count` releases are at most (epsilon, delta).
/// Throws std::invalid_argument when none below 2^20 is enough.
double noise_for(double epsilon, double delta, double sampling_rate, uint64_t count);

} // namespace troupe
