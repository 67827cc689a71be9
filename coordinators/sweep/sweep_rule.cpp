#include "troupe/coordinators/sweep/sweep_rule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

template <class T>
T divided_up(T x, size_t by) {
  return (x + static_cast<T>(by) - 1) / static_cast<T>(by);
}

} // namespace

std::vector<uint64_t> halving_rungs(size_t trial_count, uint64_t epochs, size_t keep_one_of) {
  if (keep_one_of < 2)
    throw std::invalid_argument("one of " + std::to_string(keep_one_of) +
                                " trials leaves nobody out");
  std::vector<uint64_t> result{epochs};
  for (auto left = trial_count; left > 1 && result.back() > 1; left = divided_up(left, keep_one_of))
    result.push_back(divided_up(result.back(), keep_one_of));
  std::ranges::reverse(result);
  return result;
}

sweep_rule::sweep_rule(sweep_shape shape) : shape_(std::move(shape)), trials_(shape_.trial_count) {
  if (trials_.empty() || shape_.rungs.empty() || shape_.keep_one_of < 1)
    throw std::invalid_argument("a sweep has trials, rungs, and keeps some");
}

std::optional<size_t> sweep_rule::next() const {
  const auto found = std::ranges::find(trials_, trial_state::waiting, &entry::state);
  if (found == trials_.end())
    return std::nullopt;
  return static_cast<size_t>(found - trials_.begin());
}

void sweep_rule::on_reached(size_t index, std::optional<double> loss) {
  at(index).loss = loss && std::isfinite(*loss) ? loss : std::nullopt;
  at(index).state = trial_state::standing;
  decide();
}

void sweep_rule::on_failed(size_t index) {
  at(index).state = trial_state::failed;
  at(index).loss.reset();
  decide();
}

bool sweep_rule::is_finished() const {
  return std::ranges::none_of(trials_, [](const entry& x) {
    return x.state == trial_state::waiting || x.state == trial_state::running;
  });
}

void sweep_rule::decide() {
  if (!is_finished())
    return;
  std::vector<size_t> good;
  for (const auto i : ranking())
    if (at(i).state == trial_state::standing)
      good.push_back(i);
  const bool is_last = rung_ + 1 == shape_.rungs.size();
  const auto all = static_cast<size_t>(
    std::ranges::count_if(trials_, [&](const entry& x) { return x.rung == rung_; }));
  const auto kept =
    is_last ? good.size() : std::min(good.size(), divided_up(all, shape_.keep_one_of));
  for (size_t place = 0; place < good.size(); ++place) {
    auto& one = at(good[place]);
    const bool goes_on = place < kept && one.loss;
    one.state = is_last ? trial_state::done : goes_on ? trial_state::waiting : trial_state::dropped;
    if (!is_last && goes_on)
      one.rung = rung_ + 1;
  }
  if (!is_finished())
    ++rung_;
}

std::vector<size_t> sweep_rule::ranking() const {
  std::vector<size_t> result(trials_.size());
  std::iota(result.begin(), result.end(), size_t{0});
  std::ranges::stable_sort(result, [&](size_t a, size_t b) {
    const auto& x = trials_[a];
    const auto& y = trials_[b];
    if (x.loss.has_value() != y.loss.has_value())
      return x.loss.has_value();
    if (x.rung != y.rung)
      return x.rung > y.rung;
    return x.loss && *x.loss < *y.loss;
  });
  return result;
}

} // namespace troupe
