#include "coordinators/modes/cohort.hpp"

#include "models/base/random.hpp"
#include "models/math/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace troupe {

namespace {

using clients = std::vector<uint32_t>;

/// An array of all clients costs 4 bytes each; a table of moved clients some 50 for each invited one.
constexpr size_t table_share = 16;

random_sequence sequence_of(const cohort_options& x, random_purpose purpose, uint64_t round) {
  return {x.seed, purpose, round};
}

// The first `count` places of a random order of all clients. In both forms place i takes what place
// i + below(C - i) holds, which gets what place i held.
clients first_of_task(word_reader words, uint32_t client_count, size_t count) {
  clients result(count);
  if (client_count / table_share <= count) {
    clients all(client_count);
    std::iota(all.begin(), all.end(), 0u);
    for (uint32_t i = 0; i < count; ++i)
      std::swap(all[i], all[i + words.below(client_count - i)]);
    std::copy_n(all.begin(), count, result.begin());
    return result;
  }
  std::unordered_map<uint32_t, uint32_t> moved; // places that hold another client than their own
  const auto at = [&](uint32_t place) {
    const auto found = moved.find(place);
    return found == moved.end() ? place : found->second;
  };
  for (uint32_t i = 0; i < count; ++i) {
    const auto from = i + words.below(client_count - i);
    result[i] = at(from);
    moved[from] = at(i);
  }
  return result;
}

clients by_chance(word_reader words, uint32_t client_count, double chance) {
  const auto below = static_cast<uint64_t>(chance * 0x1p32);
  clients result;
  for (uint32_t i = 0; i < client_count; ++i)
    if (words() < below)
      result.push_back(i);
  return result;
}

clients by_size(word_reader words, std::span<const uint32_t> offsets, size_t count) {
  using keyed = std::pair<double, uint32_t>; // the least -log(u) / n are the greatest u^(1/n)
  std::vector<keyed> all(offsets.size() - 1);
  for (uint32_t i = 0; i < all.size(); ++i)
    all[i] = {-elementary::log(words.unit()) / (offsets[i + 1] - offsets[i]), i};
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(count);
  if (middle != all.end())
    std::ranges::nth_element(all, middle);
  std::sort(all.begin(), middle);
  clients result;
  for (auto i = all.begin(); i != middle; ++i)
    result.push_back(i->second);
  return result;
}

clients invite(const cohort_options& x, std::span<const uint32_t> offsets, uint64_t round) {
  const auto client_count = static_cast<uint32_t>(offsets.size() - 1);
  const auto size = static_cast<double>(x.cohort_size);
  const word_reader words{sequence_of(x, random_purpose::cohort, round)};
  if (x.sampling == client_sampling::poisson)
    return by_chance(words, client_count, size / client_count);
  const auto count = std::min<size_t>(client_count, x.invited_max());
  return x.sampling == client_sampling::size ? by_size(words, offsets, count)
                                             : first_of_task(words, client_count, count);
}

// The first in time, by (time, client), in the order they were invited in.
void keep_first_in_time(const cohort_options& x, std::span<const uint32_t> offsets, cohort& out) {
  using timed = std::pair<double, uint32_t>;
  std::vector<timed> times;
  for (const auto client : out.counted) {
    word_reader words{sequence_of(x, random_purpose::client_speed, client)};
    const auto speed =
      x.speed_spread > 0 ? elementary::exp_double(x.speed_spread * draw_normal(words)) : 1.0;
    const auto rows = x.schedule.rows_of(offsets[client + 1] - offsets[client]);
    times.emplace_back(static_cast<double>(rows) * speed, client);
  }
  const auto order = times;
  std::ranges::sort(times);
  const auto in_time = static_cast<size_t>(
    std::ranges::upper_bound(times, x.deadline.value_or(HUGE_VAL), {}, &timed::first) -
    times.begin());
  out.late = times.size() - in_time;
  const auto counted =
    x.sampling == client_sampling::poisson ? in_time : std::min(in_time, x.cohort_size);
  out.surplus = in_time - counted;
  out.counted.clear();
  for (const auto& one : order)
    if (counted > 0 && one <= times[counted - 1])
      out.counted.push_back(one.second);
}

} // namespace

size_t cohort_options::invited_max() const {
  return static_cast<size_t>(std::ceil(static_cast<double>(cohort_size) * (1 + over_selection)));
}

uint64_t client_schedule::rows_of(size_t rows) const {
  if (!steps)
    return epochs * rows;
  const auto visits = *steps / steps_of_visit(rows);
  return visits * rows + std::min<uint64_t>(rows, *steps % steps_of_visit(rows) * batch_size);
}

index_range client_schedule::rows_of_step(size_t rows, uint64_t step) const {
  const auto begin = step % steps_of_visit(rows) * batch_size;
  return {begin, std::min<size_t>(rows, begin + batch_size)};
}

cohort cohort_of(const cohort_options& x, std::span<const uint32_t> offsets, uint64_t round) {
  return cohort_among(x, offsets, round, invite(x, offsets, round));
}

cohort cohort_among(const cohort_options& x, std::span<const uint32_t> offsets, uint64_t round,
                    clients invited) {
  cohort result;
  result.counted = std::move(invited);
  result.invited = result.counted.size();
  if (x.drop_out > 0) {
    const auto below = static_cast<uint64_t>(x.drop_out * 0x1p32);
    const auto sequence = sequence_of(x, random_purpose::drop_out, round);
    std::erase_if(result.counted,
                  [&](uint32_t client) { return random_word(sequence, client) < below; });
    result.dropped = result.invited - result.counted.size();
  }
  if (x.deadline || x.over_selection > 0)
    keep_first_in_time(x, offsets, result);
  if (x.group_count == 1)
    return result;
  const auto order = random_permutation(sequence_of(x, random_purpose::grouping, round),
                                        static_cast<uint32_t>(result.counted.size()));
  clients dealt(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    dealt[i] = result.counted[order[i]];
  result.counted = std::move(dealt);
  return result;
}

size_t group_count_of(const cohort_options& x, size_t counted) {
  return x.group_count == 0 ? counted : x.group_count;
}

index_range group_positions(const cohort& who, size_t group_count, size_t group) {
  const auto& ends = who.group_ends;
  if (!who.named.empty()) {
    const auto end = [&](size_t i) {
      return ends.empty() ? 0 : ends[std::min(i, ends.size() - 1)];
    };
    return {group == 0 ? 0 : end(group - 1), end(group)};
  }
  const auto counted = who.counted.size();
  return {counted * group / group_count, counted * (group + 1) / group_count};
}

} // namespace troupe
