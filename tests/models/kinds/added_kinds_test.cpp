#include "models/kinds/added_tables.hpp"
#include "models/kinds/expressions.hpp"
#include "models/losses/evaluate_loss.hpp"
#include "models/losses/split_loss.hpp"
#include "models/math/elementary.hpp"
#include "models/verify/verify.hpp"

#include <gtest/gtest.h>

#include <xtensor/xarray.hpp>
#include <xtensor/xview.hpp>

#include <cmath>
#include <thread>

namespace troupe::added_kinds_test {
namespace {

struct share {
  double of = 0.5;
};

own_loss pinball(const share& x) {
  return {each_score([t = x.of](double score, double target) {
    return target > score ? loss_value{t * (target - score), -t}
                          : loss_value{(1 - t) * (score - target), 1 - t};
  })};
}

// Those of the library once more: they must come to the same bits.
const bool are_added = [] {
  losses().add<share>("pinball", {1, ""}, {option("of", &share::of, within(0, 1), "")}, &pinball);
  losses().add("own-squared", {1, ""}, {each_score([](double s, double y) {
                 return loss_value{(s - y) * (s - y), 2 * (s - y)};
               })});
  losses().add("own-logistic", {1, ""},
               {.evaluate = each_score([](double s, double label) {
                  const double sign = label > 0 ? 1 : -1;
                  const auto x = cross_entropy_of(link_kind::sigmoid, sign * s);
                  return loss_value{x.value, sign * x.derivative};
                }),
                .is_binary = true,
                .predicted = [](double s) { return link_probability(link_kind::sigmoid, s); }});
  losses().add("own-hinge", {1, ""},
               {.evaluate = each_score([](double s, double label) {
                  const double sign = label > 0 ? 1 : -1;
                  const double gap = 1 - sign * s;
                  return gap > 0 ? loss_value{gap, -sign} : loss_value{};
                }),
                .is_binary = true});
  losses().add(
    "own-deviance", {1, ""},
    {.evaluate = each_score([](double s, double y) {
       return loss_value{elementary::exp_for_float(s) - y * s, elementary::exp_for_float(s) - y};
     }),
     .predicted = [](double s) { return elementary::exp_for_float(s); },
     .least_target = 0});
  activations().add("own-relu", {1, ""},
                    {each_value([](float x) { return x <= 0 ? 0.0f : x; },
                                [](float x) { return x > 0 ? 1.0f : 0.0f; }),
                     true});
  return true;
}();

loss_kind pinball_of(double of) {
  return losses().value({"pinball", {{"of", of}}});
}

struct judged {
  batch_sums sums;
  std::vector<float> derivative;
  friend bool operator==(const judged&, const judged&) = default;
};

judged judge_rows(const loss_options& loss, size_t outputs, bool weighted) {
  const size_t rows = 37;
  std::vector<float> scores, targets, weights;
  std::vector<int32_t> labels;
  for (size_t i = 0; i < rows * outputs; ++i) {
    scores.push_back(std::sin(static_cast<float>(i) * 0.7f) * 2);
    targets.push_back(std::cos(static_cast<float>(i) * 1.3f) + 1);
  }
  for (size_t i = 0; i < rows; ++i) {
    labels.push_back(static_cast<int32_t>(i % 2));
    weights.push_back(0.5f + 0.1f * static_cast<float>(i % 4));
  }
  batch x;
  x.row_count = rows;
  if (is_classification(loss.kind))
    x.labels = labels;
  else
    x.targets = targets;
  if (weighted)
    x.weights = weights;
  judged result;
  result.derivative.resize(scores.size());
  result.sums = evaluate_loss(loss, x, scores, outputs, result.derivative);
  return result;
}

TEST(added_kinds, a_kind_with_its_options_is_one_value) {
  const auto half = pinball_of(0.5);
  EXPECT_TRUE(is_added(half));
  EXPECT_EQ(half, losses().value({"pinball", {}})) << "the default";
  EXPECT_EQ(half, from_name<loss_kind>("pinball"));
  EXPECT_EQ(half, losses().with(pinball_of(0.9), {"", {{"of", 0.5}, {"of_another", 3.0}}}));
  EXPECT_EQ(losses().with(pinball_of(0.9), {}), pinball_of(0.9)) << "nothing was given";
  EXPECT_NE(half, pinball_of(0.9));
  EXPECT_EQ(name_of(pinball_of(0.9)), "pinball");
  EXPECT_EQ(losses().what(pinball_of(0.9)), (component{"pinball", {{"of", 0.9}}}));
  EXPECT_EQ(losses().with(loss_kind::huber, {"", {{"of", 0.5}}}), loss_kind::huber);
  EXPECT_FALSE(is_added(loss_kind::squared_hinge));
  EXPECT_EQ(name_of(loss_kind::squared), "squared");
  EXPECT_EQ(from_name<loss_kind>("huber"), loss_kind::huber);
  EXPECT_EQ(from_name<loss_kind>("hubert"), std::nullopt);
}

TEST(added_kinds, what_is_none_is_refused) {
  EXPECT_THROW(losses().value({"nothing", {}}), std::invalid_argument);
  EXPECT_THROW(losses().value({"pinball", {{"of", 2.0}}}), std::invalid_argument);
  EXPECT_THROW(losses().made(loss_kind::squared), std::invalid_argument);
  EXPECT_THROW(losses().made(static_cast<loss_kind>(60'000)), std::invalid_argument);
  EXPECT_THROW(losses().made(static_cast<loss_kind>(4'000)), std::invalid_argument);
  EXPECT_THROW(
    losses().add("squared", {}, own_loss{each_score([](double, double) { return loss_value{}; })}),
    std::invalid_argument)
    << "the library's";
  EXPECT_THROW(schedules().add("empty-schedule", {}, own_schedule{}), std::invalid_argument);
  EXPECT_EQ(schedules().find("empty-schedule"), nullptr);
}

TEST(added_kinds, a_kind_may_be_made_of_another) {
  losses().add<share>("half-pinball", {}, {option("of", &share::of, within(0, 1), "")},
                      [](const share& x) {
                        const auto& whole = losses().made(pinball_of(x.of));
                        return own_loss{[&whole](auto scores, auto targets, auto out) {
                          whole.evaluate(scores, targets, out);
                          for (auto& one : out)
                            one = {one.value / 2, one.derivative / 2};
                        }};
                      });
  const auto whole = judge_rows(pinball_of(0.8), 1, false);
  EXPECT_DOUBLE_EQ(
    judge_rows(losses().value({"half-pinball", {{"of", 0.8}}}), 1, false).sums.loss_sum,
    whole.sums.loss_sum / 2);
}

TEST(added_kinds, threads_ask_for_the_same_values) {
  std::vector<std::vector<loss_kind>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen)
      threads.emplace_back([&mine] {
        for (int i = 0; i < 100; ++i) {
          mine.push_back(pinball_of(i / 100.0));
          EXPECT_TRUE(losses().made(mine.back()).evaluate);
        }
      });
  }
  for (const auto& mine : seen)
    EXPECT_EQ(mine, seen.front());
}

TEST(added_kinds, a_table_ends) {
  struct number {
    double value = 0;
  };
  added_kinds<result_rule, own_result_rule> table{"rule",
                                                  [](const own_result_rule&) { return true; }};
  table.add<number>("one", {}, {option("value", &number::value, anything(), "")},
                    [](const number&) { return own_result_rule{}; });
  for (int i = 0; i < 4096; ++i)
    table.value({"one", {{"value", double(i)}}});
  EXPECT_THROW(table.value({"one", {{"value", -1.0}}}), std::invalid_argument);
  EXPECT_EQ(table.value({"one", {{"value", 7.0}}}), table.value({"one", {{"value", 7.0}}}));
}

// ---- losses ----

TEST(added_losses, one_like_the_librarys_has_its_bits) {
  for (const bool weighted : {false, true}) {
    for (const size_t outputs : {1u, 3u})
      EXPECT_EQ(judge_rows(*from_name<loss_kind>("own-squared"), outputs, weighted),
                judge_rows(loss_kind::squared, outputs, weighted));
    EXPECT_EQ(judge_rows(*from_name<loss_kind>("own-logistic"), 1, weighted),
              judge_rows(loss_kind::binary_cross_entropy, 1, weighted));
    EXPECT_EQ(judge_rows(*from_name<loss_kind>("own-hinge"), 1, weighted),
              judge_rows(loss_kind::hinge, 1, weighted));
  }
  loss_options scaled = *from_name<loss_kind>("own-squared");
  scaled.scale = {target_scale_kind::standardize, {1, 2, 3}, {0.5, 2, 1}};
  loss_options known = loss_kind::squared;
  known.scale = scaled.scale;
  EXPECT_EQ(judge_rows(scaled, 3, true), judge_rows(known, 3, true));
}

TEST(added_losses, their_figures_are_their_own) {
  // By hand: |4 - 1| and |0 - 2| at 0.9, of two outputs the mean.
  const std::vector<float> scores{1, 2}, targets{4, 0};
  std::vector<float> derivative(2);
  batch rows;
  rows.row_count = 1;
  rows.targets = targets;
  const auto sums = evaluate_loss(pinball_of(0.9), rows, scores, 2, derivative);
  EXPECT_FLOAT_EQ(static_cast<float>(sums.loss_sum), (0.9f * 3 + 0.1f * 2) / 2);
  EXPECT_FLOAT_EQ(derivative[0], -0.45f);
  EXPECT_FLOAT_EQ(derivative[1], 0.05f);
  EXPECT_DOUBLE_EQ(sums.squared_error_sum, 9 + 4);
}

TEST(added_losses, parts_of_a_split_layer_come_to_the_same) {
  const std::vector<float> targets{4, 0, 1};
  std::vector<float> scores{1, 2, 3}, derivative(3);
  batch rows;
  rows.row_count = 1;
  rows.targets = targets;
  const auto kind = pinball_of(0.9);
  const auto whole = evaluate_loss(kind, rows, scores, 3, derivative);
  const auto first = split_regression(kind, rows, {{0, 2}, 3, std::span{scores}.first(2)});
  const auto second = split_regression(kind, rows, {{2, 3}, 3, std::span{scores}.subspan(2)});
  EXPECT_EQ(scores, derivative) << "over the scores";
  EXPECT_DOUBLE_EQ(first.loss_sum + second.loss_sum, whole.loss_sum);
  EXPECT_EQ(first.sample_count + second.sample_count, 1u);
}

TEST(added_losses, errors_are_of_predictions_in_the_targets_unit) {
  losses().add("doubled", {},
               {.evaluate = each_score([](double s, double y) {
                  return loss_value{(2 * s - y) * (2 * s - y), 4 * (2 * s - y)};
                }),
                .predicted = [](double s) { return 2 * s; }});
  loss_options loss = *from_name<loss_kind>("doubled");
  const std::vector<float> scores{1, 3}, targets{5, 6};
  std::vector<float> derivative(2), predicted(2);
  batch rows;
  rows.row_count = 2;
  rows.targets = targets;
  EXPECT_DOUBLE_EQ(evaluate_loss(loss, rows, scores, 1, derivative).squared_error_sum, 9);
  loss.scale = {target_scale_kind::standardize, {1}, {2}};
  predict_from_scores(loss, scores, 1, predicted);
  EXPECT_EQ(predicted, (std::vector<float>{5, 13}));
  EXPECT_DOUBLE_EQ(evaluate_loss(loss, rows, scores, 1, derivative).squared_error_sum, 49);
}

TEST(added_losses, accuracy_is_that_of_the_probabilities) {
  losses().add("loglog", {},
               {.evaluate = each_score([](double s, double y) {
                  return loss_value{s - y, 1};
                }),
                .is_binary = true,
                .predicted = [](double s) { return 1 - std::exp(-std::exp(s)); }});
  const std::vector<float> scores{-0.1f, -2};
  const std::vector<int32_t> labels{1, 0};
  std::vector<float> derivative(2);
  batch rows;
  rows.row_count = 2;
  rows.labels = labels;
  EXPECT_EQ(
    evaluate_loss(*from_name<loss_kind>("loglog"), rows, scores, 1, derivative).correct_count, 2u);
}

TEST(added_losses, a_score_that_is_no_number_shows) {
  const std::vector<float> scores{std::nanf("")}, targets{1};
  std::vector<float> derivative(1);
  batch rows;
  rows.row_count = 1;
  rows.targets = targets;
  EXPECT_TRUE(std::isnan(evaluate_loss(pinball_of(0.9), rows, scores, 1, derivative).loss_sum));
}

TEST(added_losses, what_they_say_of_targets_and_predictions_counts) {
  const auto deviance = *from_name<loss_kind>("own-deviance");
  EXPECT_FALSE(accepts_target(deviance, -1));
  EXPECT_EQ(target_demand(deviance), "of at least 0");
  EXPECT_FALSE(takes_target_scale(deviance));
  EXPECT_TRUE(takes_target_scale(pinball_of(0.9)));
  EXPECT_FALSE(gives_margins(*from_name<loss_kind>("own-logistic")));
  EXPECT_TRUE(gives_margins(*from_name<loss_kind>("own-hinge")));
  EXPECT_FALSE(is_classification(deviance));
  const std::vector<float> scores{0.5f};
  std::vector<float> predicted(1), both(2), known(2);
  predict_from_scores(deviance, scores, 1, predicted);
  EXPECT_FLOAT_EQ(predicted[0], std::exp(0.5f));
  predict_from_scores(*from_name<loss_kind>("own-logistic"), scores, 1, both);
  predict_from_scores(loss_kind::binary_cross_entropy, scores, 1, known);
  EXPECT_FLOAT_EQ(both[0], known[0]);
  EXPECT_EQ(both[1], known[1]);
  predict_from_scores(*from_name<loss_kind>("own-hinge"), scores, 1, both);
  EXPECT_EQ(both, (std::vector<float>{-0.5f, 0.5f}));
}

// ---- activations ----

TEST(added_activations, one_like_the_librarys_has_its_bits) {
  const auto own = *from_name<activation_kind>("own-relu");
  EXPECT_TRUE(is_rectifier(own));
  EXPECT_TRUE(derivative_needs_input(own));
  std::vector<float> x;
  for (int i = 0; i < 700; ++i) // more than two blocks
    x.push_back(std::sin(static_cast<float>(i)) * 3);
  auto a = x, b = x;
  activate(own, a);
  activate(activation_kind::relu, b);
  EXPECT_EQ(a, b);
  const std::vector<float> bias{0.25f, -0.5f};
  a = b = x;
  add_bias_and_activate(own, bias, a);
  add_bias_and_activate(activation_kind::relu, bias, b);
  EXPECT_EQ(a, b);
  std::vector<float> by_own(x.size(), 2), by_known(x.size(), 2), slopes(x.size());
  auto output = x;
  activate(activation_kind::relu, output);
  multiply_by_derivative(own, x, by_own);
  multiply_by_derivative(activation_kind::relu, output, by_known);
  EXPECT_EQ(by_own, by_known);
  auto values = x;
  activate_and_derive(own, values, slopes);
  EXPECT_EQ(values, output);
  for (auto& slope : slopes)
    slope *= 2;
  EXPECT_EQ(slopes, by_known);
}

// ---- schedules ----

TEST(added_schedules, they_are_asked_with_the_steps_for_which_they_are_in_force) {
  schedules().add("own-line", {}, {[](uint64_t step, uint64_t steps) {
                    return static_cast<double>(step) / static_cast<double>(steps);
                  }});
  schedule_options x{.kind = *from_name<schedule_kind>("own-line")};
  EXPECT_THROW(schedule_factor(x, 3), std::invalid_argument) << "no steps";
  EXPECT_EQ(schedule_factor(with_steps(x, 12), 3), 0.25);
  schedule_options after{.kind = schedule_kind::warmup, .steps = 2, .then = {x}};
  EXPECT_EQ(schedule_factor(with_steps(after, 12), 7), 0.5);
  schedules().add("own-bad", {}, {[](uint64_t, uint64_t) { return -1.0; }});
  EXPECT_THROW(schedule_factor({.kind = *from_name<schedule_kind>("own-bad"), .steps = 1}, 0),
               std::invalid_argument);
}

// ---- expressions of xtensor ----

TEST(expressions, a_loss_of_them_is_the_loss_of_each_score) {
  const own_loss by_expression{loss_of([](const auto& s, const auto& y, auto& value, auto& slope) {
    const auto e = s - y;
    value = xt::square(e);
    slope = 2 * e;
  })};
  losses().add("expressed-squared", {}, by_expression);
  for (const size_t outputs : {1u, 3u})
    EXPECT_EQ(judge_rows(*from_name<loss_kind>("expressed-squared"), outputs, true),
              judge_rows(loss_kind::squared, outputs, true));
  EXPECT_EQ(findings_text(verify_loss(by_expression)), "");
}

TEST(expressions, an_activation_of_them_is_that_of_each_value) {
  const own_activation by_expression{activation_of([](const auto& x, auto& value, auto& slope) {
    value = xt::maximum(x, 0.0f);
    slope = xt::where(x > 0.0f, 1.0f, 0.0f);
  })};
  EXPECT_EQ(findings_text(verify_activation(by_expression)), "");
  activations().add("expressed-relu", {}, by_expression);
  std::vector<float> a, b;
  for (int i = 0; i < 700; ++i)
    a.push_back(std::sin(static_cast<float>(i)) * 3);
  b = a;
  activate(*from_name<activation_kind>("expressed-relu"), a);
  activate(activation_kind::relu, b);
  EXPECT_EQ(a, b);
}

TEST(expressions, another_number_of_values_is_refused) {
  const own_loss mean{loss_of([](const auto& s, const auto& y, auto& value, auto& slope) {
    value = s - y;
    slope = xt::view(s, xt::range(0, 1));
  })};
  EXPECT_THROW(verify_loss(mean), std::invalid_argument);
}

TEST(expressions, any_expression_becomes_values_row_by_row) {
  const xt::xarray<double> table{{1, 2, 3}, {4, 5, 6}};
  const auto values_of = [](const const_buffer& x) {
    return std::vector<float>(x.values().begin(), x.values().end());
  };
  EXPECT_EQ(values_of(buffer_of(table)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(buffer_of(xt::view(table, xt::all(), 1))), (std::vector<float>{2, 5}));
  EXPECT_EQ(values_of(buffer_of(xt::transpose(table))), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  const xt::xarray<int64_t, xt::layout_type::column_major> whole = xt::cast<int64_t>(table);
  EXPECT_EQ(values_of(buffer_of(whole)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(buffer_of(2 * table + 1)), (std::vector<float>{3, 5, 7, 9, 11, 13}));
}

// ---- what is promised ----

template <class Made, class Verify>
std::string first_check(const Made& x, Verify verify) {
  const auto found = verify(x);
  return found.empty() ? "" : found.front().check;
}

TEST(verify_added, what_keeps_the_promise_passes) {
  EXPECT_EQ(findings_text(verify_loss(pinball({0.9}))), "");
  for (const auto* name : {"own-squared", "own-logistic", "own-hinge", "own-deviance"})
    EXPECT_EQ(findings_text(verify_loss(losses().made(*from_name<loss_kind>(name)))), "") << name;
  EXPECT_EQ(
    findings_text(verify_activation(activations().made(*from_name<activation_kind>("own-relu")))),
    "");
}

TEST(verify_added, what_breaks_it_is_named) {
  const auto wrong_slope = each_score([](double s, double y) {
    return loss_value{(s - y) * (s - y), s - y};
  });
  EXPECT_EQ(first_check(own_loss{wrong_slope}, verify_loss), "gradient");
  const auto adds = [](auto, auto, std::span<loss_value> out) {
    for (auto& x : out)
      x.value += 1;
  };
  EXPECT_EQ(first_check(own_loss{adds}, verify_loss), "written");
  const auto mean = [](std::span<const float> scores, auto, std::span<loss_value> out) {
    for (auto& x : out)
      x = {scores[0], 1};
  };
  EXPECT_EQ(first_check(own_loss{mean}, verify_loss), "pieces");
  EXPECT_EQ(
    first_check(own_loss{.evaluate = each_score([](double, double) { return loss_value{}; }),
                         .is_binary = true,
                         .predicted = [](double s) { return s; }},
                verify_loss),
    "predicted");
  int calls = 0;
  const auto counts = [&calls](auto, auto, std::span<loss_value> out) {
    ++calls;
    for (auto& x : out)
      x = {double(calls), 0};
  };
  EXPECT_NE(first_check(own_loss{counts}, verify_loss), "");

  EXPECT_EQ(first_check(
              own_activation{each_value([](float x) { return x * x; }, [](float x) { return x; })},
              verify_activation),
            "gradient");
  const auto forgets = [](std::span<const float> x, std::span<float> value,
                          std::span<float> slope) {
    for (size_t i = 0; i + 1 < x.size(); ++i)
      value[i] = x[i];
    std::ranges::fill(slope, 1.0f);
  };
  EXPECT_EQ(first_check(own_activation{forgets}, verify_activation), "written");

  EXPECT_EQ(
    first_check(own_schedule{[](uint64_t t, uint64_t n) { return 1 - double(t) / double(n); }},
                verify_schedule),
    "not finite");
  EXPECT_EQ(first_check(own_schedule{[&calls](uint64_t, uint64_t) { return double(++calls); }},
                        verify_schedule),
            "pure");

  const auto by_sum = [](std::span<const merged_part> parts, auto, std::span<float> out) {
    std::ranges::fill(out, parts[0].values.size() > 20 ? 1.0f : 2.0f);
  };
  EXPECT_EQ(first_check(own_merge{by_sum}, verify_merge), "pieces");
  EXPECT_EQ(first_check(own_merge{[](auto, auto, auto) {}}, verify_merge), "written");
  EXPECT_EQ(first_check(own_result_rule{[&calls](std::span<const seen_result> seen) {
                          calls = seen.size() == 1 ? 0 : calls + (seen.back().figure > 1 ? 1 : 0);
                          return calls > 3; // what it counted is gone after a checkpoint
                        }},
                        verify_result_rule),
            "pure");
  EXPECT_EQ(
    first_check(own_result_rule{[&calls](auto) { return ++calls % 7 == 0; }}, verify_result_rule),
    "pure");
}

} // namespace
} // namespace troupe::added_kinds_test
