// The record of a federated round, a line of rounds.csv, and at the end that of clients.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// How figures of clients are spread: the 10th, 50th and 90th in a hundred, and the greatest.
struct client_quantiles {
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double most = 0;

  friend bool operator==(const client_quantiles&, const client_quantiles&) = default;
};

/// Of `values`, in any order; the nearest rank: the least value that at least q n of n do not exceed.
/// All 0 for none.
client_quantiles quantiles_of(std::vector<float> values);

struct round_record {
  uint64_t round = 0; ///< from 1: the version it led to
  uint64_t invited = 0;
  uint64_t dropped = 0; ///< never answered
  uint64_t late = 0;
  uint64_t surplus = 0;      ///< would have come in time, when enough had
  uint64_t refused = 0;      ///< their updates were: not finite, or out of range
  uint64_t counted = 0;      ///< of those in the model; 0 in a void round
  uint64_t rows = 0;         ///< that these trained on, each as often as they did
  double loss = 0;           ///< mean over those rows
  client_quantiles losses{}; ///< of clients' mean losses
  client_quantiles norms{};  ///< of clients' updates
  bool is_void = false;      ///< too few were left: the model stayed
  /// Of a private run: of all releases so far. All but `round` and `is_void` is then left out.
  std::optional<double> epsilon = std::nullopt;

  friend bool operator==(const round_record&, const round_record&) = default;
};

/// The final model on rows that clients hold out, each client's on its own. What it comes to for those
/// it serves worst is the mean over a tenth of the clients, rounded up.
struct client_evaluation {
  uint64_t clients = 0;        ///< that have such rows
  uint64_t rows = 0;           ///< of all of them
  client_quantiles losses{};   ///< of clients' mean losses
  double worst_tenth_loss = 0; ///< of those
  std::optional<client_quantiles>
    accuracies{}; ///< classification: of clients' shares of right rows
  std::optional<double> worst_tenth_accuracy{};

  friend bool operator==(const client_evaluation&, const client_evaluation&) = default;
};

/// From each client's mean loss and, of a classification, its share of right rows.
client_evaluation evaluation_of(const std::vector<float>& losses,
                                const std::vector<float>& accuracies, uint64_t rows);

/// What a private run has let out (models/privacy/accountant.hpp).
struct privacy_totals {
  uint64_t releases = 0; ///< of all lives of the run
  double epsilon = 0;    ///< of them together
  double delta = 0;
  double noise = 0;         ///< z
  double sampling_rate = 1; ///< q of the accountant
  double clip_norm = 0;

  friend bool operator==(const privacy_totals&, const privacy_totals&) = default;
};

/// What all rounds of a run came to.
struct client_totals {
  uint64_t rounds = 0;
  uint64_t void_rounds = 0;
  uint64_t updates = 0; ///< that counted
  uint64_t refused = 0; ///< updates
  uint64_t rows = 0;    ///< that clients trained on, each as often as they did
  std::optional<privacy_totals> privacy = std::nullopt; ///< of a private run; the others are then 0

  void add(const round_record& x) {
    ++rounds;
    void_rounds += x.is_void ? 1 : 0;
    updates += x.counted;
    refused += x.refused;
    rows += x.rows;
  }
  friend bool operator==(const client_totals&, const client_totals&) = default;
};

} // namespace troupe
