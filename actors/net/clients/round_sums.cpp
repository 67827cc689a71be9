#include "actors/net/clients/round_sums.hpp"

#include "data/text/checksum.hpp"
#include "models/privacy/private_sum.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

namespace troupe {

namespace {

/// As many as a data set may have (coordinators/job/keys/key_limits.hpp).
constexpr uint64_t rows_of_client_max = 1'000'000'000;

} // namespace

void round_sums::begin(const const_buffer& start) {
  start_ = start;
  clients_.clear();
  groups_.clear();
}

receipt_kind round_sums::add(const client_update& x) {
  if (sha256_hex(std::as_bytes(x.values.values())) != x.announced)
    return receipt_kind::altered;
  while (groups_.size() <= x.group)
    groups_.emplace_back(bounds_, start_.size());
  auto& sum = groups_[x.group];
  const auto size = measure_update(start_.values(), x.values.values());
  const auto& privacy = rules_.privacy;
  const bool is_sound =
    std::isfinite(static_cast<float>(x.loss)) && x.rows > 0 && x.rows <= rows_of_client_max;
  const bool has_room = sum.count() < bounds_.count_max; // else the round is void
  const auto verdict =
    !is_sound || !has_room ? update_verdict::not_finite
    : privacy              ? sum.add(start_.values(), x.values.values(), 1, size,
                                     clip_factor(size.norm, privacy->clip_norm))
              : sum.add(start_.values(), x.values.values(), rules_.weight_of(x.rows), size);
  // Of a private round nothing is told of a client.
  clients_.push_back({x, privacy ? client_figure{}
                                 : client_figure{static_cast<float>(x.loss),
                                                 static_cast<float>(size.norm), verdict}});
  clients_.back().said.values = {};
  return verdict == update_verdict::counted      ? receipt_kind::counted
         : verdict == update_verdict::not_finite ? receipt_kind::not_finite
                                                 : receipt_kind::out_of_range;
}

gathered_round round_sums::take(const round_absences& others) {
  gathered_round result;
  std::ranges::sort(clients_, {},
                    [](const counted_client& x) { return std::tie(x.said.group, x.said.name); });
  auto who = std::make_shared<cohort>();
  who->invited = others.invited;
  who->dropped = others.dropped;
  if (!rules_.privacy)
    who->lost = others.lost;
  who->late = others.late;
  who->has_no_draw = others.has_no_draw;
  who->is_in_vain = others.is_in_vain;
  who->surplus = others.surplus;
  result.correct_counts.resize(groups_.size());
  who->group_ends.resize(groups_.size());
  for (size_t i = 0; i < clients_.size(); ++i) {
    const auto& [said, figure] = clients_[i];
    who->counted.push_back(static_cast<uint32_t>(i));
    who->named.push_back({said.name, said.rows, said.announced});
    who->group_ends[said.group] = i + 1;
    result.figures.push_back(figure);
    if (figure.verdict == update_verdict::counted && !rules_.privacy)
      result.correct_counts[said.group] +=
        std::min(said.correct, rules_.cohort.schedule.rows_of(said.rows));
  }
  for (size_t i = 1; i < who->group_ends.size(); ++i)
    who->group_ends[i] = std::max(who->group_ends[i], who->group_ends[i - 1]);
  result.who = std::move(who);
  result.groups = std::exchange(groups_, {});
  clients_.clear();
  start_ = {};
  return result;
}

} // namespace troupe
