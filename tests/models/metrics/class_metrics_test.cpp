// Metrics of classes against cases worked by hand and against NumPy; sums are whole numbers, the same in
// whatever order.

#include "models/metrics/class_metrics.hpp"

#include "models/math/tree_accumulator.hpp"
#include "models/metrics/metric_set.hpp"
#include "models/metrics/prediction_sums.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

namespace troupe::class_metrics_test {
namespace {

struct some_rows {
  size_t classes;
  std::vector<float> probabilities;
  std::vector<int32_t> labels;

  void add(float of_second, int32_t label) {
    probabilities.insert(probabilities.end(), {1 - of_second, of_second});
    labels.push_back(label);
  }
  some_rows chosen(const std::vector<size_t>& numbers) const {
    some_rows result{classes, {}, {}};
    for (const auto i : numbers) {
      const auto row = std::span{probabilities}.subspan(i * classes, classes);
      result.probabilities.insert(result.probabilities.end(), row.begin(), row.end());
      result.labels.push_back(labels[i]);
    }
    return result;
  }
  judged_rows judged() const { return {labels.size(), probabilities, labels, {}}; }
};

some_rows rows_of(const nlohmann::json& x) {
  return {x["classes"].get<size_t>(), test::flat<float>(x["probabilities"]),
          test::flat<int32_t>(x["labels"])};
}

std::vector<double> sums_of(const metric& x, const some_rows& rows) {
  std::vector<double> result(x.sum_count());
  x.add(rows.judged(), result);
  return result;
}

double value_of(const metric& x, const some_rows& rows) {
  return x.value(sums_of(x, rows)).value();
}

std::vector<std::unique_ptr<metric>> all_of(size_t classes) {
  std::vector<std::unique_ptr<metric>> result;
  result.push_back(std::make_unique<auc_metric>(classes));
  result.push_back(std::make_unique<average_precision_metric>(classes));
  result.push_back(std::make_unique<brier_metric>(classes));
  result.push_back(std::make_unique<calibration_metric>(classes));
  using enum confusion_metric::figure;
  result.push_back(std::make_unique<confusion_metric>(classes, macro_f1));
  result.push_back(std::make_unique<confusion_metric>(classes, balanced_accuracy));
  return result;
}

TEST(class_metrics, of_a_case_worked_by_hand) {
  some_rows x{2, {}, {}};
  // Of 2 x 2 pairs three are in order.
  x.add(0.125f, 0);
  x.add(0.75f, 0);
  x.add(0.5f, 1);
  x.add(0.875f, 1);
  const auc_metric auc{2};
  const auto counts = sums_of(auc, x);
  EXPECT_EQ(auc.of_class(counts, 1), (auc_figure{0.75, 0}));
  EXPECT_EQ(auc.macro(counts), (auc_figure{0.75, 0}));
  EXPECT_EQ(auc.value(counts), 0.75);
  // Class 1 by falling probability: found at 0.875, where all are right, and at 0.5, where two of three are.
  EXPECT_DOUBLE_EQ(value_of(average_precision_metric{2}, x), (1 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(value_of(brier_metric{2}, x),
                   (0.125 * 0.125 + 0.75 * 0.75 + 0.25 + 0.125 * 0.125) / 4);
  // Likeliest: 0.875 right twice; 0.75 wrong; 0.5 for the first class, wrong.
  const calibration_metric calibration{2};
  EXPECT_DOUBLE_EQ(value_of(calibration, x), (2 * 0.125 + 0.75 + 0.5) / 4);
  const auto bins = calibration.bins(sums_of(calibration, x));
  EXPECT_EQ(bins[13].row_count, 2); // (13, 14] of 15: 0.867 to 0.933
  EXPECT_EQ(bins[13].confidence, 0.875);
  EXPECT_EQ(bins[13].accuracy, 1);
  // Of the first class one of two is found, one of two said to be it; of the second likewise.
  using enum confusion_metric::figure;
  EXPECT_EQ(value_of(confusion_metric{2, macro_f1}, x), 0.5);
  x.add(0.25f, 0);
  EXPECT_DOUBLE_EQ(value_of(confusion_metric{2, balanced_accuracy}, x), (2.0 / 3 + 0.5) / 2);
}

TEST(class_metrics, equal_probabilities_are_ties_and_certain_ones_are_told_apart) {
  const auc_metric auc{2};
  some_rows x{2, {}, {}};
  x.add(0.25f, 0);
  x.add(0.25f, 1);
  EXPECT_EQ(auc.of_class(sums_of(auc, x), 1), (auc_figure{0.5, 0.5}));
  some_rows certain{2, {}, {}};
  for (const float p : {1e-9f, 1e-6f, 0.0f})
    certain.add(p, 0);
  for (const float p : {1e-5f, 1 - 1e-6f, 1.0f})
    certain.add(p, 1);
  EXPECT_EQ(auc.of_class(sums_of(auc, certain), 1), (auc_figure{1, 0}));
}

TEST(class_metrics, agree_with_numpy) {
  for (const auto& reference : test::load_reference("score_counts.json")["cases"]) {
    const auto x = rows_of(reference);
    const auc_metric auc{x.classes};
    const auto counts = sums_of(auc, x);
    for (size_t c = 0; c < x.classes; ++c) {
      const auto found = *auc.of_class(counts, c);
      EXPECT_NEAR(found.value, reference["auc"][c].get<double>(), found.error_max + 1e-12);
      EXPECT_LT(found.error_max, 0.003);
    }
    double precision = 0;
    for (size_t c = x.classes == 2 ? 1 : 0; c < x.classes; ++c)
      precision += reference["average_precision"][c].get<double>();
    EXPECT_NEAR(value_of(average_precision_metric{x.classes}, x),
                x.classes == 2 ? precision : precision / static_cast<double>(x.classes), 0.004);
    EXPECT_NEAR(value_of(brier_metric{x.classes}, x), reference["brier"].get<double>(), 1e-9);
    EXPECT_NEAR(value_of(calibration_metric{x.classes}, x),
                reference["calibration_error"].get<double>(), 1e-9);
  }
}

TEST(class_metrics, are_the_same_in_any_order_and_however_cut) {
  std::mt19937 random{5};
  for (const auto& reference : test::load_reference("score_counts.json")["cases"]) {
    const auto x = rows_of(reference);
    for (const auto& one : all_of(x.classes)) {
      std::vector<size_t> numbers(x.labels.size());
      std::iota(numbers.begin(), numbers.end(), 0);
      const auto whole = sums_of(*one, x);
      for (int trial = 0; trial < 5; ++trial) {
        std::ranges::shuffle(numbers, random);
        const auto cut = numbers.begin() + static_cast<std::ptrdiff_t>(random() % numbers.size());
        auto parts = sums_of(*one, x.chosen({cut, numbers.end()}));
        one->add(x.chosen({numbers.begin(), cut}).judged(), parts); // adds to what is there
        EXPECT_TRUE(parts == whole);
      }
    }
  }
}

TEST(class_metrics, rows_without_probabilities_are_left_out_and_none_have_no_figure) {
  const some_rows x{2, {-0.5f, 1.5f, 0.5f, std::numeric_limits<float>::quiet_NaN()}, {0, 0}};
  for (const auto& one : all_of(2)) {
    EXPECT_EQ(one->value(std::vector<double>(one->sum_count())), std::nullopt);
    EXPECT_THROW(sums_of(*one, {2, {1}, {0}}), std::invalid_argument);
    EXPECT_THROW(sums_of(*one, {2, {0.5f, 0.5f}, {2}}), std::invalid_argument);
    EXPECT_THROW(sums_of(*one, {2, {0.5f, 0.5f}, {-1}}), std::invalid_argument);
  }
  EXPECT_EQ(auc_metric{2}.value(sums_of(auc_metric{2}, x)), std::nullopt);
  EXPECT_EQ(brier_metric{2}.value(sums_of(brier_metric{2}, x)), std::nullopt);
  EXPECT_EQ(calibration_metric{2}.value(sums_of(calibration_metric{2}, x)), std::nullopt);
  EXPECT_THROW(all_of(1), std::invalid_argument);
}

// A job's metrics: judged in one pass, refused by name where they have nothing to say.

const metric_input classes{3, loss_kind::categorical_cross_entropy};

// What a set makes of the names, in words; empty: it takes them.
std::string refusal_of(const std::vector<std::string>& names, const metric_input& input) {
  return test::complaint_of([&] { const metric_set set{names, input}; });
}

std::vector<double> totals_of(const metric_set& set, const std::vector<metric_sums>& parts) {
  std::vector<double> result(set.sum_count());
  for (const auto& part : parts) {
    EXPECT_TRUE(part.fits(set.sum_count()));
    part.add_to(result);
  }
  return result;
}

TEST(metric_set, judges_a_models_predictions_chunk_by_chunk) {
  const neural_network network{{1, 3, {}}};
  // Weights, then biases: the greater x the likelier the last class.
  const std::vector<float> parameters{-1, 0, 1, 0, 0, 0};
  const std::vector<float> features{-2, 2, -1, 1};
  const std::vector<int32_t> labels{0, 2, 0, 0};
  const auto rows = [&](size_t begin, size_t count) {
    return batch{count,
                 std::span{features}.subspan(begin, count),
                 std::span{labels}.subspan(begin, count),
                 {}};
  };
  const metric_set set{{"balanced-accuracy", "auc"}, classes};
  workspace memory;
  const auto whole = totals_of(set, {set.judge(network, parameters, rows(0, 4), memory)});
  EXPECT_TRUE(whole == totals_of(set, {set.judge(network, parameters, rows(0, 1), memory),
                                       set.judge(network, parameters, rows(1, 3), memory)}));
  metric_figures figures;
  set.add_figures("test", whole, figures);
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_DOUBLE_EQ(*figures.at("test_balanced_accuracy"), (2.0 / 3 + 1) / 2);
  // Of the first class against the last row's likes: pairs (-2, 2), (-1, 2) in order, (1, 2) too; of the
  // last class the same three. The second class has no rows.
  EXPECT_DOUBLE_EQ(*figures.at("test_auc"), 1);
  set.add_figures("validation", {}, figures);
  EXPECT_EQ(figures.at("validation_auc"), std::nullopt);
}

TEST(metric_set, tells_what_it_cannot_judge) {
  EXPECT_EQ(
    refusal_of({"auc", "brier", "calibration-error", "macro-f1", "balanced-accuracy"}, classes),
    "");
  EXPECT_EQ(refusal_of({"mae", "rmse"}, {2, loss_kind::huber}), "");
  EXPECT_EQ(refusal_of({"macro-f1", "balanced-accuracy"}, {2, loss_kind::hinge}), "");
  EXPECT_EQ(refusal_of({"auc"}, {2, loss_kind::hinge}),
            "auc: it judges probabilities, and the loss gives margins");
  EXPECT_EQ(refusal_of({"mae", "auc"}, {2, loss_kind::squared}),
            "auc: it judges classes, and the targets are numbers");
  EXPECT_EQ(refusal_of({"rmse"}, classes), "rmse: it judges numbers, and the targets are classes");
  EXPECT_EQ(refusal_of({"auc"}, {100'000, loss_kind::categorical_cross_entropy}),
            "auc: there are too many classes for it");
  EXPECT_THROW(metrics().add<int>("accuracy", {}, {}, {}), std::invalid_argument);
  EXPECT_TRUE(test::contains(
    refusal_of({"ROC"}, classes),
    "has no metric of kind 'ROC'; it has loss, accuracy, r2, auc, average-precision, brier"));
}

// Metrics against cases worked by hand and against NumPy.

// actual \ predicted:  2 1 0 / 0 3 1 / 0 0 0 (the third class is predicted once, and never there)
confusion_matrix small_matrix() {
  confusion_matrix matrix{3};
  for (auto [actual, predicted] : {std::pair{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 2}})
    matrix.add(static_cast<size_t>(actual), static_cast<size_t>(predicted));
  return matrix;
}

TEST(confusion_matrix, counts_rows_by_actual_and_predicted_class) {
  const auto matrix = small_matrix();
  EXPECT_EQ(matrix.count(0, 1), 1u);
  EXPECT_EQ(matrix.count(1, 0), 0u);
  EXPECT_EQ(matrix.actual_count(1), 4u);
  EXPECT_EQ(matrix.predicted_count(1), 4u);
  EXPECT_EQ(matrix.total(), 7u);
  EXPECT_EQ(matrix.correct(), 5u);
  EXPECT_DOUBLE_EQ(*matrix.accuracy(), 5.0 / 7);
}

TEST(confusion_matrix, scores_are_those_worked_by_hand) {
  const auto matrix = small_matrix();
  EXPECT_EQ(matrix.scores(0), (class_scores{1, 2.0 / 3, 2 * (2.0 / 3) / (1 + 2.0 / 3)}));
  EXPECT_EQ(matrix.scores(1), (class_scores{0.75, 0.75, 0.75}));
  EXPECT_EQ(matrix.scores(2), (class_scores{0, 0, 0})) << "never there: recall counts as 0";
  EXPECT_DOUBLE_EQ(matrix.macro().precision, (1 + 0.75 + 0) / 3);
  EXPECT_DOUBLE_EQ(matrix.macro().recall, (2.0 / 3 + 0.75) / 3);
  EXPECT_DOUBLE_EQ(matrix.macro().f1, (0.8 + 0.75) / 3);
}

TEST(confusion_matrix, classes_that_do_not_occur_have_no_part_in_the_average) {
  confusion_matrix matrix{3};
  EXPECT_EQ(matrix.accuracy(), std::nullopt);
  EXPECT_EQ(matrix.macro(), class_scores{});
  matrix.add(2, 2);
  EXPECT_EQ(matrix.macro(), (class_scores{1, 1, 1}));
}

TEST(confusion_matrix, refuses_classes_it_does_not_have) {
  confusion_matrix matrix{2};
  EXPECT_THROW(matrix.add(2, 0), std::invalid_argument);
  EXPECT_THROW(matrix.add(0, 2), std::invalid_argument);
  EXPECT_THROW(confusion_matrix{0}, std::invalid_argument);
}

TEST(regression_sums, are_those_worked_by_hand) {
  // Targets 1 2 | 3 6 (mean 2 and 4, squares 2 and 8), errors 1, 0, -1, 2.
  const std::array<float, 4> targets{1, 2, 3, 6}, predictions{2, 2, 2, 8};
  const auto sums = compare(predictions, targets, 2);
  EXPECT_DOUBLE_EQ(*sums.mean_squared_error(), 6.0 / 4);
  EXPECT_DOUBLE_EQ(*sums.mean_absolute_error(), 1);
  EXPECT_DOUBLE_EQ(*sums.r2(), 1 - 6.0 / 10);
}

TEST(regression_sums, without_rows_or_variation_some_figures_do_not_exist) {
  const auto none = compare({}, {}, 1);
  EXPECT_EQ(none.mean_squared_error(), std::nullopt);
  EXPECT_EQ(none.r2(), std::nullopt);
  const std::array<float, 2> same{3, 3}, other{4, 2};
  EXPECT_EQ(compare(other, same, 1).r2(), std::nullopt);
  EXPECT_EQ(compare(other, same, 1).mean_absolute_error(), 1.0);
}

TEST(regression_sums, of_parts_add_up_far_from_zero) {
  // Around 4,000,000 a sum of squares minus a square of sums would keep no digit of the variance.
  std::vector<float> targets, predictions;
  for (int i = 0; i < 1000; ++i) {
    targets.push_back(4e6f + static_cast<float>(i % 5));
    predictions.push_back(targets.back() + 1);
  }
  tree_accumulator<regression_sums> parts;
  for (size_t begin = 0; begin < 1000; begin += 70) {
    const auto count = std::min<size_t>(70, 1000 - begin);
    parts.push(compare(std::span{predictions}.subspan(begin, count),
                       std::span{targets}.subspan(begin, count), 1));
  }
  EXPECT_DOUBLE_EQ(*parts.total().r2(), 1 - 1000.0 / 2000.0);
  EXPECT_EQ(parts.total().count, 1000u);
}

TEST(regression_sums, refuse_sizes_that_differ) {
  const std::array<float, 3> three{};
  EXPECT_THROW(compare(three, std::span{three}.first(2), 1), std::invalid_argument);
  EXPECT_THROW(compare(three, three, 2), std::invalid_argument);
}

TEST(metrics, agree_with_numpy) {
  const auto reference = test::load_reference("metrics.json");
  const auto labels = test::flat<size_t>(reference["labels"]);
  const auto guesses = test::flat<size_t>(reference["guesses"]);
  confusion_matrix matrix{5};
  for (size_t i = 0; i < labels.size(); ++i)
    matrix.add(labels[i], guesses[i]);
  const auto expected = test::flat<double>(reference["macro"]);
  EXPECT_NEAR(matrix.macro().precision, expected[0], 1e-14);
  EXPECT_NEAR(matrix.macro().recall, expected[1], 1e-14);
  EXPECT_NEAR(matrix.macro().f1, expected[2], 1e-14);
  const auto targets = test::flat<float>(reference["targets"]);
  const auto predictions = test::flat<float>(reference["predictions"]);
  const auto sums = compare(predictions, targets, 2);
  const auto figures = test::flat<double>(reference["regression"]);
  EXPECT_NEAR(*sums.mean_squared_error(), figures[0], 1e-13);
  EXPECT_NEAR(*sums.mean_absolute_error(), figures[1], 1e-13);
  EXPECT_NEAR(*sums.r2(), figures[2], 1e-13);
}

TEST(tensor_figures, are_those_of_the_finite_values) {
  const auto infinity = std::numeric_limits<float>::infinity();
  const std::array<float, 5> values{3, std::nanf(""), -4, infinity, -infinity};
  EXPECT_EQ(figures_of(values), (tensor_figures{5, -4, 3, 3}));
  EXPECT_EQ(figures_of(std::span{values}.subspan(3)), (tensor_figures{0, 0, 0, 2}));
}

} // namespace
} // namespace troupe::class_metrics_test
