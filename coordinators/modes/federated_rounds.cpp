#include "coordinators/modes/federated_rounds.hpp"

#include "models/base/listed.hpp"
#include "models/base/require.hpp"

#include <utility>

namespace troupe {

namespace {

/// Refused clients that a message names; of more it gives the number only.
constexpr size_t named_max = 5;

constexpr requirement require_federated{"federated rounds"};

std::string clients_text(size_t count) {
  return std::to_string(count) + (count == 1 ? " client" : " clients");
}

} // namespace

size_t federated_options::counted_max(size_t client_count) const {
  return has_secret_cohorts()
           ? cohort_size_max(static_cast<uint32_t>(client_count), sampling_rate(client_count))
           : cohort.counted_max(client_count);
}

ring_bounds federated_options::bounds(size_t client_count) const {
  if (privacy)
    return {privacy->clip_norm, 1, counted_max(client_count), privacy->fraction_bits()};
  return {update_range, weighs_samples ? weight_max : 1, counted_max(client_count)};
}

merged_span_options span_options_of(const federated_options& options, size_t client_count) {
  merged_span_options result;
  result.merge = options.merge;
  result.outer = options.outer;
  result.averaging = options.averaging;
  result.sums = options.bounds(client_count);
  return result;
}

federated_rounds::federated_rounds(const federated_options& options, std::vector<uint32_t> offsets,
                                   size_t client_count)
  : options_(options), offsets_(std::move(offsets)), client_count_(client_count) {
  require_federated(client_count_ >= 1, "there are no clients");
  require_federated(options.min_count >= 1, "a round without a client moves nothing");
}

bool federated_rounds::open(uint64_t round, std::shared_ptr<const cohort> who, size_t piece_size) {
  require_federated(piece_size >= 1, "a piece holds at least one client");
  round_ = round;
  cohort_ = std::move(who);
  const auto counted = cohort_->counted.size();
  figures_.assign(counted, {});
  correct_count_ = 0;
  pieces_.clear();
  const auto group_count =
    std::max(group_count_of(options_.cohort, counted), cohort_->group_ends.size());
  counts_.assign(group_count, 0);
  if (counted >= options_.min_count && !is_beyond_range())
    for (size_t group = 0; group < group_count; ++group) {
      const auto all = group_positions(*cohort_, group_count, group);
      for (auto begin = all.begin; begin < all.end; begin += piece_size)
        pieces_.push_back({group, {begin, std::min(all.end, begin + piece_size)}});
    }
  is_finished_.assign(pieces_.size(), false);
  missing_ = pieces_.size();
  return missing_ > 0;
}

void federated_rounds::open(uint64_t round, size_t group_count) {
  round_ = round;
  cohort_.reset();
  pieces_.assign(group_count, {});
  counts_.assign(group_count, 0);
  correct_count_ = 0;
  is_finished_.assign(group_count, false);
  missing_ = group_count;
}

void federated_rounds::set_clients(std::shared_ptr<const cohort> who) {
  cohort_ = std::move(who);
  figures_.assign(cohort_->counted.size(), {});
  for (size_t group = 0; group < pieces_.size(); ++group)
    pieces_[group] = {group, group_positions(*cohort_, pieces_.size(), group)};
}

uint64_t federated_rounds::rows_at(size_t position) const {
  if (!cohort_->named.empty())
    return cohort_->named[position].rows;
  const auto client = cohort_->counted[position];
  return offsets_[client + 1] - offsets_[client];
}

std::string federated_rounds::name_at(size_t position) const {
  return cohort_->named.empty() ? std::to_string(cohort_->counted[position])
                                : cohort_->named[position].name;
}

sequence_entry federated_rounds::finish(size_t piece, std::span<const client_figure> figures,
                                        uint64_t correct_count) {
  require_federated(piece < pieces_.size() && !is_finished_[piece], "no such piece is missing");
  const auto& [group, positions] = pieces_[piece];
  require_federated(figures.size() == positions.size(), "figures of another number of clients");
  sequence_entry result{.kind = entry_kind::take, .place = group};
  result.sample_count = result.update_count = 0;
  for (size_t i = 0; i < positions.size(); ++i) {
    figures_[positions.begin + i] = figures[i];
    if (figures[i].verdict != update_verdict::counted)
      continue;
    ++result.update_count;
    result.sample_count += options_.weight_of(rows_at(positions.begin + i));
  }
  if (is_beyond_range()) // nothing comes of it
    result.sample_count = result.update_count = 0;
  counts_[group] += result.update_count;
  correct_count_ += correct_count;
  is_finished_[piece] = true;
  --missing_;
  return result;
}

void federated_rounds::count_clients(closed_round& out) const {
  auto& record = out.record;
  std::string refused;
  std::vector<float> losses, norms;
  for (size_t i = 0; i < figures_.size(); ++i) {
    const auto& [loss, norm, verdict] = figures_[i];
    if (verdict != update_verdict::counted) {
      if (record.refused++ < named_max)
        refused += (refused.empty() ? "client " : ", client ") + name_at(i) +
                   (verdict == update_verdict::not_finite     ? " (not finite)"
                    : verdict == update_verdict::out_of_range ? " (out of range)"
                                                              : " (not the recorded one)");
      continue;
    }
    // Of clients that say themselves how many rows they have, no figure counts for more than their weight may.
    const auto rows = options_.cohort.schedule.rows_of(
      cohort_->named.empty() ? rows_at(i) : std::min(rows_at(i), options_.weight_max));
    record.rows += rows;
    out.sums.loss_sum += static_cast<double>(loss) * static_cast<double>(rows);
    losses.push_back(loss);
    norms.push_back(norm);
  }
  record.counted = losses.size();
  record.losses = quantiles_of(std::move(losses));
  record.norms = quantiles_of(std::move(norms));
  out.sums.sample_count = record.rows;
  out.sums.correct_count = correct_count_;
  if (record.rows > 0)
    record.loss = out.sums.loss_sum / static_cast<double>(record.rows);
  if (record.refused > 0)
    out.news.push_back("round " + std::to_string(round_ + 1) + ": the updates of " +
                       clients_text(record.refused) + " were refused: " + refused +
                       (record.refused > named_max ? ", .." : ""));
}

std::string federated_rounds::shortage(size_t counted, size_t groups) const {
  if (counted < options_.min_count)
    return clients_text(counted) + " left, federated.min_count is " +
           std::to_string(options_.min_count);
  const auto needed = entry_count_min(options_.merge);
  if (groups < needed)
    return std::to_string(groups) + " groups left, " + std::string{name_of(options_.merge.rule)} +
           " needs " + std::to_string(needed);
  return {};
}

closed_round federated_rounds::close() {
  require_federated(missing_ == 0, "a piece is missing");
  closed_round result;
  auto& record = result.record;
  record.round = round_ + 1;
  record.invited = cohort_->invited;
  record.dropped = cohort_->dropped;
  record.late = cohort_->late;
  record.surplus = cohort_->surplus;
  if (const auto& lost = cohort_->lost; !lost.empty())
    result.news.push_back("round " + std::to_string(record.round) + ": " + listed(lost) +
                          (lost.size() < record.dropped ? " and others" : "") + " dropped out");
  const bool was_trained = !pieces_.empty();
  if (was_trained)
    count_clients(result);
  const auto left = was_trained ? record.counted : cohort_->counted.size();
  const auto empty = was_trained ? std::ranges::count(counts_, 0u) : 0;
  const auto why = shortage(left, counts_.size() - static_cast<size_t>(empty));
  void_in_a_row_ = why.empty() ? 0 : void_in_a_row_ + 1;
  if (std::ranges::count(figures_, update_verdict::not_as_recorded, &client_figure::verdict) > 0) {
    result.problem = result.news.back() + ": other rows than it had, or another program";
    result.differs = true;
    record.is_void = true; // there may be nobody whose update counts
    return result;
  }
  if (!why.empty()) {
    record.is_void = true;
    record.counted = record.rows = 0;
    record.loss = 0;
    record.losses = record.norms = {};
    result.sums = {};
    result.news.push_back("round " + std::to_string(record.round) +
                          " is void, the model stays: " + why);
    if (void_in_a_row_ == void_rounds_max)
      result.problem = std::to_string(void_rounds_max) +
                       " rounds in a row were void: of the last " + clients_text(record.invited) +
                       " invited, " + std::to_string(record.dropped) + " dropped out, " +
                       std::to_string(record.late) + " were late, the updates of " +
                       std::to_string(record.refused) + " were refused; " + why;
  }
  return result;
}

bool federated_rounds::is_beyond_range() const {
  return options_.has_secret_cohorts() &&
         cohort_->counted.size() > options_.counted_max(client_count_);
}

closed_round federated_rounds::close_privately() const {
  require_federated(options_.privacy && missing_ == 0, "no private round is whole");
  closed_round result;
  result.record.round = round_ + 1;
  result.record.is_void = is_beyond_range() || cohort_->has_no_draw;
  if (cohort_->is_in_vain)
    result.problem =
      "no client came in ten times federated.round_time: do they reach federated.listen?";
  return result;
}

} // namespace troupe
