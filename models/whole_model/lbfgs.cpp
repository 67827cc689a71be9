#include "models/whole_model/lbfgs.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/multiversion.hpp"
#include "models/math/lanes.hpp"
#include "models/math/tree_accumulator.hpp"

#include <cmath>

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
  square_at, ///< of the gradient at the parameters
  length_at, ///< of the same: the sum of absolute values
  loss_sum,
  sample_count,
  correct_count,
  squared_error_sum,
  first_product ///< s_i y_j of all pairs of places, then y_i y_j
};

// Sums over elements. Of a pair with the new change y and the new gradient g at the point.
enum term : size_t {
  moved, ///< elements in which the point is not the parameters
  length,
  square,
  along, ///< g d
  move_move,
  move_change,
  change_change,
  gradient_move,
  gradient_change,
  first_of_pairs
};
enum pair_term : size_t { change_by_move, change_by_change, gradient_by_move, gradient_by_change };
constexpr size_t pair_terms = 4;

TROUPE_MULTIVERSION double dot(const float* a, const float* b, size_t count) {
  return lane_sum<double>(count, [a, b](size_t i) { return static_cast<double>(a[i]) * b[i]; });
}

TROUPE_MULTIVERSION double length_of(const float* x, size_t count) {
  return lane_sum<double>(count, [x](size_t i) { return std::abs(static_cast<double>(x[i])); });
}

TROUPE_MULTIVERSION void subtract(const float* a, const float* b, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] = a[i] - b[i];
}

TROUPE_MULTIVERSION void add_scaled(double factor, const float* x, double* sum, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sum[i] += factor * x[i];
}

/// The state with names.
class view_of {
public:
  view_of(const optimizer_options& options, const optimizer_state& state)
    : history_size_(options.history_size), state_(state), numbers_(state.numbers()) {}

  std::span<float> point() const { return state_.slot(point_at); }
  std::span<float> gradient() const { return state_.slot(gradient_at); } ///< at the parameters
  std::span<float> direction() const { return state_.slot(direction_at); }
  std::span<float> move(size_t place) const { return state_.slot(first_pair + place); }
  std::span<float> change(size_t place) const {
    return state_.slot(first_pair + history_size_ + place);
  }
  double at(number place) const { return numbers_[place]; }
  size_t pair_count() const { return static_cast<size_t>(at(pair_count_at)); }
  /// The place of the pair that is `age` younger ones from the newest.
  size_t place_of(size_t age) const {
    return (static_cast<size_t>(at(newest_at)) + history_size_ - age) % history_size_;
  }
  size_t next_place() const { return (static_cast<size_t>(at(newest_at)) + 1) % history_size_; }

private:
  size_t history_size_;
  const optimizer_state& state_;
  std::span<const double> numbers_;
};

/// One transition of the state machine.
class transition {
public:
  transition(const optimizer_options& options, const whole_model_update& x, optimizer_state& state)
    : options_(options), x_(x), numbers_(state.numbers()), v_(options, state) {}

  /// False when the start is not finite.
  bool run() {
    if (numbers_[phase] == starting && !is_finite())
      return false;
    const bool stands = x_.is_finite && x_.totals[moved] == 0;
    if (numbers_[phase] == starting) {
      accept();
    } else if (numbers_[phase] == searching && !stands && is_good()) {
      remember();
      accept();
    } else {
      copy_values(x_.parameters, x_.next.begin());
      if (numbers_[phase] == searching)
        stands ? give_up() : shorten();
    }
    return true;
  }

private:
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
           x_.totals[along] <= -level_slope * slope;
  }

  double& move_by_change_at(size_t a, size_t b) const {
    return numbers_[first_product + product_place(a, b)];
  }
  double& change_by_change_at(size_t a, size_t b) const {
    return numbers_[first_product + product_count(options_.history_size) + product_place(a, b)];
  }
  /// Of the gradient at the point with a pair there.
  double gradient_by(size_t place, pair_term what) const {
    if (has_new_ && place == v_.place_of(0))
      return x_.totals[what == gradient_by_move ? gradient_move : gradient_change];
    return x_.totals[first_of_pairs + pair_terms * place + what];
  }

  void remember() {
    const auto squares = x_.totals[move_move] * x_.totals[change_change];
    if (!(x_.totals[move_change] > curvature_min * std::sqrt(squares)))
      return;
    const auto place = v_.next_place();
    const size_t size = x_.parameters.size();
    subtract(v_.point().data(), x_.parameters.data(), v_.move(place).data(), size);
    subtract(x_.gradient.data(), v_.gradient().data(), v_.change(place).data(), size);
    for (size_t age = 0; age < v_.pair_count(); ++age)
      if (const auto other = v_.place_of(age); other != place) {
        const auto sums = x_.totals.subspan(first_of_pairs + pair_terms * other, pair_terms);
        move_by_change_at(place, other) = sums[change_by_move];
        change_by_change_at(place, other) = sums[change_by_change];
      }
    move_by_change_at(place, place) = x_.totals[move_change];
    change_by_change_at(place, place) = x_.totals[change_change];
    numbers_[newest_at] = static_cast<double>(place);
    numbers_[pair_count_at] =
      std::min(numbers_[pair_count_at] + 1, static_cast<double>(options_.history_size));
    has_new_ = true;
  }

  /// The point becomes the parameters; on from there.
  void accept() {
    copy_values(v_.point(), x_.next.begin());
    copy_values(x_.gradient, v_.gradient().begin());
    numbers_[lowest_at] =
      numbers_[phase] == starting ? objective() : std::min(numbers_[lowest_at], objective());
    numbers_[phase] = searching;
    numbers_[objective_at] = objective();
    numbers_[square_at] = x_.totals[square];
    numbers_[length_at] = x_.totals[length];
    numbers_[loss_sum] = x_.sums.loss_sum;
    numbers_[sample_count] = static_cast<double>(x_.sums.sample_count);
    numbers_[correct_count] = static_cast<double>(x_.sums.correct_count);
    numbers_[squared_error_sum] = x_.sums.squared_error_sum;
    set_out();
  }

  /// Chooses a direction from the accepted point and the first rate along it.
  void set_out() {
    const auto d = choose_direction();
    numbers_[slope_at] = d.slope;
    if (v_.pair_count() > 0 && !(numbers_[slope_at] <= 0))
      return forget();
    const double first = v_.pair_count() > 0 ? 1 : std::min(1.0, 1 / numbers_[length_at]);
    if (!(-numbers_[slope_at] * first > fall_min * std::abs(numbers_[objective_at])))
      return converge();
    numbers_[rate_at] = *options_.learning_rate * first;
    numbers_[trial_count] = 0;
    place_direction(d);
    place_point();
  }

  /// -(inverse Hessian) g.
  combination choose_direction() const {
    pair_products products;
    products.gradient_square = numbers_[square_at];
    for (size_t age = 0; age < v_.pair_count(); ++age) {
      const auto place = v_.place_of(age);
      products.gradient_by_move.push_back(gradient_by(place, gradient_by_move));
      products.gradient_by_change.push_back(gradient_by(place, gradient_by_change));
      for (size_t young = 0; young <= age; ++young) {
        products.move_by_change.push_back(move_by_change_at(place, v_.place_of(young)));
        products.change_by_change.push_back(change_by_change_at(place, v_.place_of(young)));
      }
    }
    return two_loop(products);
  }

  void place_direction(const combination& q) {
    std::vector<double> sum(norm_block_size);
    const auto d = v_.direction();
    for (size_t begin = 0; begin < d.size(); begin += norm_block_size) {
      const auto size = std::min(norm_block_size, d.size() - begin);
      std::ranges::fill(sum, 0.0);
      add_scaled(q.of_gradient, v_.gradient().data() + begin, sum.data(), size);
      for (size_t age = 0; age < q.of_moves.size(); ++age) {
        const auto place = v_.place_of(age);
        add_scaled(q.of_changes[age], v_.change(place).data() + begin, sum.data(), size);
        add_scaled(q.of_moves[age], v_.move(place).data() + begin, sum.data(), size);
      }
      for (size_t i = 0; i < size; ++i)
        d[begin + i] = static_cast<float>(-sum[i]);
    }
  }

  void place_point() {
    const auto point = v_.point();
    const auto d = v_.direction();
    const double rate = numbers_[rate_at];
    for (size_t i = 0; i < point.size(); ++i)
      point[i] = static_cast<float>(x_.next[i] + rate * d[i]);
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
  void give_up() { v_.pair_count() > 0 ? forget() : converge(); }

  void forget() {
    numbers_[pair_count_at] = 0;
    set_out();
  }

  void converge() {
    numbers_[phase] = converged_phase;
    copy_values(x_.next, v_.point().begin());
  }

  const optimizer_options& options_;
  const whole_model_update& x_;
  std::span<double> numbers_;
  view_of v_;
  bool has_new_ = false; ///< the newest pair is of this step
};

} // namespace

optimizer_state lbfgs::start(std::span<const float> parameters) const {
  optimizer_state state{first_pair + 2 * options().history_size, parameters.size(),
                        first_product + 2 * product_count(options().history_size)};
  copy_values(parameters, state.slot(point_at).begin());
  return state;
}

bool lbfgs::accepts(std::span<const double> numbers) const {
  const auto is_count = [&](number place, double most) {
    return numbers[place] >= 0 && numbers[place] <= most &&
           numbers[place] == std::floor(numbers[place]);
  };
  const auto pairs = static_cast<double>(options().history_size);
  return numbers.size() == first_product + 2 * product_count(options().history_size) &&
         is_count(phase, converged_phase) && is_count(pair_count_at, pairs) &&
         is_count(newest_at, pairs - 1) && is_count(trial_count, trial_count_max);
}

std::optional<size_t> lbfgs::point_slot() const {
  return point_at;
}

std::optional<size_t> lbfgs::sum_count() const {
  return first_of_pairs + pair_terms * options().history_size;
}

void lbfgs::add_terms(const whole_model_update& x, const optimizer_state& state,
                      const index_range& elements, std::span<double> out) const {
  const view_of v{options(), state};
  const auto begin = elements.begin;
  const auto size = elements.size();
  const float* const g = x.gradient.data() + begin;
  out[length] = length_of(g, size);
  out[square] = dot(g, g, size);
  if (v.at(phase) != searching)
    return;
  const float* const point = v.point().data() + begin;
  const float* const parameters = x.parameters.data() + begin;
  std::vector<float> s(size), y(size); // as they will be remembered, rounding included
  subtract(point, parameters, s.data(), size);
  subtract(g, v.gradient().data() + begin, y.data(), size);
  for (size_t i = 0; i < size; ++i)
    out[moved] += point[i] != parameters[i] ? 1 : 0;
  out[along] = dot(g, v.direction().data() + begin, size);
  out[move_move] = dot(s.data(), s.data(), size);
  out[move_change] = dot(s.data(), y.data(), size);
  out[change_change] = dot(y.data(), y.data(), size);
  out[gradient_move] = dot(g, s.data(), size);
  out[gradient_change] = dot(g, y.data(), size);
  for (size_t age = 0; age < v.pair_count(); ++age) {
    const auto place = v.place_of(age);
    const auto sums = out.subspan(first_of_pairs + pair_terms * place, pair_terms);
    const float* const old_move = v.move(place).data() + begin;
    const float* const old_change = v.change(place).data() + begin;
    sums[change_by_move] = dot(y.data(), old_move, size);
    sums[change_by_change] = dot(y.data(), old_change, size);
    sums[gradient_by_move] = dot(g, old_move, size);
    sums[gradient_by_change] = dot(g, old_change, size);
  }
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

combination two_loop(const pair_products& x) {
  const auto count = x.gradient_by_move.size();
  const auto s_y = [&](size_t a, size_t b) { return x.move_by_change[product_place(a, b)]; };
  const auto y_y = [&](size_t a, size_t b) { return x.change_by_change[product_place(a, b)]; };
  combination q{1, std::vector<double>(count), std::vector<double>(count), 0};
  for (size_t age = 0; age < count; ++age) {
    double product = x.gradient_by_move[age];
    for (size_t young = 0; young < age; ++young)
      product += q.of_changes[young] * s_y(age, young);
    q.of_changes[age] = -product / s_y(age, age);
  }
  if (count > 0)
    q.of_gradient = s_y(0, 0) / y_y(0, 0);
  for (size_t age = count; age-- > 0;) {
    double product = x.gradient_by_change[age];
    for (size_t other = 0; other < count; ++other)
      product += q.of_changes[other] * y_y(age, other);
    product *= q.of_gradient;
    for (size_t old = age + 1; old < count; ++old)
      product += q.of_moves[old] * s_y(old, age);
    q.of_moves[age] = -q.of_changes[age] - product / s_y(age, age);
  }
  q.slope = -q.of_gradient * x.gradient_square;
  for (size_t age = 0; age < count; ++age) {
    q.of_changes[age] *= q.of_gradient;
    q.slope -= q.of_changes[age] * x.gradient_by_change[age];
    q.slope -= q.of_moves[age] * x.gradient_by_move[age];
  }
  return q;
}

} // namespace troupe
