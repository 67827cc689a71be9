#include "data/training_rows/prepare.hpp"

#include "data/text/failure.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "data/training_rows/row_source.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

namespace troupe::prepare_test {
namespace {

/// N rows of (i, 100 i, 7) with target 10 i.
dataset counted_rows(size_t count) {
  dataset x;
  x.row_count = count;
  x.feature_count = 3;
  x.feature_names = {"a", "b", "c"};
  x.target_count = 1;
  x.target_names = {"y"};
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    x.features.insert(x.features.end(), {value, 100 * value, 7});
    x.targets.push_back(10 * value);
  }
  return x;
}

dataset labelled_rows() {
  auto x = counted_rows(4);
  x.targets.clear();
  x.target_count = 0;
  x.classes = {"no", "yes"};
  x.labels = {0, 1, 1, 0};
  return x;
}

TEST(prepare, standardises_to_mean_0_and_deviation_1_with_divisor_n) {
  const auto result = prepare(counted_rows(3), {1, {}, true});
  // Mean of 0, 1, 2 is 1, its deviation sqrt(2 / 3); a constant column becomes 0.
  const auto unit = static_cast<float>(std::sqrt(1.5));
  const float expected[] = {-unit, -unit, 0, 0, 0, 0, unit, unit, 0};
  for (size_t i = 0; i < 9; ++i)
    EXPECT_FLOAT_EQ(result.train.features[i], expected[i]) << i;
  EXPECT_EQ(result.features.mean, (std::vector<float>{1, 100, 7}));
  EXPECT_EQ(result.features.deviation[2], 1);
  EXPECT_EQ(result.train.targets, (std::vector<float>{0, 10, 20})) << "targets stay as they are";
}

TEST(prepare, what_rows_say_of_their_parts_is_not_passed_over) {
  auto groups = labelled_rows();
  groups.groups = {0, 0, 1, 1};
  groups.group_names = {"a", "b"};
  auto sequence = labelled_rows();
  sequence.overlap = 1;
  const prepare_options chunks{1, {0.5}, false, 2};
  const prepare_options by_class{1, {0.5, 0, true}, false};
  for (const auto& rows : {groups, sequence})
    for (const auto& [options, key] :
         {std::pair{chunks, "data.shuffle"}, {by_class, "data.stratify"}}) {
      const auto error = test::failure_of([&] { prepare(dataset{rows}, options); });
      EXPECT_EQ(error.where(), key);
    }
}

TEST(prepare, features_that_look_like_the_rows_number_or_name_are_named) {
  auto x = counted_rows(12);
  EXPECT_EQ(prepare(dataset{x}, {1, {0.5}, true}).row_names, (std::vector<std::string>{"a", "b"}))
    << "both rise from row to row; by the rows as read, not as split and scaled";
  EXPECT_TRUE(prepare(counted_rows(9), {1, {}, false}).row_names.empty()) << "may be chance";
  x.features[3] = 0.5;
  EXPECT_EQ(prepare(dataset{x}, {1, {}, false}).row_names, (std::vector<std::string>{"b"}))
    << "a measure that rises is none";
  std::swap(x.features[1], x.features[4]);
  EXPECT_TRUE(prepare(dataset{x}, {1, {}, false}).row_names.empty());
  for (const auto* name : {"id", "ID", "customer_id", "Unnamed: 0"}) {
    x.feature_names[1] = name;
    EXPECT_EQ(prepare(dataset{x}, {1, {}, false}).row_names, (std::vector<std::string>{name}));
  }
  x.features[1] = x.features[4];
  EXPECT_TRUE(prepare(dataset{x}, {1, {}, false}).row_names.empty()) << "one comes twice";
}

TEST(prepare, statistics_come_from_the_training_rows_alone) {
  for (const auto& options :
       {prepare_options{3, {0.3}, true}, prepare_options{3, {0.2, 0.3}, true}}) {
    const auto result = prepare(counted_rows(10), options);
    const auto count = result.train.row_count;
    ASSERT_EQ(count, options.parts.validation_fraction > 0 ? 5u : 7u);
    double mean = 0;
    for (auto y : result.train.targets)
      mean += y / 10.0 / static_cast<double>(count);
    EXPECT_FLOAT_EQ(result.features.mean[0], static_cast<float>(mean));
    for (const auto* part : {&result.test, &result.validation}) // went through the same map
      for (size_t i = 0; i < part->row_count; ++i)
        EXPECT_FLOAT_EQ(part->row(i)[0], (part->targets[i] / 10 - result.features.mean[0]) /
                                           result.features.deviation[0]);
  }
}

TEST(prepare, a_fraction_of_the_rows_is_the_one_that_was_written) {
  // In double some of these products fall short of the whole number by a last place or two.
  for (size_t count = 1; count < 100; ++count) {
    const auto fraction = static_cast<double>(count) / 100;
    for (size_t rows : {100, 1300})
      EXPECT_EQ(prepare(counted_rows(rows), {7, {fraction}, false}).test.row_count,
                count * rows / 100)
        << fraction << " of " << rows;
    EXPECT_EQ(prepare(counted_rows(99), {7, {fraction}, false}).test.row_count, count * 99 / 100);
  }
}

TEST(prepare, splits_every_row_into_one_part_and_keeps_the_order) {
  for (double fraction : {0.0, 0.1, 0.25, 0.999}) {
    const auto result = prepare(counted_rows(1000), {7, {fraction}, false});
    EXPECT_EQ(result.test.row_count, static_cast<size_t>(fraction * 1000));
    EXPECT_EQ(result.train.row_count + result.test.row_count, 1000u);
    std::set<float> seen;
    for (const auto* part : {&result.train, &result.test}) {
      EXPECT_TRUE(std::ranges::is_sorted(part->targets));
      for (size_t i = 0; i < part->row_count; ++i) {
        EXPECT_EQ(part->row(i)[0] * 10, part->targets[i]) << "a row keeps its target";
        seen.insert(part->targets[i]);
      }
    }
    EXPECT_EQ(seen.size(), 1000u);
  }
}

TEST(prepare, another_seed_keeps_other_rows_for_testing) {
  const auto a = prepare(counted_rows(100), {1, {0.2}, false});
  EXPECT_EQ(a.test, prepare(counted_rows(100), {1, {0.2}, false}).test);
  EXPECT_NE(a.test, prepare(counted_rows(100), {2, {0.2}, false}).test);
}

TEST(prepare, validation_rows_come_from_the_training_rows_and_leave_the_test_rows_alone) {
  for (double test : {0.0, 0.25}) {
    const auto without = prepare(counted_rows(1000), {7, {test}, false});
    const auto with = prepare(counted_rows(1000), {7, {test, 0.1}, false});
    EXPECT_EQ(with.test, without.test);
    EXPECT_EQ(with.validation.row_count, 100u);
    EXPECT_TRUE(std::ranges::is_sorted(with.validation.targets)) << "rows keep their order";
    auto rest = with.train.targets;
    rest.insert(rest.end(), with.validation.targets.begin(), with.validation.targets.end());
    std::ranges::sort(rest);
    EXPECT_EQ(rest, without.train.targets) << "each row in one part";
    EXPECT_EQ(without.validation.row_count, 0u);
  }
}

TEST(prepare, validation_rows_are_drawn_by_seed_from_the_whole_file) {
  const auto of = [](uint64_t seed) {
    return prepare(counted_rows(100), {seed, {0.2, 0.2}, false}).validation.targets;
  };
  EXPECT_EQ(of(1), of(1));
  EXPECT_NE(of(1), of(2));
  EXPECT_GT(of(1).back(), 500) << "not just the first rows";
}

TEST(prepare, keeps_labels_and_classes) {
  const auto result = prepare(labelled_rows(), {1, {0.5}, false});
  EXPECT_EQ(result.train.classes, result.test.classes);
  EXPECT_EQ(result.train.labels.size(), 2u);
  EXPECT_EQ(result.test.labels.size(), 2u);
}

TEST(prepare, refuses_to_train_on_nothing) {
  EXPECT_THROW(prepare(counted_rows(0), {}), failure);
  EXPECT_THROW(prepare(counted_rows(4), {1, {0.5, 0.5}, false}), failure);
}

TEST(content_fingerprint, changes_with_every_part_of_the_content) {
  std::set<std::string> seen{content_fingerprint(labelled_rows())};
  const auto expect_new = [&](auto change) {
    auto x = labelled_rows();
    change(x);
    EXPECT_TRUE(seen.insert(content_fingerprint(x)).second);
  };
  expect_new([](dataset& x) { x.features[5] += 1; });
  expect_new([](dataset& x) { x.labels[2] = 0; });
  expect_new([](dataset& x) { x.classes[0] = "maybe"; });
  expect_new([](dataset& x) { x.feature_names[0] = "other"; });
  expect_new([](dataset& x) { x.feature_names = {"a,", "b", "c"}; });
  expect_new([](dataset& x) { x.target_names = {"z"}; });
  EXPECT_FALSE(seen.insert(content_fingerprint(labelled_rows())).second) << "and with nothing else";
}

TEST(epoch_order, visits_each_row_once_and_differs_between_epochs) {
  const epoch_order order{5, 50, true};
  auto first = *order.of(0);
  EXPECT_NE(first, *order.of(1));
  EXPECT_EQ(first, *epoch_order(5, 50, true).of(0));
  EXPECT_NE(first, *epoch_order(6, 50, true).of(0));
  std::ranges::sort(first);
  for (uint32_t i = 0; i < 50; ++i)
    EXPECT_EQ(first[i], i);
}

TEST(epoch_order, is_made_once_for_all_who_ask) {
  const epoch_order order{5, 1000, true};
  const auto here = order.of(3);
  std::shared_ptr<const std::vector<uint32_t>> there;
  std::thread{[&] { there = order.of(3); }}.join();
  EXPECT_EQ(here, there);
  order.of(4);
  order.of(5);
  EXPECT_EQ(*order.of(3), *here) << "an epoch can be asked for again after it was let go";
}

TEST(epoch_order, leaves_a_full_batch_as_it_is) {
  EXPECT_EQ(epoch_order(5, 50, false).of(0), nullptr);
}

TEST(batch_reader, gathers_rows_with_their_targets) {
  batch_reader reader;
  const auto numbers = counted_rows(5);
  const std::vector<uint32_t> rows{4, 0, 4};
  auto x = reader.gather(numbers, rows);
  EXPECT_EQ(x.row_count, 3u);
  EXPECT_TRUE(std::ranges::equal(x.features, std::vector<float>{4, 400, 7, 0, 0, 7, 4, 400, 7}));
  EXPECT_TRUE(std::ranges::equal(x.targets, std::vector<float>{40, 0, 40}));
  EXPECT_TRUE(x.labels.empty());
  const auto labelled = labelled_rows();
  x = reader.gather(labelled, std::span{rows}.subspan(1, 1));
  EXPECT_TRUE(std::ranges::equal(x.labels, std::vector<int32_t>{0}));
  EXPECT_TRUE(x.targets.empty());
  EXPECT_EQ(x.features.size(), 3u);
}

TEST(batch_reader, consecutive_rows_are_not_copied) {
  const auto numbers = counted_rows(5);
  const auto x = batch_of_rows(numbers, 1, 2);
  EXPECT_EQ(x.features.data(), numbers.features.data() + 3);
  EXPECT_EQ(x.features.size(), 6u);
  EXPECT_TRUE(std::ranges::equal(x.targets, std::vector<float>{10, 20}));
  const auto labelled = labelled_rows();
  EXPECT_TRUE(std::ranges::equal(batch_of_rows(labelled, 2, 2).labels, std::vector<int32_t>{1, 0}));
}

TEST(synthetic, regression_without_noise_is_the_linear_rule_it_was_made_by) {
  synthetic_options options{40, 2, 2, 2, 0};
  const auto x = make_regression(options, 3);
  ASSERT_EQ(x.targets.size(), 80u);
  // Three rows determine weight and bias of a target; all others must follow them.
  for (size_t t = 0; t < 2; ++t) {
    const auto at = [&](size_t i, size_t j) { return static_cast<double>(x.row(i)[j]); };
    const auto y = [&](size_t i) { return static_cast<double>(x.targets[i * 2 + t]); };
    const double a = at(1, 0) - at(0, 0), b = at(1, 1) - at(0, 1), c = at(2, 0) - at(0, 0),
                 d = at(2, 1) - at(0, 1), determinant = a * d - b * c;
    const double w0 = ((y(1) - y(0)) * d - b * (y(2) - y(0))) / determinant;
    const double w1 = (a * (y(2) - y(0)) - (y(1) - y(0)) * c) / determinant;
    const double bias = y(0) - w0 * at(0, 0) - w1 * at(0, 1);
    for (size_t i = 3; i < 40; ++i)
      EXPECT_NEAR(y(i), w0 * at(i, 0) + w1 * at(i, 1) + bias, 1e-4);
  }
  options.noise = 1;
  EXPECT_NE(make_regression(options, 3).targets, x.targets);
}

TEST(synthetic, classes_are_clouds_around_centres) {
  const auto x = make_classification({90, 4, 3, 1, 0}, 3);
  EXPECT_EQ(x.classes.size(), 3u);
  for (size_t i = 0; i < 90; ++i) {
    EXPECT_EQ(x.labels[i], static_cast<int32_t>(i % 3));
    EXPECT_TRUE(std::ranges::equal(x.row(i), x.row(i % 3))) << "without noise a row is its centre";
  }
  EXPECT_FALSE(std::ranges::equal(x.row(0), x.row(1)));
  EXPECT_THROW(make_classification({0, 4, 3, 1, 0}, 3), failure);
  // Their product is 0 in 64 bits.
  constexpr size_t half = size_t{1} << 32;
  for (const auto& huge : {synthetic_options{half, half, 3, 1, 0},
                           synthetic_options{1'000'000'000, 1'000'000, 3, 1, 0}})
    for (auto* make : {make_classification, make_regression}) {
      const auto error = test::failure_of([&] { make(huge, 3); });
      EXPECT_EQ(error.code(), failure_code::bad_job) << error.what();
    }
}

} // namespace
} // namespace troupe::prepare_test
