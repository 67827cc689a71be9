// A job's metrics: judged in one pass, refused by name where they have nothing to say.

#include "models/metrics/metric_set.hpp"

#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace troupe::metric_set_test {
namespace {

const metric_input classes{3, loss_kind::categorical_cross_entropy};

// What a set makes of the names, in words; empty: it takes them.
std::string refusal_of(const std::vector<std::string>& names, const metric_input& input) {
  try {
    const metric_set set{names, input};
    return {};
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
}

std::vector<double> totals_of(const metric_set& set, const std::vector<metric_sums>& parts) {
  std::vector<double> result(set.sum_count());
  for (const auto& part : parts) {
    EXPECT_TRUE(part.fits(set.sum_count()));
    part.add_to(result);
  }
  return result;
}

} // namespace

TEST(metric_set, judges_a_models_predictions_chunk_by_chunk) {
  neural_network_options options;
  options.features = 1;
  options.outputs = 3;
  options.loss = loss_kind::categorical_cross_entropy;
  const neural_network network{options};
  // Weights, then biases: the greater x the likelier the last class.
  const std::vector<float> parameters{-1, 0, 1, 0, 0, 0};
  const std::vector<float> features{-2, 2, -1, 1};
  const std::vector<int32_t> labels{0, 2, 0, 0};
  const auto rows = [&](size_t begin, size_t count) {
    batch result;
    result.row_count = count;
    result.features = std::span{features}.subspan(begin, count);
    result.labels = std::span{labels}.subspan(begin, count);
    return result;
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
  EXPECT_NE(refusal_of({"ROC"}, classes)
              .find("has no metric of kind 'ROC'; it has loss, accuracy, r2, auc, brier"),
            std::string::npos);
}

} // namespace troupe::metric_set_test
