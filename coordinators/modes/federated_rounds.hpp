// Federated rounds: in each the clients of a cohort train on their own rows, from the same model, and
// the mean of their changes moves it.
//
//   open(round): a cohort, in pieces ---finish(piece) of each---> close ---> the model of the next round
//                     \--too few clients---> void: the model stays, the next round draws anew
//
// Only the rounds: cohorts, pieces, figures, what is void. The models are those of a merged span (merged_span.hpp): each
// group has one exact sum, so pieces may be of any size, come in any order, from any trainer, and be made anew. When all
// pieces are in, each group's mean model is an entry of the merge rule, with its clients' weights. The outer rule moves
// the main model towards the merged one:
//   FedAvg                      one group, weights by samples, outer replace   McMahan et al. 2017
//   FedAvgM, FedAdam, FedYogi   outer sgd with momentum, adam, yogi            Reddi et al. 2021
//   robust with bounded memory  several groups, median or Krum of their means  Karimireddy et al.
//                                                                              2022 ("bucketing")
// An update that is not finite or out of range is refused; the round goes on without it. A round in
// which fewer than `min_count` clients are left, or fewer groups than the rule needs, is void.
//
// Private rounds (models/privacy/private_sum.hpp): updates are clipped, all weigh 1, and noise is added
// to the one sum before anything is computed from it. It is divided by the expected number of clients:
// their real number stays secret, and the record says nothing of them. A round without clients is noise
// alone; one with more than the sum's range allows is void.

#pragma once

#include "coordinators/modes/cohort.hpp"
#include "coordinators/modes/merged_span.hpp"
#include "models/base/batch.hpp"
#include "models/training/round_record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// So many void rounds in a row end a run: what left too few in ten rounds is no accident.
inline constexpr uint64_t void_rounds_max = 10;

struct federated_options {
  cohort_options cohort;
  bool weighs_samples = true; ///< a client weighs its rows, at most weight_max; else 1
  double update_range = 1024; ///< greatest change of a parameter that is taken, > 0
  uint64_t weight_max = 1024; ///< >= 1
  size_t min_count = 1;       ///< clients that must be left, >= 1
  double proximal = 0;        ///< mu of FedProx, >= 0
  merge_options merge = {.rule = merge_rule::weighted, .weighting = merge_weighting::samples};
  outer_options outer = {};
  averaging_options averaging = {};
  /// Rehearsal of faults: clients from this one on hand in their update reversed ..
  uint64_t first_flipped = ~uint64_t{0};
  double flip_factor = 1; ///< .. and so many times as long
  /// Private rounds. With Poisson sampling a secret draws the clients.
  std::optional<private_sum_rule> privacy = std::nullopt;

  bool has_secret_cohorts() const { return privacy && cohort.sampling == client_sampling::poisson; }
  /// Chance of a client to take part.
  double sampling_rate(size_t client_count) const {
    return static_cast<double>(cohort.cohort_size) / static_cast<double>(client_count);
  }
  /// Clients that a round can have.
  size_t counted_max(size_t client_count) const;
  uint64_t weight_of(size_t rows) const {
    return weighs_samples ? std::min<uint64_t>(std::max<size_t>(rows, 1), weight_max) : 1;
  }
  /// Of sums of one round's clients.
  ring_bounds bounds(size_t client_count) const;
};

/// The main model and the groups' sums, of all parameters. The noise of private rounds is the caller's to add.
merged_span_options span_options_of(const federated_options& options, size_t client_count);

/// What a client did.
struct client_figure {
  float loss = 0;                                   ///< mean over the rows it trained on
  float norm = 0;                                   ///< of its update
  update_verdict verdict = update_verdict::counted; ///< a refused client adds nothing to the sum

  friend bool operator==(const client_figure&, const client_figure&) = default;
};

/// Positions of the open round's cohort that one task is about; all of one group.
struct client_piece {
  size_t group = 0;
  index_range positions;

  friend bool operator==(const client_piece&, const client_piece&) = default;
};

/// What became of a round.
struct closed_round {
  round_record record;
  batch_sums sums;                 ///< of the clients that counted
  std::vector<std::string> news{}; ///< for people
  std::string problem{};           ///< why training ends here; empty: it goes on
  bool differs = false;            ///< because a client's update is not the one that a record has
};

class federated_rounds {
public:
  /// `offsets` of cohort_of; none where clients bring their rows. Throws std::invalid_argument for no clients, or none
  /// needed.
  federated_rounds(const federated_options& options, std::vector<uint32_t> offsets,
                   size_t client_count);

  /// Round `round` begins, with this cohort, cut into pieces of `piece_size` >= 1 positions. True
  /// when there is anything to do; else it is to be closed at once.
  bool open(uint64_t round, std::shared_ptr<const cohort> who, size_t piece_size);
  /// A round of clients that dial in: a piece for each group, whose clients are known at the first `finish`.
  void open(uint64_t round, size_t group_count);
  bool knows_clients() const { return cohort_ != nullptr; }
  void set_clients(std::shared_ptr<const cohort> who);

  const std::vector<client_piece>& pieces() const { return pieces_; }
  /// What came of a piece; each once. `figures`: of all its clients, in order of positions; `correct_count`: of those
  /// that count. Returns the entry that takes its sum, but for the task's number. Throws std::invalid_argument for what
  /// does not fit it.
  sequence_entry finish(size_t piece, std::span<const client_figure> figures,
                        uint64_t correct_count);
  /// All pieces are in.
  bool is_complete() const { return missing_ == 0; }
  /// The round ends once all pieces are in: it counts, or is void.
  closed_round close();
  /// In place of `close`: nothing is said of who was there.
  closed_round close_privately() const;

  /// What the clients of the closed round did, by position.
  const std::vector<client_figure>& figures() const { return figures_; }

  /// Void rounds since the last one that counted: what it remembers between two rounds.
  uint64_t void_in_a_row() const { return void_in_a_row_; }
  void set_void_in_a_row(uint64_t count) { void_in_a_row_ = count; }

private:
  uint64_t rows_at(size_t position) const;
  std::string name_at(size_t position) const;
  /// Of private rounds: the open one has more clients than its sum is for. Nothing is released of it.
  bool is_beyond_range() const;
  void count_clients(closed_round& out) const;
  /// Why too few are left; empty: they are enough.
  std::string shortage(size_t counted, size_t groups) const;

  federated_options options_;
  std::vector<uint32_t> offsets_;
  size_t client_count_;
  uint64_t round_ = 0;
  std::shared_ptr<const cohort> cohort_;
  std::vector<client_piece> pieces_;
  std::vector<bool> is_finished_;      ///< of each piece
  size_t missing_ = 0;                 ///< pieces
  std::vector<uint64_t> counts_;       ///< clients that count, of each group
  std::vector<client_figure> figures_; ///< by position
  uint64_t correct_count_ = 0;
  uint64_t void_in_a_row_ = 0;
};

} // namespace troupe
