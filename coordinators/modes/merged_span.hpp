// Merged span: a main model that models trained apart are merged into, round by round.
//
//   members   each brings its model: the merge rule makes one of them, the outer rule moves the main model towards it.
//             With `elastic_alpha` members and main model pull at each other instead (models/merging/average.hpp)
//   clients   of each group one exact sum of updates (models/merging/ring_sum.hpp): its mean is the group's model.
//             Of private rounds the one sum gets noise first (models/privacy/private_sum.hpp)
//
// Models are merged in the order of members, or groups, so the order of arrival does not show. As a span model
// (span_model.hpp): a member's task begins with its start and its optimizer state, and `take` brings both on.

#pragma once

#include "coordinators/modes/model_merger.hpp"
#include "coordinators/modes/span_model.hpp"
#include "models/merging/outer_rule.hpp"
#include "models/merging/parameter_average.hpp"
#include "models/merging/ring_sum.hpp"
#include "models/privacy/private_sum.hpp"

#include <functional>
#include <optional>
#include <span>

namespace troupe {

/// Noise of private rounds.
struct noise_options {
  private_sum_rule rule;
  double divisor = 1; ///< of the noised sum: the expected number of clients
  /// The stream of an attempt at the model of this number; it follows from these words, too.
  std::function<secret_stream(std::span<const int64_t> words, uint64_t made, uint64_t attempt)>
    stream;
};

struct merged_span_options {
  size_t member_count = 0; ///< 0: groups of clients
  size_t slot_count = 0;   ///< of a member's optimizer state
  merge_options merge = {};
  outer_options outer = {};
  std::optional<double> elastic_alpha =
    std::nullopt;                   ///< of members: in place of merge and outer rule
  averaging_options averaging = {}; ///< of main models, for evaluation
  ring_bounds sums = {};            ///< of a group of clients
  std::optional<noise_options> noise = std::nullopt; ///< of clients in one group

  bool averages() const { return averaging.kind != averaging_kind::none; }
};

class merged_span final : public span_model {
public:
  /// Throws std::invalid_argument for options out of range, no initial parameters, or one that is not finite.
  merged_span(const merged_span_options& options, const_buffer initial);

  /// A member's result, in place until the round closes. `state`: its optimizer's.
  void place(merge_entry entry, const optimizer_state& state = {});
  /// Null: the member has none in place.
  const merge_entry* result_of(size_t member) const;
  /// What a member starts from.
  const const_buffer& start_of(size_t member) const { return starts_[member]; }
  const const_buffer& main_parameters() const { return main_; }

  span_vectors give(const sequence_entry& task) override;
  void take(const sequence_entry& task, const span_vectors& update) override;
  bool close(const sequence_entry& round) override;
  /// The average of the main models that rounds ended with (never of the initial one) if one was asked for, else the
  /// last.
  const_buffer parameters() const override;
  bool has_average() const override { return options_.averages(); }

  static state_shape shape_of(const merged_span_options& options);
  void save(state_saver& out) const override;
  void load(state_loader& in) override;

private:
  void clear_results();
  bool has_members() const { return options_.member_count > 0; }
  std::vector<merge_entry> entries() const;
  bool move_elastically();
  /// Towards the merged model.
  bool move_main(std::span<const float> merged);
  std::vector<float> noised(const sequence_entry& round) const;

  merged_span_options options_;
  outer_rule outer_;
  parameter_average average_;
  const_buffer main_;
  std::vector<const_buffer> starts_; ///< of each member; all the main model but with elastic_alpha
  std::vector<optimizer_state> states_;             ///< of each member; read-only
  std::vector<std::optional<merge_entry>> results_; ///< of each member
  std::vector<ring_sum> groups_;                    ///< at least one if there are no members
};

} // namespace troupe
