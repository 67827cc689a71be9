#include "coordinators/modes/model_merger.hpp"

#include "models/merging/regression_mean.hpp"
#include "models/solvers/least_squares.hpp"
#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <random>
#include <stdexcept>

namespace troupe::model_merger_test {
namespace {

using test::buffer_of;
using test::floats;

merge_entry entry_of(uint64_t child, const floats& values, uint64_t samples = 1) {
  merge_entry result;
  result.child = child;
  result.values = buffer_of(values);
  result.sample_count = samples;
  return result;
}

merge_options weighted_by(merge_weighting weighting) {
  merge_options options;
  options.rule = merge_rule::weighted;
  options.weighting = weighting;
  return options;
}

std::vector<merge_entry> some_entries(size_t count) {
  std::vector<merge_entry> result;
  const auto models = test::normal_models(count, 30, 5);
  for (size_t i = 0; i < count; ++i) {
    auto& entry = result.emplace_back(entry_of(i, models[i], i + 1));
    entry.judged = judgement{false, static_cast<double>(i), 0, 10};
  }
  return result;
}

floats merged(const merge_options& options, const std::vector<merge_entry>& entries) {
  return merge(options, entries).values;
}

std::shared_ptr<const parameter_layout> layout_of(const std::vector<std::string>& names) {
  auto result = std::make_shared<parameter_layout>();
  for (const auto& name : names)
    result->add(name, {1});
  return result;
}

TEST(model_merger, merges_by_each_rule) {
  const std::vector<merge_entry> entries{entry_of(1, {0}), entry_of(2, {1}), entry_of(3, {3}),
                                         entry_of(4, {7}), entry_of(5, {100})};
  merge_options options;
  EXPECT_NEAR(merged(options, entries)[0], 22.2f, 1e-5);
  options.rule = merge_rule::median;
  EXPECT_EQ(merged(options, entries), floats{3});
  options.rule = merge_rule::trimmed_mean;
  EXPECT_EQ(merged(options, entries), floats{11.0f / 3});
  options.rule = merge_rule::krum;
  options.faulty_count = 1;
  EXPECT_EQ(merged(options, entries), floats{1});
  options.rule = merge_rule::multi_krum;
  EXPECT_EQ(merged(options, entries), floats{0.5f});
  options.kept_count = 3;
  EXPECT_EQ(merged(options, entries), floats{4.0f / 3});
  options.rule = merge_rule::geometric_median;
  EXPECT_NEAR(merged(options, entries)[0], 3, 1e-3) << "on a line it is the median";
}

TEST(model_merger, weighs_by_what_is_known_of_each_model) {
  std::vector<merge_entry> entries{entry_of(4, {8}, 30), entry_of(2, {4}, 10)};
  entries[0].judged = judgement{false, 1, 0, 10};
  entries[1].judged = judgement{false, 3, 0, 10};
  EXPECT_EQ(merged(weighted_by(merge_weighting::equal), entries), floats{6});
  EXPECT_EQ(merged(weighted_by(merge_weighting::ignore), entries), floats{6});
  EXPECT_EQ(merged(weighted_by(merge_weighting::samples), entries), floats{7});
  EXPECT_EQ(merged(weighted_by(merge_weighting::ratio), entries), floats{7});
  EXPECT_EQ(merged(weighted_by(merge_weighting::best), entries), floats{8});
  auto custom = weighted_by(merge_weighting::custom);
  custom.custom_weights = {{2, 3.0}, {4, 1.0}, {9, 5.0}};
  const auto result = merge(custom, entries);
  EXPECT_EQ(result.values, floats{5});
  EXPECT_EQ(result.children, (std::vector<uint64_t>{2, 4}));
  EXPECT_EQ(result.weights, (std::vector<double>{0.75, 0.25}));
}

TEST(model_merger, a_single_model_is_merged_to_itself_by_every_weighting) {
  for (const bool classifies : {false, true}) {
    auto only = entry_of(3, {0.1f, -2, 1e-30f}, 7);
    only.judged = classifies ? judgement{true, 0, 0, 10} : judgement{false, 0, 0, 10};
    for (const auto& [weighting, name] : name_table<merge_weighting>::entries) {
      auto options = weighted_by(weighting);
      options.custom_weights = {{3, 0.25}};
      const auto result = merge(options, {only});
      EXPECT_EQ(result.weights, std::vector<double>{1}) << name << ": not 0 / 0";
      EXPECT_EQ(result.values, (floats{0.1f, -2, 1e-30f})) << name;
    }
  }
}

TEST(model_merger, the_best_of_equals_is_the_lowest_child_whoever_came_first) {
  std::vector<merge_entry> entries{entry_of(7, {7}), entry_of(3, {3}), entry_of(5, {5})};
  for (auto& entry : entries)
    entry.judged = judgement{true, 0, 0, 10};
  EXPECT_EQ(merged(weighted_by(merge_weighting::best), entries), floats{3}) << "all accuracies 0";
  entries[0].judged->correct_count = entries[2].judged->correct_count = 4;
  EXPECT_EQ(merged(weighted_by(merge_weighting::best), entries), floats{5});
}

TEST(model_merger, bits_do_not_depend_on_who_came_first) {
  const auto ordered = some_entries(9);
  for (const auto& [rule, name] : name_table<merge_rule>::entries) {
    if (rule == merge_rule::regression_mean)
      continue; // below
    auto options = weighted_by(merge_weighting::ratio);
    options.rule = rule;
    options.faulty_count = 2;
    const auto expected = merged(options, ordered);
    std::mt19937_64 random{17};
    for (int round = 0; round < 20; ++round) {
      auto entries = ordered;
      for (size_t i = entries.size(); i > 1; --i)
        std::swap(entries[i - 1], entries[random() % i]);
      EXPECT_EQ(merged(options, entries), expected) << name;
    }
  }
}

TEST(model_merger, several_models_of_a_child_keep_their_order) {
  const std::vector<merge_entry> entries{entry_of(2, {1}), entry_of(1, {5}), entry_of(2, {3})};
  const auto result = merge({}, entries);
  EXPECT_EQ(result.children, (std::vector<uint64_t>{1, 2, 2}));
  EXPECT_EQ(result.values, floats{3});
}

TEST(model_merger, models_with_different_tensors_merge_over_the_union_of_names) {
  auto a = entry_of(1, {2, 4});
  a.layout = layout_of({"x", "y"});
  auto b = entry_of(2, {6, 10});
  b.layout = layout_of({"y", "z"});
  const auto result = merge({}, {b, a});
  EXPECT_EQ(*result.layout, *layout_of({"x", "y", "z"})) << "in the order of children";
  EXPECT_EQ(result.values, (floats{1, 5, 5})) << "what is missing counts as 0";
  EXPECT_THROW(merge({}, {a, entry_of(3, {1, 2})}), std::invalid_argument);
}

TEST(model_merger, rounds_what_it_merged) {
  merge_options options;
  const std::vector<merge_entry> entries{entry_of(1, {1, -1}), entry_of(2, {2, -2})};
  options.rounding = merge_rounding::floor;
  EXPECT_EQ(merged(options, entries), (floats{1, -2}));
  options.rounding = merge_rounding::ceiling;
  EXPECT_EQ(merged(options, entries), (floats{2, -1}));
}

TEST(model_merger, regression_mean_is_the_regression_on_all_rows_in_any_order) {
  merge_options options;
  options.rule = merge_rule::regression_mean;
  options.target_count = 1;
  floats all_x, all_y;
  std::vector<merge_entry> entries;
  for (uint64_t k = 0; k < 3; ++k) {
    const auto x = test::normal_models(1, 60, k, 2).front();
    const auto y = test::normal_models(1, 20, k + 10).front();
    all_x.insert(all_x.end(), x.begin(), x.end());
    all_y.insert(all_y.end(), y.begin(), y.end());
    entries.push_back(entry_of(k, least_squares({20, x, {}, y}, 3, 1)));
    entries.back().gram = gram_matrix(x, 3, true);
  }
  const auto found = merged(options, entries);
  const auto expected = least_squares({60, all_x, {}, all_y}, 3, 1);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-5);
  std::swap(entries[0], entries[2]);
  EXPECT_EQ(merged(options, entries), found);
  options.target_count = 4;
  EXPECT_THROW(merge(options, entries), std::invalid_argument) << "nothing but biases is left";
}

TEST(model_merger, the_callers_rounding_mode_does_not_show) {
  const auto entries = some_entries(5);
  const auto expected = merged({}, entries);
  std::fesetround(FE_UPWARD);
  const auto found = merged({}, entries);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(found, expected);
}

TEST(model_merger, says_what_an_entry_lacks) {
  const auto entry = entry_of(6, {1});
  EXPECT_EQ(misfit_of({}, entry), std::nullopt);
  EXPECT_EQ(misfit_of(weighted_by(merge_weighting::ratio), entry),
            "the model of child 6 was not judged on validation rows");
  EXPECT_EQ(misfit_of(weighted_by(merge_weighting::custom), entry),
            "there is no custom weight for child 6");
  merge_options mean;
  mean.rule = merge_rule::regression_mean;
  EXPECT_EQ(misfit_of(mean, entry),
            "the model of child 6 came without the Gram matrix of its rows");
  EXPECT_THROW(merge(weighted_by(merge_weighting::best), {entry}), std::invalid_argument);
  EXPECT_THROW(merge(weighted_by(merge_weighting::custom), {entry}), std::invalid_argument);
  EXPECT_THROW(merge({}, {}), std::invalid_argument);
}

TEST(model_merger, knows_how_many_models_a_rule_needs) {
  merge_options options;
  EXPECT_EQ(entry_count_min(options), 1u);
  options.rule = merge_rule::trimmed_mean;
  options.trimmed_count = 2;
  options.faulty_count = 3;
  EXPECT_EQ(entry_count_min(options), 5u);
  options.rule = merge_rule::krum;
  EXPECT_EQ(entry_count_min(options), 9u);
  options.rule = merge_rule::multi_krum;
  options.kept_count = 20;
  EXPECT_EQ(entry_count_min(options), 20u);
  for (auto rule : {merge_rule::trimmed_mean, merge_rule::krum}) {
    options.rule = rule;
    const auto needed = entry_count_min(options);
    EXPECT_NO_THROW(merge(options, some_entries(needed)));
    EXPECT_THROW(merge(options, some_entries(needed - 1)), std::invalid_argument);
  }
}

} // namespace
} // namespace troupe::model_merger_test
