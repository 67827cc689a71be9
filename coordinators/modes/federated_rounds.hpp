// Federated rounds: in each the clients of a cohort train on their own rows, from the same model, and
// the mean of their changes moves it.
//
//   open(round): a cohort, in pieces ---finish(piece) of each---> close ---> the model of the next round
//                     \--too few clients---> void: the model stays, the next round draws anew
//
// The cohort (cohort.hpp) says which clients count, and in which groups. Each group has one ring
// sum (models/merging/ring_sum.hpp), so pieces may be of any size, come in any order, from any
// trainer, and be made anew: the words do not show it. When all pieces are in, each group's mean
// model is an entry of the merge rule, with its clients' weights. The outer rule moves the main
// model towards the merged one:
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
#include "coordinators/modes/model_merger.hpp"
#include "models/base/saved_state.hpp"
#include "models/merging/outer_rule.hpp"
#include "models/merging/parameter_average.hpp"
#include "models/merging/ring_sum.hpp"
#include "models/privacy/private_sum.hpp"
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

/// What a client did.
struct client_figure {
  float loss = 0;                                   ///< mean over the rows it trained on
  float norm = 0;                                   ///< of its update
  update_verdict verdict = update_verdict::counted; ///< a refused client adds nothing to the sum

  friend bool operator==(const client_figure&, const client_figure&) = default;
};

/// What came of a piece.
struct client_sums {
  std::span<const int64_t> words;         ///< P, of the clients that count
  uint64_t correct_count = 0;             ///< classification: of these
  std::span<const client_figure> figures; ///< of all, in order of positions
};

/// Positions of the open round's cohort that one order is about; all of one group.
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
  bool moved = false;              ///< the model did; of a private round it was released
  std::string problem{};           ///< why training ends here; empty: it goes on
  bool is_not_finite = false;      ///< the problem: the main model would not be finite
};

class federated_rounds {
public:
  /// `offsets` of cohort_of. Throws std::invalid_argument as local_rounds does.
  federated_rounds(const federated_options& options, std::vector<uint32_t> offsets,
                   std::span<const float> initial);

  /// Round `round` begins, with this cohort, cut into pieces of `piece_size` >= 1 positions. True
  /// when there is anything to do; else it is to be closed at once.
  bool open(uint64_t round, std::shared_ptr<const cohort> who, size_t piece_size);

  const std::vector<client_piece>& pieces() const { return pieces_; }
  /// What came of a piece; each once. Returns true when it was the last one. Throws
  /// std::invalid_argument for what does not fit it.
  bool finish(size_t piece, const client_sums& news);
  /// All pieces are in: the model moves, or the round is void.
  closed_round close();
  /// Of private rounds: the open one has more clients than its sum is for. Nothing is released of it.
  bool is_beyond_range() const;
  /// The words that get the noise: those of the open round, once all its pieces are in.
  std::span<const int64_t> private_words() const;
  /// In place of `close`: with noise, unless the round is void.
  closed_round close_privately(secret_stream& noise);

  /// What it remembers beside what is evaluated, between two rounds.
  static state_shape shape_of(const federated_options& options) {
    const bool averages = options.averaging.kind != averaging_kind::none;
    return state_shape{averages ? size_t{1} : 0, 1} + outer_rule::shape_of(options.outer) +
           parameter_average::shape_of(options.averaging);
  }
  void save(state_saver& out) const;
  void load(state_loader& in);

  /// The main model: a snapshot.
  const const_buffer& main_parameters() const { return main_; }
  /// What to evaluate and save: the average of the main models if one was asked for, else the last.
  const_buffer evaluated_parameters() const;

private:
  uint32_t rows_of(uint32_t client) const { return offsets_[client + 1] - offsets_[client]; }
  void count_clients(closed_round& out) const;
  std::vector<merge_entry> group_means() const;
  closed_round move_to(std::span<const float> merged, closed_round result);
  /// Why too few are left; empty: they are enough.
  std::string shortage(size_t counted, size_t groups) const;

  federated_options options_;
  std::vector<uint32_t> offsets_;
  outer_rule outer_;
  parameter_average average_;
  const_buffer main_;
  uint64_t round_ = 0;
  std::shared_ptr<const cohort> cohort_;
  std::vector<client_piece> pieces_;
  std::vector<bool> is_finished_; ///< of each piece
  size_t missing_ = 0;            ///< pieces
  std::vector<ring_sum> groups_;
  std::vector<client_figure> figures_; ///< by position
  uint64_t correct_count_ = 0;
  uint64_t void_in_a_row_ = 0;
};

} // namespace troupe
