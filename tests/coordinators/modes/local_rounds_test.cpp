#include "coordinators/modes/local_rounds.hpp"

#include "coordinators/modes/federated_rounds.hpp"
#include "coordinators/modes/gradients_coordinator.hpp"
#include "coordinators/modes/privacy_budget.hpp"
#include "models/math/reduction.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace troupe::local_rounds_test {
namespace {

using verdict = round_verdict;
using namespace test;

merge_entry result_of(size_t member, const floats& values, uint64_t samples = 1) {
  merge_entry result;
  result.child = member;
  result.values = buffer_of(values);
  result.sample_count = samples;
  return result;
}

local_rounds_options options_of(size_t members, uint64_t steps = 1) {
  local_rounds_options options;
  options.member_count = members;
  options.local_steps = steps;
  return options;
}

floats start_of(const local_rounds& x, size_t member) {
  return values_of(x.work_of(member).parameters);
}

// Softmax regression on rows that members share out unevenly; plain SGD inside.
class task {
public:
  explicit task(size_t member_count) : network_(shape()), member_count_(member_count) {
    fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, x_);
    for (size_t i = 0; i < rows; ++i)
      labels_[i] = x_[i * features] + 0.3f * x_[i * features + 1] > 0 ? 1 : 0;
  }

  // Member m has the rows of a triangle: later ones have more.
  batch rows_of(size_t member) const {
    const auto edge = [&](size_t m) {
      return rows * m * (m + 1) / (member_count_ * (member_count_ + 1));
    };
    return part(edge(member), edge(member + 1));
  }
  batch all() const { return part(0, rows); }

  merge_entry train(const local_work& work, size_t member, double rate) {
    auto values = values_of(work.parameters);
    floats gradient(values.size());
    for (uint64_t step = 0; step < work.step_count; ++step) {
      const auto sums = network_.gradient(values, rows_of(member), gradient, memory_);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] -=
          static_cast<float>(rate) * (gradient[i] / static_cast<float>(sums.sample_count));
    }
    return result_of(member, values, rows_of(member).row_count);
  }

  double loss(std::span<const float> parameters) {
    return network_.evaluate(parameters, all(), memory_).loss_sum / rows;
  }

  const neural_network& network() const { return network_; }
  workspace& memory() { return memory_; }

private:
  static constexpr size_t rows = 240, features = 3;
  static neural_network_options shape() {
    neural_network_options result;
    result.features = features;
    result.outputs = 2;
    result.initialization = initialization_kind::zero;
    return result;
  }
  batch part(size_t begin, size_t end) const {
    return {end - begin,
            std::span{x_}.subspan(begin * features, (end - begin) * features),
            std::span{labels_}.subspan(begin, end - begin),
            {}};
  }

  neural_network network_;
  size_t member_count_;
  workspace memory_;
  floats x_ = floats(rows * features);
  std::vector<int32_t> labels_ = std::vector<int32_t>(rows);
};

double trained_loss(const local_rounds_options& options, int rounds, double rate = 0.5) {
  task work{options.member_count};
  local_rounds x{options, floats(work.network().layout().size())};
  for (int round = 0; round < rounds; ++round)
    for (size_t m = 0; m < options.member_count; ++m)
      x.finish(x.round(), work.train(x.work_of(m), m, rate));
  EXPECT_EQ(x.round(), static_cast<uint64_t>(rounds));
  return work.loss(x.evaluated_parameters());
}

TEST(local_rounds, a_round_closes_when_every_member_is_done) {
  local_rounds x{options_of(3, 5), floats{0}};
  EXPECT_EQ(x.missing(), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(x.finish(0, result_of(2, {3}, 1)), verdict::waits);
  EXPECT_EQ(x.finish(0, result_of(0, {6}, 2)), verdict::waits);
  EXPECT_EQ(x.missing(), std::vector<size_t>{1});
  EXPECT_EQ(values_of(x.main_parameters()), floats{0});
  EXPECT_EQ(x.finish(0, result_of(1, {-1}, 1)), verdict::closed);
  EXPECT_EQ(values_of(x.main_parameters()), floats{3.5f}) << "by samples: (3 + 12 - 1) / 4";
  EXPECT_EQ(x.round(), 1u);
  const auto work = x.work_of(1);
  EXPECT_EQ(work.round, 1u);
  EXPECT_EQ(work.first_step, 5u);
  EXPECT_EQ(work.step_count, 5u);
  EXPECT_EQ(values_of(work.parameters), floats{3.5f});
}

TEST(local_rounds, what_comes_twice_or_late_is_ignored_and_what_differs_is_not) {
  local_rounds x{options_of(2), floats{0}};
  EXPECT_EQ(x.finish(0, result_of(0, {1})), verdict::waits);
  EXPECT_EQ(x.finish(0, result_of(0, {1})), verdict::duplicate) << "computed again elsewhere";
  EXPECT_EQ(x.finish(0, result_of(0, {2})), verdict::conflict);
  EXPECT_EQ(x.finish(0, result_of(0, {1}, 2)), verdict::conflict);
  EXPECT_EQ(x.finish(0, result_of(1, {3})), verdict::closed);
  EXPECT_EQ(values_of(x.main_parameters()), floats{2});
  EXPECT_EQ(x.finish(0, result_of(0, {1})), verdict::stale);
  EXPECT_EQ(x.missing().size(), 2u);
}

TEST(local_rounds, zero_and_minus_zero_are_different_results) {
  local_rounds x{options_of(2), floats{1}};
  x.finish(0, result_of(0, {0}));
  EXPECT_EQ(x.finish(0, result_of(0, {-0.0f})), verdict::conflict);
}

TEST(local_rounds, what_does_not_fit_is_refused) {
  local_rounds x{options_of(2), floats{0}};
  EXPECT_EQ(x.finish(1, result_of(0, {1})), verdict::misfit) << "a round that is not open yet";
  EXPECT_EQ(x.finish(0, result_of(2, {1})), verdict::misfit);
  EXPECT_EQ(x.finish(0, result_of(0, {1, 2})), verdict::misfit);
  EXPECT_EQ(x.finish(0, result_of(0, {1}, 0)), verdict::misfit);
  auto options = options_of(2);
  options.merge.weighting = merge_weighting::ratio;
  local_rounds judged{options, floats{0}};
  EXPECT_EQ(judged.finish(0, result_of(0, {1})), verdict::misfit) << "it was not judged";
  EXPECT_THROW(x.work_of(2), std::invalid_argument);
}

TEST(local_rounds, a_value_that_is_not_finite_ends_training_with_the_last_good_model) {
  local_rounds x{options_of(2), floats{5}};
  x.finish(0, result_of(0, {1}));
  EXPECT_EQ(x.finish(0, result_of(1, {NAN})), verdict::diverged);
  EXPECT_TRUE(x.diverged());
  EXPECT_EQ(values_of(x.main_parameters()), floats{5});
  EXPECT_EQ(x.finish(0, result_of(1, {3})), verdict::diverged);
  EXPECT_EQ(x.close_early(), verdict::diverged);
  auto options = options_of(1);
  options.outer = {outer_kind::sgd, 10.0};
  local_rounds outer{options, floats{5}};
  EXPECT_EQ(outer.finish(0, result_of(0, {3e38f})), verdict::diverged);
  EXPECT_EQ(values_of(outer.main_parameters()), floats{5});
  EXPECT_EQ(outer.round(), 0u);
}

TEST(local_rounds, bits_do_not_depend_on_order_or_on_results_that_come_twice) {
  const size_t members = 5;
  for (const bool elastic : {false, true}) {
    std::optional<floats> expected;
    for (uint64_t seed = 0; seed < 25; ++seed) {
      std::mt19937_64 random{seed};
      auto options = options_of(members, 2);
      options.outer = {outer_kind::sgd, 0.7, 0.9, true};
      if (elastic)
        options.elastic_alpha = 0.15;
      task work{members};
      local_rounds x{options, floats(work.network().layout().size())};
      while (x.round() < 4) {
        const auto m = random() % members; // any member, again and again
        x.finish(x.round(), work.train(x.work_of(m), m, 0.5));
      }
      const auto found = values_of(x.main_parameters());
      expected = expected.value_or(found);
      EXPECT_EQ(found, *expected) << "seed " << seed << (elastic ? ", elastic" : "");
    }
  }
}

TEST(local_rounds, one_local_step_is_synchronous_sgd_to_rounding) {
  const size_t members = 4;
  task work{members};
  const auto size = work.network().layout().size();
  local_rounds x{options_of(members), floats(size)};
  gradients_coordinator_options sgd;
  sgd.optimizer.learning_rate = 0.5;
  sgd.round_size = members;
  gradients_coordinator synchronous{sgd};
  synchronous.set_parameters(floats(size));
  synchronous.start();
  floats gradient(size);
  for (int step = 0; step < 50; ++step) {
    const auto parameters = synchronous.parameters();
    for (size_t m = 0; m < members; ++m) {
      x.finish(x.round(), work.train(x.work_of(m), m, 0.5));
      const auto sums =
        work.network().gradient(parameters.values(), work.rows_of(m), gradient, work.memory());
      synchronous.add_gradients(gradient, sums.sample_count);
    }
    const auto a = values_of(x.main_parameters()), b = values_of(synchronous.parameters());
    for (size_t i = 0; i < size; ++i)
      EXPECT_NEAR(a[i], b[i], 1e-6 * static_cast<double>(step + 1)) << "step " << step;
  }
  EXPECT_LT(work.loss(x.main_parameters().values()), 0.3);
}

TEST(local_rounds, every_method_of_the_family_trains) {
  const double before = std::log(2.0);
  auto options = options_of(4, 8);
  EXPECT_LT(trained_loss(options, 20), 0.25) << "federated averaging";
  options.outer = {outer_kind::sgd, 0.7, 0.9, true};
  EXPECT_LT(trained_loss(options, 20), 0.2) << "DiLoCo";
  options.outer = {outer_kind::adam, 0.3};
  EXPECT_LT(trained_loss(options, 20), 0.25) << "FedAdam";
  options.outer = {outer_kind::yogi, 0.3};
  EXPECT_LT(trained_loss(options, 20), 0.25) << "FedYogi";
  options.elastic_alpha = 0.2;
  const double elastic = trained_loss(options, 20);
  EXPECT_LT(elastic, 0.25) << "EASGD";
  EXPECT_GT(before, 0.6);
}

TEST(local_rounds, elastic_members_keep_models_of_their_own) {
  auto options = options_of(2);
  options.elastic_alpha = 0.25;
  local_rounds x{options, floats{1}};
  x.finish(0, result_of(1, {-2}));
  EXPECT_EQ(x.finish(0, result_of(0, {6})), verdict::closed);
  EXPECT_EQ(values_of(x.main_parameters()), floats{1.5f}) << "1 + (5 - 3) / 4";
  EXPECT_EQ(start_of(x, 0), floats{4.75f}) << "6 - 5 / 4";
  EXPECT_EQ(start_of(x, 1), floats{-1.25f}) << "-2 + 3 / 4";
}

TEST(local_rounds, an_elastic_centre_that_overflows_is_no_model) {
  auto options = options_of(2);
  options.elastic_alpha = 1;
  local_rounds x{options, floats{0}};
  x.finish(0, result_of(0, {3e38f}));
  EXPECT_EQ(x.finish(0, result_of(1, {3e38f})), verdict::diverged);
  EXPECT_EQ(values_of(x.main_parameters()), floats{0});
}

TEST(local_rounds, who_would_rather_not_wait_closes_early) {
  local_rounds x{options_of(3), floats{0}};
  EXPECT_EQ(x.close_early(), verdict::waits) << "there is nothing to merge";
  x.finish(0, result_of(1, {4}));
  EXPECT_EQ(x.close_early(), verdict::closed);
  EXPECT_EQ(values_of(x.main_parameters()), floats{4});
  EXPECT_EQ(x.finish(0, result_of(0, {8})), verdict::stale) << "the round went on without it";
  EXPECT_EQ(start_of(x, 0), floats{4});
}

TEST(local_rounds, a_member_that_an_elastic_round_closed_without_keeps_its_model) {
  auto options = options_of(2);
  options.elastic_alpha = 0.5;
  local_rounds x{options, floats{0}};
  x.finish(0, result_of(1, {4}));
  x.close_early();
  EXPECT_EQ(start_of(x, 0), floats{0});
  EXPECT_EQ(start_of(x, 1), floats{2});
  EXPECT_EQ(values_of(x.main_parameters()), floats{2});
}

TEST(local_rounds, averaged_parameters_are_for_evaluation_alone) {
  auto options = options_of(1);
  options.averaging.kind = averaging_kind::mean;
  local_rounds x{options, floats{100}};
  EXPECT_EQ(x.evaluated_parameters(), floats{100}) << "no average yet: the last";
  x.finish(0, result_of(0, {2}));
  x.finish(1, result_of(0, {4}));
  EXPECT_EQ(x.evaluated_parameters(), floats{3});
  EXPECT_EQ(start_of(x, 0), floats{4});
}

TEST(local_rounds, impossible_options_throw) {
  EXPECT_THROW(local_rounds(options_of(0), floats{0}), std::invalid_argument);
  EXPECT_THROW(local_rounds(options_of(1, 0), floats{0}), std::invalid_argument);
  EXPECT_THROW(local_rounds(options_of(1), floats{}), std::invalid_argument);
  EXPECT_THROW(local_rounds(options_of(1), floats{NAN}), std::invalid_argument);
  auto options = options_of(2);
  options.merge.rule = merge_rule::krum;
  EXPECT_THROW(local_rounds(options, floats{0}), std::invalid_argument);
  options.elastic_alpha = 0.5;
  EXPECT_NO_THROW(local_rounds(options, floats{0})) << "krum is not used then";
  options.elastic_alpha = 1.5;
  EXPECT_THROW(local_rounds(options, floats{0}), std::invalid_argument);
}

TEST(local_rounds, a_round_can_go_on_without_a_member) {
  local_rounds x{options_of(3), floats{0, 0}};
  EXPECT_EQ(x.finish(0, result_of(0, {2, 2})), verdict::waits);
  EXPECT_EQ(x.leave_out(0), verdict::misfit) << "its result is here";
  EXPECT_EQ(x.leave_out(1), verdict::waits);
  EXPECT_EQ(x.missing(), (std::vector<size_t>{2}));
  EXPECT_EQ(x.finish(0, result_of(2, {4, 6})), verdict::closed);
  EXPECT_EQ(values_of(x.main_parameters()), (floats{3, 4}));
  EXPECT_EQ(x.missing(), (std::vector<size_t>{0, 1, 2})) << "it is back with the next round";
  EXPECT_EQ(x.leave_out(0), verdict::waits);
  EXPECT_EQ(x.leave_out(1), verdict::waits);
  EXPECT_EQ(x.leave_out(2), verdict::misfit) << "somebody must be left";
}

// Private rounds: what they divide by, when they are void, and that nothing is told of who was there. And
// the budget that ends them.

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
  private_round() {
    auto model = span_options_of(options(), client_count);
    model.noise = {*options().privacy, 10, [](auto, uint64_t, uint64_t attempt) {
                     return secret_stream{secret_key{5}, {secret_purpose::noise, 0, attempt}};
                   }};
    models.emplace(model, buffer{size});
  }

  /// Each of so many clients moves the first parameter by 1.
  closed_round close(size_t count, uint64_t attempt = 0) {
    if (rounds.open(0, cohort_with(count), 1000)) {
      std::vector<int64_t> words(size);
      words[0] = static_cast<int64_t>(count) << 20;
      const std::vector<client_figure> figures(count, client_figure{2, 1});
      const buffer low{size}, high{size};
      split_words(words, low.values(), high.values());
      models->take(rounds.finish(0, figures, 5), {low, optimizer_state{std::vector<buffer>{high}}});
    }
    const auto result = rounds.close_privately();
    EXPECT_TRUE(models->close({.kind = entry_kind::close,
                               .round = 1,
                               .attempt = attempt,
                               .is_void = result.record.is_void}));
    return result;
  }
  std::vector<float> model() const {
    const auto values = models->parameters();
    return {values.values().begin(), values.values().end()};
  }

  federated_rounds rounds{options(), offsets(), offsets().size() - 1};
  std::optional<merged_span> models;
};

TEST(private_rounds, a_sum_is_divided_by_the_expected_number_of_clients) {
  private_round twenty, nobody;
  EXPECT_FALSE(twenty.close(20).record.is_void);
  EXPECT_FALSE(nobody.close(0).record.is_void) << "a round without clients is made of noise";
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
  EXPECT_FALSE(run.close(42).record.is_void);
  const auto before = run.model();
  EXPECT_NE(before, std::vector<float>(size));
  const auto closed = run.close(43);
  EXPECT_TRUE(closed.record.is_void);
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

} // namespace
} // namespace troupe::local_rounds_test
