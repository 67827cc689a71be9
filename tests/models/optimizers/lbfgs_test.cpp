#include "models/optimizers/optimizer.hpp"
#include "models/whole_model/lbfgs.hpp"
#include "models/whole_model/whole_model_rule.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/whole_model_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace troupe::lbfgs_test {
namespace {

using floats = std::vector<float>;
using test::one_tensor;

optimizer_options lbfgs_options(double learning_rate = 1, size_t history_size = 10) {
  optimizer_options options;
  options.kind = optimizer_kind::lbfgs;
  options.learning_rate = learning_rate;
  options.history_size = history_size;
  return options;
}

/// f = 2 x^2.
double parabola(const floats& x, floats& gradient) {
  gradient[0] = 4 * x[0];
  return 2.0 * x[0] * x[0];
}

/// Rosenbrock's valley: minimum 0 at (1, 1).
double valley(const floats& x, floats& gradient) {
  const double a = x[0], b = x[1];
  gradient[0] = static_cast<float>(-400 * a * (b - a * a) - 2 * (1 - a));
  gradient[1] = static_cast<float>(200 * (b - a * a));
  return 100 * (b - a * a) * (b - a * a) + (1 - a) * (1 - a);
}

/// log(1 + e^x) - x / 3, from far out: the curve is flat and rate 1 overshoots.
double soft_corner(const floats& x, floats& gradient) {
  const double e = std::exp(double{x[0]});
  gradient[0] = static_cast<float>(e / (1 + e) - 1.0 / 3);
  return std::log1p(e) - x[0] / 3.0;
}

TEST(lbfgs, takes_hand_worked_steps_on_a_parabola) {
  test::whole_model_run run{lbfgs_options(), one_tensor({1}), {3}};
  EXPECT_EQ(run.point(), floats{3});
  ASSERT_TRUE(run.step_of(parabola)); // rate 1 / 12 times 12
  EXPECT_EQ(run.parameters, floats{3}) << "the start is accepted, the next point not yet";
  EXPECT_EQ(run.point(), floats{2});
  EXPECT_EQ(run.sums->loss_sum, 18);
  ASSERT_TRUE(run.step_of(parabola)); // s = -1, y = -4: Newton's step
  EXPECT_EQ(run.parameters, floats{2});
  EXPECT_EQ(run.point(), floats{0});
  EXPECT_EQ(run.sums->loss_sum, 8) << "of the version's own parameters";
  EXPECT_EQ(lbfgs::pair_count(run.state), 1u);
  for (int again = 0; again < 3; ++again) {
    ASSERT_TRUE(run.step_of(parabola));
    EXPECT_EQ(run.parameters, floats{0});
    EXPECT_EQ(run.point(), floats{0}) << "stays at the minimum";
    EXPECT_EQ(run.sums->loss_sum, 0);
    EXPECT_TRUE(lbfgs::converged(run.state));
    EXPECT_EQ(lbfgs::pair_count(run.state), 2u) << "the last move is remembered once";
  }
}

// PyTorch's rule without a line search takes every point: the same as long as its loss falls.
TEST(lbfgs, accepted_points_match_pytorch) {
  const auto reference = test::load_reference("whole_vector_optimizers.json").at("lbfgs");
  const auto curves = test::flat<double>(reference.at("curves"));
  const auto centres = test::flat<double>(reference.at("centres"));
  const auto loss_at = [&](const floats& p, floats& gradient) {
    double loss = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double x = p[i], offset = x - centres[i];
      gradient[i] = static_cast<float>(curves[i] * offset + 1 / (1 + std::exp(-x)));
      loss += curves[i] * offset * offset / 2 + std::log1p(std::exp(x));
    }
    return loss;
  };
  size_t compared = 0;
  for (const auto& entry : reference.at("cases")) {
    test::whole_model_run run{lbfgs_options(entry.at("learning_rate"), entry.at("history_size")),
                              one_tensor({6}), test::flat<float>(reference.at("start"))};
    ASSERT_TRUE(run.step_of(loss_at)); // accepts the start
    double before = run.sums->loss_sum;
    for (const auto& after : entry.at("after")) {
      ASSERT_TRUE(run.step_of(loss_at));
      const auto expected = test::flat<double>(after);
      floats gradient(6);
      const double loss = loss_at(test::flat<float>(after), gradient);
      if (loss > before) {
        EXPECT_NEAR(run.sums->loss_sum, before, 1e-4) << "we turned it down";
        break;
      }
      before = loss;
      ++compared;
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(run.parameters[i], expected[i], 1e-5) << run.version << ' ' << i;
    }
  }
  EXPECT_EQ(compared, 4u + 12u);
}

TEST(lbfgs, the_loss_of_its_versions_never_rises) {
  for (double learning_rate : {1.0, 4.0, 0.3}) {
    test::whole_model_run run{lbfgs_options(learning_rate), one_tensor({2}), {-1.2f, 1}};
    double before = std::numeric_limits<double>::infinity();
    size_t rejected = 0;
    while (!lbfgs::converged(run.state) && run.version < 300) {
      const auto old = run.parameters;
      ASSERT_TRUE(run.step_of(valley));
      floats gradient(2);
      const double now = valley(run.parameters, gradient);
      EXPECT_EQ(run.sums->loss_sum, now) << "the sums are those of the parameters";
      EXPECT_LE(now, before) << run.version;
      rejected += run.version > 1 && old == run.parameters;
      before = now;
    }
    EXPECT_TRUE(lbfgs::converged(run.state)) << learning_rate;
    EXPECT_GT(rejected, 0u) << "no point was ever on trial";
    EXPECT_NEAR(run.parameters[0], 1, 1e-4) << learning_rate;
    EXPECT_NEAR(run.parameters[1], 1, 2e-4) << learning_rate;
  }
}

TEST(lbfgs, a_point_that_is_not_finite_is_a_bad_point_and_not_the_end) {
  // The logarithm's wall: nothing beyond 0.
  const auto wall = [](const floats& x, floats& gradient) {
    gradient[0] = 1 - 1 / x[0];
    return x[0] > 0 ? x[0] - std::log(double{x[0]}) : std::numeric_limits<double>::quiet_NaN();
  };
  test::whole_model_run run{lbfgs_options(50), one_tensor({1}), {4}};
  for (int t = 0; t < 40; ++t) {
    ASSERT_TRUE(run.step_of(wall));
    EXPECT_GT(run.parameters[0], 0);
  }
  EXPECT_NEAR(run.parameters[0], 1, 1e-4);
  test::whole_model_run bad{lbfgs_options(), one_tensor({1}), {4}};
  EXPECT_FALSE(bad.step({1}, 1, false)) << "there is nothing before the start";
  test::whole_model_run lost{lbfgs_options(), one_tensor({1}), {4}};
  EXPECT_FALSE(lost.step({1}, std::numeric_limits<double>::infinity()));
}

TEST(lbfgs, a_search_that_finds_no_better_point_ends) {
  // The gradient lies: it points up.
  const auto liar = [](const floats& x, floats& gradient) {
    gradient[0] = -2 * x[0];
    return double{x[0]} * x[0];
  };
  test::whole_model_run run{lbfgs_options(), one_tensor({1}), {4}};
  for (int t = 0; t < 100; ++t)
    ASSERT_TRUE(run.step_of(liar));
  EXPECT_TRUE(lbfgs::converged(run.state));
  EXPECT_EQ(run.point(), run.parameters);
  EXPECT_LE(run.sums->loss_sum, 16 * (1 + 1e-6)) << "what passes for level does not add up";
}

TEST(lbfgs, ends_to_a_floats_accuracy_where_the_loss_is_flat_to_rounding) {
  // A loss rounded to float hides the last half of the digits; the slope does not.
  const auto rounded = [](const floats& x, floats& gradient) {
    return static_cast<double>(static_cast<float>(soft_corner(x, gradient) + 100));
  };
  test::whole_model_run run{lbfgs_options(), one_tensor({1}), {6}};
  for (int t = 0; t < 60; ++t)
    ASSERT_TRUE(run.step_of(rounded));
  EXPECT_NEAR(run.parameters[0], std::log(0.5), 2e-6);
}

TEST(lbfgs, keeps_no_more_pairs_than_told_and_none_of_bad_curvature) {
  const auto bowl = [](const floats& x, floats& gradient) {
    gradient = {2 * x[0], 6 * x[1]};
    return double{x[0]} * x[0] + 3.0 * x[1] * x[1];
  };
  test::whole_model_run run{lbfgs_options(0.1, 2), one_tensor({2}), {1, 1}};
  for (size_t t = 0; t < 6; ++t) {
    ASSERT_TRUE(run.step_of(bowl));
    EXPECT_EQ(lbfgs::pair_count(run.state), std::min<size_t>(t, 2));
  }
  test::whole_model_run concave{lbfgs_options(), one_tensor({1}), {1}};
  ASSERT_TRUE(concave.step({-1}, 0));
  ASSERT_TRUE(concave.step({-2}, -2)) << "steeper downhill: s y < 0";
  EXPECT_EQ(concave.parameters, floats{2});
  EXPECT_EQ(lbfgs::pair_count(concave.state), 0u);
}

TEST(lbfgs, goes_on_from_its_state_bit_for_bit) {
  for (uint64_t cut = 0; cut < 25; ++cut) {
    test::whole_model_run run{lbfgs_options(4, 3), one_tensor({2}), {-1.2f, 1}};
    for (uint64_t t = 0; t < cut; ++t)
      ASSERT_TRUE(run.step_of(valley));
    test::whole_model_run other{lbfgs_options(4, 3), one_tensor({2}), run.parameters};
    for (size_t k = 0; k < run.state.slot_count(); ++k)
      std::ranges::copy(run.state.slot(k), other.state.slot(k).begin());
    std::ranges::copy(run.state.numbers(), other.state.numbers().begin());
    for (uint64_t t = cut; t < 30; ++t) {
      ASSERT_TRUE(run.step_of(valley));
      ASSERT_TRUE(other.step_of(valley));
    }
    EXPECT_EQ(run.parameters, other.parameters) << cut;
    EXPECT_EQ(run.point(), other.point()) << cut;
    EXPECT_EQ(run.sums, other.sums) << cut;
  }
}

// Three blocks and a bit, by one owner and by two.
TEST(lbfgs, owners_of_spans_move_as_one_owner_of_all) {
  const size_t size = 3 * norm_block_size + 5;
  const auto options = lbfgs_options(2, 3);
  const lbfgs rule{options};
  auto penalised = options;
  penalised.l2 = 0.01;
  const regularization changes{penalised, {{0, size}}};
  struct owner {
    index_range elements;
    floats parameters;
    optimizer_state state;
  };
  const auto run = [&](const std::vector<index_range>& spans) {
    std::vector<owner> owners;
    for (const auto& span : spans) {
      floats start(span.size());
      for (size_t i = 0; i < start.size(); ++i)
        start[i] = static_cast<float>((span.begin + i) % 7) - 3;
      owners.push_back({span, start, rule.start(start)});
    }
    for (uint64_t t = 0; t < 14; ++t) {
      batch_sums sums{0, 2, 0, 0};
      std::vector<floats> gradients;
      std::vector<double> numbers;
      // f = sum of curve/2 (x - 1)^2 over two rows that are alike, in exact steps.
      for (size_t i = 0; i < size; ++i) {
        const auto& at =
          *std::ranges::find_if(owners, [&](const owner& x) { return x.elements.contains(i); });
        const double x = at.state.slot(*rule.point_slot())[i - at.elements.begin];
        sums.loss_sum += static_cast<double>(1 + i % 3) * (x - 1) * (x - 1);
      }
      for (auto& at : owners) {
        const auto point = at.state.slot(*rule.point_slot());
        auto& gradient = gradients.emplace_back(at.elements.size());
        for (size_t i = 0; i < gradient.size(); ++i)
          gradient[i] = 2 * static_cast<float>(1 + (at.elements.begin + i) % 3) * (point[i] - 1);
        const auto own = begin_step(
          rule, {t, sums, changes, 1, at.elements.begin, gradient, at.parameters, {}}, at.state);
        numbers.insert(numbers.end(), own.begin(), own.end());
      }
      const auto totals = totals_of_blocks(numbers, block_number_count(rule));
      for (size_t k = 0; k < owners.size(); ++k) {
        auto& at = owners[k];
        floats next(at.parameters.size());
        EXPECT_TRUE(end_step(
          rule, {t, sums, changes, 1, at.elements.begin, gradients[k], at.parameters, next}, totals,
          at.state));
        at.parameters = next;
      }
    }
    floats result;
    for (const auto& at : owners)
      result.insert(result.end(), at.parameters.begin(), at.parameters.end());
    return result;
  };
  const auto whole = run({{0, size}});
  EXPECT_EQ(run({{0, norm_block_size}, {norm_block_size, size}}), whole);
  // 4 rows' curve and the penalty: 2 (1 + i % 3) (x - 1) / 2 + 0.01 x = 0.
  for (size_t i = 0; i < size; ++i)
    ASSERT_NEAR(whole[i], (1.0 + i % 3) / (1.01 + i % 3), 1e-3) << i;
}

TEST(lbfgs, accepts_its_own_numbers_and_none_that_it_could_not_index_by) {
  test::whole_model_run run{lbfgs_options(1, 3), one_tensor({2}), {-1.2f, 1}};
  const lbfgs rule{lbfgs_options(1, 3)};
  for (int i = 0; i < 30; ++i) {
    const auto numbers = std::as_const(run.state).numbers();
    EXPECT_TRUE(rule.accepts(numbers)) << "after " << i << " steps";
    for (const size_t place : {0, 1, 2, 7}) // phase, pairs, newest, trials
      for (const double odd : {-1.0, 0.5, 1e300, std::nan("")}) {
        std::vector<double> changed{numbers.begin(), numbers.end()};
        changed[place] = odd;
        EXPECT_FALSE(rule.accepts(changed)) << place << " " << odd;
      }
    EXPECT_FALSE(rule.accepts(numbers.first(numbers.size() - 1)));
    ASSERT_TRUE(run.step_of(valley));
  }
  EXPECT_FALSE(rule.accepts({}));
}

TEST(lbfgs, penalties_count_in_what_it_minimises) {
  // x^2 with a penalty of 3/2 (x - 1)^2 in all but name: the minimum is at 3/5.
  test::whole_model_run run{lbfgs_options(), one_tensor({1}), {4}};
  for (int t = 0; t < 20; ++t) {
    const auto p = run.point();
    const double x = p[0];
    const floats gradient{static_cast<float>(2 * x + 3 * (x - 1))};
    ASSERT_TRUE(run.step(gradient, x * x, true, 1.5 * (x - 1) * (x - 1)));
    EXPECT_EQ(run.sums->loss_sum, double{run.parameters[0]} * run.parameters[0])
      << "reported without the penalty";
  }
  EXPECT_NEAR(run.parameters[0], 0.6, 1e-6);
}

TEST(whole_model_rules, are_made_by_kind_and_refuse_bad_constants) {
  const auto layout = one_tensor({2});
  EXPECT_THROW(make_whole_model_rule({}, layout), std::invalid_argument) << "sgd is none";
  EXPECT_THROW(make_optimizer(lbfgs_options()), std::invalid_argument);
  EXPECT_THROW(make_whole_model_rule(lbfgs_options(0), layout), std::invalid_argument);
  EXPECT_THROW(make_whole_model_rule(lbfgs_options(1, 0), layout), std::invalid_argument);
  auto adafactor = lbfgs_options();
  adafactor.kind = optimizer_kind::adafactor;
  adafactor.epsilon = 0;
  EXPECT_THROW(make_whole_model_rule(adafactor, layout), std::invalid_argument);
}

// The recursion over products against the one over vectors (Nocedal & Wright 2006, algorithm 7.4).

using vector = std::vector<double>;

double dot(const vector& a, const vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add(double factor, const vector& x, vector& to) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] += factor * x[i];
}

/// -(inverse Hessian) g; the newest pair first.
vector direction_of(const std::vector<vector>& s, const std::vector<vector>& y, const vector& g) {
  vector q = g, shares(s.size());
  for (size_t age = 0; age < s.size(); ++age) {
    shares[age] = dot(s[age], q) / dot(s[age], y[age]);
    add(-shares[age], y[age], q);
  }
  if (!s.empty())
    for (auto& x : q)
      x *= dot(s[0], y[0]) / dot(y[0], y[0]);
  for (size_t age = s.size(); age-- > 0;)
    add(shares[age] - dot(y[age], q) / dot(s[age], y[age]), s[age], q);
  for (auto& x : q)
    x = -x;
  return q;
}

TEST(two_loop, gives_the_direction_of_the_recursion_over_vectors) {
  std::mt19937_64 random{3};
  std::normal_distribution<double> normal;
  for (size_t count = 0; count <= 6; ++count) {
    const size_t size = 40;
    const auto drawn = [&] {
      vector result(size);
      std::ranges::generate(result, [&] { return normal(random); });
      return result;
    };
    const auto g = drawn();
    std::vector<vector> s(count), y(count);
    for (size_t k = 0; k < count; ++k) {
      s[k] = drawn();
      y[k] = drawn();
      add(3, s[k], y[k]); // curved upwards
    }
    pair_products x;
    x.gradient_square = dot(g, g);
    for (size_t old = 0; old < count; ++old) {
      x.gradient_by_move.push_back(dot(g, s[old]));
      x.gradient_by_change.push_back(dot(g, y[old]));
      for (size_t young = 0; young <= old; ++young) {
        ASSERT_EQ(x.move_by_change.size(), product_place(old, young));
        x.move_by_change.push_back(dot(s[old], y[young]));
        x.change_by_change.push_back(dot(y[old], y[young]));
      }
    }
    const auto found = two_loop(x);
    vector d(size);
    add(-found.of_gradient, g, d);
    for (size_t age = 0; age < count; ++age) {
      add(-found.of_moves[age], s[age], d);
      add(-found.of_changes[age], y[age], d);
    }
    const auto expected = direction_of(s, y, g);
    for (size_t i = 0; i < size; ++i)
      EXPECT_NEAR(d[i], expected[i], 1e-12) << count << ' ' << i;
    EXPECT_NEAR(found.slope, dot(g, expected), 1e-10) << count;
  }
}

} // namespace
} // namespace troupe::lbfgs_test
