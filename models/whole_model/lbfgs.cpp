#include "troupe/models/whole_model/lbfgs.hpp"

#include "troupe/models/base/copy_values.hpp"
#include "troupe/models/math/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe {

namespace {

constexpr double armijo_share = 1e-4;
constexpr double level_share = 1e-6;   ///< of f: what rounding of a float loss may hide
constexpr double level_slope = 0.8;    ///< of the slope at rate 0, upwards
constexpr double curvature_min = 1e-8; ///< the cosine between move and change
constexpr double fall_min = 1e-13;     ///< of f: less is no way down any more
constexpr double trial_count_max = 20; ///< at half the rate each: a millionth of the first

// Phases, as numbers of the state.
constexpr double starting = 0;
constexpr double searching = 1;
constexpr double converged_phase = 2;

// Places in the state.
enum slot : size_t { point_at, gradient_at, direction_at, first_pair };
enum number : size_t {
  phase,
  pair_count_at,
  newest_at, ///< place of the newest pair
  rate_at,
  objective_at, ///< at the parameters
  lowest_at,    ///< the lowest objective accepted so far
  slope_at,     ///< along the direction, at the parameters
  trial_count,
  loss_sum,
  sample_count,
  correct_count,
  squared_error_sum,
  number_count
};

template <class A, class B>
double dot(const A& a, const B& b) {
  return lane_sum<double>(a.size(), [&](size_t i) { return static_cast<double>(a[i]) * b[i]; });
}

/// One transition of the state machine.
class transition {
public:
  transition(const optimizer_options& options, const whole_model_update& x, optimizer_state& state)
    : options_(options), x_(x), state_(state), numbers_(state.numbers()) {}

  /// False when the start is not finite.
  bool run() {
    if (numbers_[phase] == starting && !is_finite())
      return false;
    if (numbers_[phase] == starting) {
      accept();
    } else if (numbers_[phase] == searching && is_good()) {
      remember();
      accept();
    } else {
      copy_values(x_.parameters, x_.next.begin());
      if (numbers_[phase] == searching)
        shorten();
    }
    return true;
  }

private:
  std::span<float> point() const { return state_.slot(point_at); }
  std::span<float> gradient() const { return state_.slot(gradient_at); } ///< at the parameters
  std::span<float> direction() const { return state_.slot(direction_at); }
  std::span<float> move(size_t place) const { return state_.slot(first_pair + place); }
  std::span<float> change(size_t place) const {
    return state_.slot(first_pair + options_.history_size + place);
  }
  size_t pair_count() const { return static_cast<size_t>(numbers_[pair_count_at]); }
  /// The place of the pair that is `age` younger ones from the newest.
  size_t place_of(size_t age) const {
    return (static_cast<size_t>(numbers_[newest_at]) + options_.history_size - age) %
           options_.history_size;
  }

  bool is_finite() const { return x_.is_finite && std::isfinite(objective()); }
  /// At the point.
  double objective() const {
    return x_.sums.loss_sum / static_cast<double>(x_.sums.sample_count) + x_.penalty;
  }

  bool is_good() const {
    if (!is_finite())
      return false;
    const double before = numbers_[objective_at];
    const double slope = numbers_[slope_at];
    if (objective() <= before + armijo_share * numbers_[rate_at] * slope)
      return true;
    // Level with the lowest: what rounding hides must not add up over steps.
    const double lowest = numbers_[lowest_at];
    return objective() <= lowest + level_share * std::abs(lowest) &&
           dot(x_.gradient, direction()) <= -level_slope * slope;
  }

  void remember() {
    const size_t size = x_.parameters.size();
    const size_t place = (static_cast<size_t>(numbers_[newest_at]) + 1) % options_.history_size;
    std::vector<float> s(size), y(size);
    for (size_t i = 0; i < size; ++i) {
      s[i] = point()[i] - x_.parameters[i]; // as it was, rounding included
      y[i] = x_.gradient[i] - gradient()[i];
    }
    if (!(dot(s, y) > curvature_min * std::sqrt(dot(s, s) * dot(y, y))))
      return;
    copy_values(s, move(place).begin());
    copy_values(y, change(place).begin());
    numbers_[newest_at] = static_cast<double>(place);
    numbers_[pair_count_at] =
      std::min(numbers_[pair_count_at] + 1, static_cast<double>(options_.history_size));
  }

  /// The point becomes the parameters; on from there.
  void accept() {
    copy_values(point(), x_.next.begin());
    copy_values(x_.gradient, gradient().begin());
    numbers_[lowest_at] =
      numbers_[phase] == starting ? objective() : std::min(numbers_[lowest_at], objective());
    numbers_[phase] = searching;
    numbers_[objective_at] = objective();
    numbers_[loss_sum] = x_.sums.loss_sum;
    numbers_[sample_count] = static_cast<double>(x_.sums.sample_count);
    numbers_[correct_count] = static_cast<double>(x_.sums.correct_count);
    numbers_[squared_error_sum] = x_.sums.squared_error_sum;
    set_out();
  }

  /// Chooses a direction from the accepted point and the first rate along it.
  void set_out() {
    choose_direction();
    numbers_[slope_at] = dot(gradient(), direction());
    if (pair_count() > 0 && !(numbers_[slope_at] <= 0))
      return forget();
    const double length = lane_sum<double>(
      gradient().size(), [&](size_t i) { return std::abs(double{gradient()[i]}); });
    const double first = pair_count() > 0 ? 1 : std::min(1.0, 1 / length);
    if (!(-numbers_[slope_at] * first > fall_min * std::abs(numbers_[objective_at])))
      return converge();
    numbers_[rate_at] = *options_.learning_rate * first;
    numbers_[trial_count] = 0;
    place_point();
  }

  /// -(inverse Hessian) g into the direction.
  void choose_direction() {
    std::vector<double> q(gradient().begin(), gradient().end());
    std::vector<double> shares(pair_count()), curvatures(pair_count());
    for (size_t age = 0; age < pair_count(); ++age) {
      const auto s = move(place_of(age));
      const auto y = change(place_of(age));
      curvatures[age] = dot(s, y);
      shares[age] = dot(s, q) / curvatures[age];
      for (size_t i = 0; i < q.size(); ++i)
        q[i] -= shares[age] * y[i];
    }
    if (pair_count() > 0) {
      const auto newest = change(place_of(0));
      const double scale = curvatures[0] / dot(newest, newest);
      for (auto& value : q)
        value *= scale;
    }
    for (size_t age = pair_count(); age-- > 0;) {
      const auto s = move(place_of(age));
      const double share = shares[age] - dot(change(place_of(age)), q) / curvatures[age];
      for (size_t i = 0; i < q.size(); ++i)
        q[i] += share * s[i];
    }
    std::ranges::transform(q, direction().begin(),
                           [](double value) { return static_cast<float>(-value); });
  }

  void place_point() {
    bool moved = false;
    for (size_t i = 0; i < x_.next.size(); ++i) {
      point()[i] = static_cast<float>(x_.next[i] + numbers_[rate_at] * direction()[i]);
      moved = moved || point()[i] != x_.next[i];
    }
    if (!moved)
      give_up();
  }

  void shorten() {
    if (++numbers_[trial_count] >= trial_count_max)
      return give_up();
    const double rate = numbers_[rate_at];
    const double promised = numbers_[slope_at] * rate;
    const double missed = objective() - numbers_[objective_at] - promised;
    const double factor = is_finite() ? std::clamp(-promised / (2 * missed), 0.1, 0.5) : 0.1;
    numbers_[rate_at] = factor * rate;
    place_point();
  }

  /// There is no way down along this direction.
  void give_up() { pair_count() > 0 ? forget() : converge(); }

  void forget() {
    numbers_[pair_count_at] = 0;
    set_out();
  }

  void converge() {
    numbers_[phase] = converged_phase;
    copy_values(x_.next, point().begin());
  }

  const optimizer_options& options_;
  const whole_model_update& x_;
  optimizer_state& state_;
  std::span<double> numbers_;
};

} // namespace

optimizer_state lbfgs::start(std::span<const float> parameters) const {
  optimizer_state state{first_pair + 2 * options().history_size, parameters.size(), number_count};
  copy_values(parameters, state.slot(point_at).begin());
  return state;
}

bool lbfgs::accepts(std::span<const double> numbers) const {
  const auto is_count = [&](number place, double most) {
    return numbers[place] >= 0 && numbers[place] <= most &&
           numbers[place] == std::floor(numbers[place]);
  };
  const auto pairs = static_cast<double>(options().history_size);
  return numbers.size() == number_count && is_count(phase, converged_phase) &&
         is_count(pair_count_at, pairs) && is_count(newest_at, pairs - 1) &&
         is_count(trial_count, trial_count_max);
}

std::optional<size_t> lbfgs::point_slot() const {
  return point_at;
}

std::optional<batch_sums> lbfgs::update(const whole_model_update& x, optimizer_state& state) const {
  if (!transition{options(), x, state}.run())
    return std::nullopt;
  const auto at = state.numbers();
  return batch_sums{at[loss_sum], static_cast<uint64_t>(at[sample_count]),
                    static_cast<uint64_t>(at[correct_count]), at[squared_error_sum]};
}

size_t lbfgs::pair_count(const optimizer_state& state) {
  return static_cast<size_t>(state.numbers()[pair_count_at]);
}

bool lbfgs::converged(const optimizer_state& state) {
  return state.numbers()[phase] == converged_phase;
}

} // namespace troupe
