#include "coordinators/modes/federated_rounds.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/rounding.hpp"
#include "models/math/lanes.hpp"
#include "models/privacy/secret_stream.hpp"

#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

/// Refused clients that a message names; of more it gives the number only.
constexpr size_t named_max = 5;

void require(bool holds, const std::string& what) {
  if (!holds)
    throw std::invalid_argument("federated rounds: " + what);
}

buffer copy_of(std::span<const float> values) {
  buffer result{values.size()};
  copy_values(values, result.values().begin());
  return result;
}

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

federated_rounds::federated_rounds(const federated_options& options, std::vector<uint32_t> offsets,
                                   std::span<const float> initial)
  : options_(options),
    offsets_(std::move(offsets)),
    outer_(options.outer, initial.size()),
    average_(options.averaging),
    main_(copy_of(initial)) {
  require(offsets_.size() >= 2, "there are no clients");
  require(!initial.empty() && all_finite(initial.data(), initial.size()),
          "the initial model is empty or not finite");
  require(options.min_count >= 1, "a round without a client moves nothing");
}

bool federated_rounds::open(uint64_t round, std::shared_ptr<const cohort> who, size_t piece_size) {
  require(piece_size >= 1, "a piece holds at least one client");
  round_ = round;
  cohort_ = std::move(who);
  const auto counted = cohort_->counted.size();
  figures_.assign(counted, {});
  correct_count_ = 0;
  pieces_.clear();
  const auto group_count = group_count_of(options_.cohort, counted);
  const auto bounds = options_.bounds(offsets_.size() - 1);
  groups_.resize(group_count, ring_sum{bounds, main_.size()});
  for (auto& group : groups_)
    group.clear();
  if (counted >= options_.min_count && !is_beyond_range())
    for (size_t group = 0; group < group_count; ++group) {
      const auto all = group_positions(counted, group_count, group);
      for (auto begin = all.begin; begin < all.end; begin += piece_size)
        pieces_.push_back({group, {begin, std::min(all.end, begin + piece_size)}});
    }
  is_finished_.assign(pieces_.size(), false);
  missing_ = pieces_.size();
  return missing_ > 0;
}

bool federated_rounds::finish(size_t piece, const client_sums& news) {
  require(piece < pieces_.size() && !is_finished_[piece], "no such piece is missing");
  const auto& [group, positions] = pieces_[piece];
  require(news.figures.size() == positions.size(), "figures of another number of clients");
  uint64_t weight = 0, count = 0;
  for (size_t i = 0; i < positions.size(); ++i) {
    figures_[positions.begin + i] = news.figures[i];
    if (news.figures[i].verdict != update_verdict::counted)
      continue;
    ++count;
    weight += options_.weight_of(rows_of(cohort_->counted[positions.begin + i]));
  }
  groups_[group].add(news.words, weight, count);
  correct_count_ += news.correct_count;
  is_finished_[piece] = true;
  --missing_;
  return missing_ == 0;
}

void federated_rounds::count_clients(closed_round& out) const {
  auto& record = out.record;
  std::string refused;
  std::vector<float> losses, norms;
  for (size_t i = 0; i < figures_.size(); ++i) {
    const auto client = cohort_->counted[i];
    const auto& [loss, norm, verdict] = figures_[i];
    if (verdict != update_verdict::counted) {
      if (record.refused++ < named_max)
        refused += (refused.empty() ? "client " : ", client ") + std::to_string(client) +
                   (verdict == update_verdict::not_finite ? " (not finite)" : " (out of range)");
      continue;
    }
    const auto rows = options_.cohort.schedule.rows_of(rows_of(client));
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

std::vector<merge_entry> federated_rounds::group_means() const {
  std::vector<merge_entry> result;
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].count() > 0)
      result.push_back({.child = i,
                        .values = copy_of(groups_[i].mean_onto(main_.values())),
                        .sample_count = groups_[i].weight()});
  return result;
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
  const default_rounding rounding;
  require(missing_ == 0, "a piece is missing");
  closed_round result;
  auto& record = result.record;
  record.round = round_ + 1;
  record.invited = cohort_->invited;
  record.dropped = cohort_->dropped;
  record.late = cohort_->late;
  record.surplus = cohort_->surplus;
  const bool was_trained = !pieces_.empty();
  if (was_trained)
    count_clients(result);
  const auto entries = was_trained ? group_means() : std::vector<merge_entry>{};
  const auto left = was_trained ? record.counted : cohort_->counted.size();
  const auto why = shortage(left, was_trained ? entries.size() : groups_.size());
  if (!why.empty()) {
    record.is_void = true;
    record.counted = record.rows = 0;
    record.loss = 0;
    record.losses = record.norms = {};
    result.sums = {};
    result.news.push_back("round " + std::to_string(record.round) +
                          " is void, the model stays: " + why);
    if (++void_in_a_row_ == void_rounds_max)
      result.problem = std::to_string(void_rounds_max) +
                       " rounds in a row were void: of the last " + clients_text(record.invited) +
                       " invited, " + std::to_string(record.dropped) + " dropped out, " +
                       std::to_string(record.late) + " were late, the updates of " +
                       std::to_string(record.refused) + " were refused; " + why;
    return result;
  }
  void_in_a_row_ = 0;
  return move_to(merge(options_.merge, entries).values, std::move(result));
}

bool federated_rounds::is_beyond_range() const {
  return options_.has_secret_cohorts() &&
         cohort_->counted.size() > options_.counted_max(offsets_.size() - 1);
}

std::span<const int64_t> federated_rounds::private_words() const {
  require(options_.privacy && missing_ == 0, "no private round is whole");
  return groups_.front().words();
}

closed_round federated_rounds::close_privately(secret_stream& noise) {
  const default_rounding rounding;
  closed_round result;
  result.record.round = round_ + 1;
  result.record.is_void = is_beyond_range();
  if (result.record.is_void)
    return result;
  const auto& sum = groups_.front();
  const auto clear = private_words();
  std::vector<int64_t> words{clear.begin(), clear.end()};
  add_noise(words, options_.privacy->variance(words.size()), noise);
  return move_to(moved_by(main_.values(), words, sum.fraction_bits(),
                          static_cast<double>(options_.cohort.cohort_size)),
                 std::move(result));
}

closed_round federated_rounds::move_to(std::span<const float> merged, closed_round result) {
  buffer next{main_.size()};
  result.moved = outer_.apply(main_.values(), merged, next.values());
  if (!result.moved) {
    result.is_not_finite = true;
    result.problem = "the main model that the clients' updates lead to";
    return result;
  }
  main_ = next;
  average_.add(round_ + 1, main_.values());
  return result;
}

void federated_rounds::save(state_saver& out) const {
  out.count(void_in_a_row_);
  if (options_.averaging.kind != averaging_kind::none) // else it is what is evaluated
    out.share(main_);
  outer_.save(out);
  average_.save(out);
}

void federated_rounds::load(state_loader& in) {
  void_in_a_row_ = in.count();
  if (options_.averaging.kind != averaging_kind::none) {
    auto main = in.vector();
    require(main.size() == main_.size(), "a saved model has another number of parameters");
    main_ = std::move(main);
  }
  outer_.load(in);
  average_.load(in);
}

const_buffer federated_rounds::evaluated_parameters() const {
  return average_.count() > 0 ? copy_of(average_.values()) : main_;
}

} // namespace troupe
