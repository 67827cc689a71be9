// Private rounds: what they divide by, when they are void, and that nothing is told of who was there. And
// the budget that ends them.

#include "coordinators/modes/federated_rounds.hpp"

#include "coordinators/modes/privacy_budget.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace troupe::private_rounds_test {

namespace {

constexpr size_t client_count = 100;
constexpr size_t size = 8;

federated_options options() {
  federated_options result;
  result.cohort.cohort_size = 10;
  result.cohort.sampling = client_sampling::poisson;
  result.weighs_samples = false;
  result.privacy = private_sum_rule{1, 1};
  return result;
}

std::vector<uint32_t> offsets() {
  std::vector<uint32_t> result(client_count + 1);
  std::iota(result.begin(), result.end(), 0u);
  return result;
}

std::shared_ptr<const cohort> cohort_with(size_t count) {
  cohort result;
  result.counted.resize(count);
  std::iota(result.counted.begin(), result.counted.end(), 0u);
  result.invited = count;
  return std::make_shared<const cohort>(result);
}

struct private_round {
  federated_rounds rounds{options(), offsets(), std::vector<float>(size)};

  /// Each of so many clients moves the first parameter by 1.
  closed_round close(size_t count, uint64_t attempt = 0) {
    if (rounds.open(0, cohort_with(count), 1000)) {
      std::vector<int64_t> words(size);
      words[0] = static_cast<int64_t>(count) << 20;
      const std::vector<client_figure> figures(count, client_figure{2, 1});
      rounds.finish(0, {words, 5, figures});
    }
    secret_stream noise{secret_key{5}, {secret_purpose::noise, 0, attempt}};
    return rounds.close_privately(noise);
  }
  std::vector<float> model() const {
    const auto values = rounds.main_parameters().values();
    return {values.begin(), values.end()};
  }
};

} // namespace

TEST(private_rounds, a_sum_is_divided_by_the_expected_number_of_clients) {
  private_round twenty, nobody;
  EXPECT_TRUE(twenty.close(20).moved);
  EXPECT_TRUE(nobody.close(0).moved) << "a round without clients is made of noise";
  const auto with = twenty.model(), without = nobody.model();
  EXPECT_NEAR(with[0] - without[0], 2, 1e-6) << "twenty clients' worth of a tenth: same noise";
  for (size_t i = 1; i < size; ++i) {
    EXPECT_EQ(with[i], without[i]);
    EXPECT_NE(with[i], 0) << "there is noise";
  }
}

TEST(private_rounds, another_attempt_has_other_noise) {
  private_round one, other;
  one.close(20, 0);
  other.close(20, 1);
  for (size_t i = 0; i < size; ++i)
    EXPECT_NE(one.model()[i], other.model()[i]);
}

TEST(private_rounds, nothing_is_told_of_who_was_there) {
  for (const size_t count : {0u, 1u, 20u}) {
    private_round run;
    const auto closed = run.close(count);
    round_record expected;
    expected.round = 1;
    EXPECT_EQ(closed.record, expected) << count;
    EXPECT_EQ(closed.sums, batch_sums{}) << count;
    EXPECT_TRUE(closed.news.empty()) << count;
    EXPECT_TRUE(closed.problem.empty()) << count;
  }
}

TEST(private_rounds, a_cohort_beyond_the_range_is_void) {
  private_round run;
  EXPECT_TRUE(run.close(42).moved);
  const auto before = run.model();
  const auto closed = run.close(43);
  EXPECT_TRUE(closed.record.is_void);
  EXPECT_FALSE(closed.moved);
  EXPECT_EQ(run.model(), before);
}

TEST(privacy_budget, ends_before_the_release_that_would_exceed_it) {
  const release_kind kind{0.1, 1};
  privacy_budget budget{{1e-5, 4.0, kind}};
  uint64_t count = 0;
  while (!budget.is_spent()) {
    budget.add(kind);
    ++count;
  }
  EXPECT_EQ(count, release_count_within(4, 1e-5, kind, 1000));
  EXPECT_LE(budget.epsilon(), 4);
  EXPECT_GT(budget.next_epsilon(), 4);
  EXPECT_EQ(budget.count(), count);
  privacy_budget endless{{1e-5, std::nullopt, kind}};
  for (int i = 0; i < 50; ++i)
    endless.add(kind);
  EXPECT_FALSE(endless.is_spent());
}

TEST(privacy_budget, counts_releases_of_any_kind_in_any_order) {
  const release_kind one{0.1, 1}, other{1, 4};
  privacy_budget budget{{1e-5, std::nullopt, one}}, turned{{1e-5, std::nullopt, one}};
  for (int i = 0; i < 10; ++i)
    budget.add(one);
  budget.add(other);
  turned.add(other);
  for (int i = 0; i < 10; ++i)
    turned.add(one);
  EXPECT_NEAR(budget.epsilon(), turned.epsilon(), 1e-12);
  privacy_accountant both{1e-5};
  both.add(one, 10);
  both.add(other);
  EXPECT_EQ(budget.epsilon(), both.epsilon());
}

} // namespace troupe::private_rounds_test
