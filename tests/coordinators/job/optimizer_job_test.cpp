// What a job's optimizer keys mean for its checks and its identity.

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/resolve.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::optimizer_job_test {
namespace {

job valid_job(optimizer_kind kind = optimizer_kind::sgd) {
  job x;
  x.data.synthetic = synthetic_kind::regression;
  x.optimizer.kind = kind;
  if (scope_of(kind) == optimizer_scope::solver)
    x.model.kind = model_kind::linear_regression;
  return x;
}

using change = std::function<void(optimizer_options&)>;

std::vector<std::string> problem_keys(const change& apply,
                                      optimizer_kind kind = optimizer_kind::sgd) {
  auto x = valid_job(kind);
  apply(x.optimizer);
  std::vector<std::string> result;
  for (const auto& problem : problems(x)) {
    EXPECT_FALSE(problem.hint.empty());
    result.push_back(problem.key);
  }
  return result;
}

std::string identity(const change& apply, optimizer_kind kind = optimizer_kind::sgd) {
  auto x = valid_job(kind);
  apply(x.optimizer);
  return identity_text(resolve(x, {100, 0, 3, 1, false}, 2), "data");
}

using keys = std::vector<std::string>;

TEST(optimizer_job, every_rule_is_fine_with_its_own_defaults) {
  for (const auto& [kind, name] : name_table<optimizer_kind>::entries) {
    EXPECT_EQ(problem_keys([](auto&) {}, kind), keys{}) << name;
    EXPECT_EQ(problem_keys([](auto& x) { x = with_defaults(x); }, kind), keys{}) << name;
  }
}

TEST(optimizer_job, a_constant_the_rule_does_not_have_is_refused) {
  for (const auto& [kind, name] : name_table<optimizer_kind>::entries)
    for (const auto& [key, member, of_rule] : optimizer_constants) {
      const auto found = problem_keys([&](auto& x) { x.*member = 0.5; }, kind);
      const bool has = (defaults_of(kind).*member).has_value();
      EXPECT_EQ(found, has ? keys{} : keys{"optimizer." + std::string{key}}) << name << ' ' << key;
    }
}

TEST(optimizer_job, sgd_and_adam_point_from_weight_decay_to_the_penalty) {
  for (auto kind : {optimizer_kind::sgd, optimizer_kind::adam}) {
    auto x = valid_job(kind);
    x.optimizer.weight_decay = 0.1;
    ASSERT_EQ(problems(x).size(), 1u);
    EXPECT_NE(problems(x)[0].hint.find("optimizer.l2"), std::string::npos);
  }
}

TEST(optimizer_job, values_out_of_range_name_their_keys) {
  const auto adamw = optimizer_kind::adamw;
  EXPECT_EQ(problem_keys([](auto& x) { x.learning_rate = 0; }), keys{"optimizer.learning_rate"});
  EXPECT_EQ(problem_keys([](auto& x) { x.weight_decay = -1; }, adamw),
            keys{"optimizer.weight_decay"});
  EXPECT_EQ(problem_keys([](auto& x) { x.rho = 1; }, optimizer_kind::rmsprop),
            keys{"optimizer.rho"});
  EXPECT_EQ(problem_keys([](auto& x) { x.l1 = -1; }), keys{"optimizer.l1"});
  EXPECT_EQ(problem_keys([](auto& x) { x.l2 = -1; }), keys{"optimizer.l2"});
  EXPECT_EQ(problem_keys([](auto& x) { x.clip_value = -1; }), keys{"optimizer.clip_value"});
  EXPECT_EQ(problem_keys([](auto& x) { x.clip_norm = -1; }), keys{"optimizer.clip_norm"});
  EXPECT_EQ(problem_keys([](auto& x) { x.clip_value = x.clip_norm = 1; }),
            keys{"optimizer.clip_norm"});
}

TEST(optimizer_job, schedules_are_checked_in_all_their_parts) {
  const auto key_of = [](const schedule_options& schedule) {
    return problem_keys([&](auto& x) { x.schedule = schedule; });
  };
  const std::string key = "optimizer.schedule.";
  schedule_options x{schedule_kind::sequential};
  EXPECT_EQ(key_of(x), keys{key + "parts"});
  x.parts = {{}, {}};
  EXPECT_EQ(key_of(x), keys{key + "milestones"}) << "none between two parts";
  x.milestones = {5};
  EXPECT_EQ(key_of(x), keys{});
  x.parts[1].steps = 0;
  EXPECT_EQ(key_of(x), keys{key + "steps"});
  schedule_options y{schedule_kind::multi_step};
  y.milestones = {5, 5};
  EXPECT_EQ(key_of(y), keys{key + "milestones"});
  y = {};
  y.milestones = {5};
  EXPECT_EQ(key_of(y), keys{key + "milestones"}) << "constant has none";
  y = {};
  y.parts = {{}};
  EXPECT_EQ(key_of(y), keys{key + "parts"});
  y = {schedule_kind::polynomial};
  y.power = 0;
  EXPECT_EQ(key_of(y), keys{key + "power"});
  y = {schedule_kind::linear};
  y.end = 2;
  EXPECT_EQ(key_of(y), keys{key + "end"});
}

TEST(optimizer_job, rprop_wants_all_rows_and_no_schedule) {
  auto x = valid_job(optimizer_kind::rprop);
  const data_shape shape{100, 0, 3, 1, false};
  x.training.batch_size = 32;
  ASSERT_EQ(problems_with_data(resolve(x, shape, 2), shape).size(), 1u);
  EXPECT_EQ(problems_with_data(resolve(x, shape, 2), shape)[0].key, "optimizer.kind");
  for (size_t all : {0u, 100u, 1000u}) {
    x.training.batch_size = all;
    EXPECT_TRUE(problems_with_data(resolve(x, shape, 2), shape).empty()) << all;
  }
  EXPECT_EQ(
    problem_keys([](auto& y) { y.schedule.kind = schedule_kind::cosine; }, optimizer_kind::rprop),
    keys{"optimizer.schedule"});
}

TEST(optimizer_job, lbfgs_wants_all_rows_and_a_smooth_loss) {
  const auto lbfgs = optimizer_kind::lbfgs;
  auto x = valid_job(lbfgs);
  const data_shape shape{100, 0, 3, 1, false};
  ASSERT_EQ(problems_with_data(resolve(x, shape, 2), shape).size(), 1u);
  EXPECT_EQ(problems_with_data(resolve(x, shape, 2), shape)[0].key, "optimizer.kind");
  x.training.batch_size = 0;
  EXPECT_TRUE(problems_with_data(resolve(x, shape, 2), shape).empty());
  x.model.hidden = {4};
  EXPECT_TRUE(problems(x).empty());
  x.model.dropout = 0.1;
  ASSERT_EQ(problems(x).size(), 1u);
  EXPECT_EQ(problems(x)[0].key, "model.dropout");
  EXPECT_EQ(problem_keys([](auto& y) { y.l2 = 1; }, lbfgs), keys{});
  EXPECT_EQ(problem_keys([](auto& y) { y.l1 = 1; }, lbfgs), keys{"optimizer.l1"});
  EXPECT_EQ(problem_keys([](auto& y) { y.clip_value = 1; }, lbfgs), keys{"optimizer.clip_value"});
  EXPECT_EQ(problem_keys([](auto& y) { y.clip_norm = 1; }, lbfgs), keys{"optimizer.clip_norm"});
  EXPECT_EQ(problem_keys([](auto& y) { y.schedule.kind = schedule_kind::cosine; }, lbfgs),
            keys{"optimizer.schedule"});
}

TEST(optimizer_job, a_history_size_belongs_to_lbfgs_and_its_identity) {
  const auto set = [](size_t size) { return [size](auto& y) { y.history_size = size; }; };
  for (size_t size : {1u, 200u})
    EXPECT_EQ(problem_keys(set(size), optimizer_kind::lbfgs), keys{});
  for (size_t size : {0u, 201u})
    EXPECT_EQ(problem_keys(set(size), optimizer_kind::lbfgs), keys{"optimizer.history_size"});
  EXPECT_EQ(problem_keys(set(5)), keys{"optimizer.history_size"}) << "sgd has none";
  EXPECT_NE(identity(set(5), optimizer_kind::lbfgs), identity(set(10), optimizer_kind::lbfgs));
  EXPECT_EQ(identity(set(5)), identity(set(10)));
}

TEST(optimizer_job, solvers_are_for_small_regressions_with_the_squared_loss) {
  const auto keys_of = [](const std::function<void(job&)>& apply, optimizer_kind kind) {
    auto x = valid_job(kind);
    apply(x);
    keys result;
    for (const auto& problem : problems(x))
      result.push_back(problem.key);
    return result;
  };
  const auto closed_form = optimizer_kind::closed_form;
  const auto gauss_newton = optimizer_kind::gauss_newton;
  for (auto kind : {closed_form, gauss_newton}) {
    EXPECT_EQ(keys_of([](job&) {}, kind), keys{});
    EXPECT_EQ(keys_of([](job& x) { x.model.loss = loss_kind::huber; }, kind), keys{"model.loss"});
    EXPECT_EQ(keys_of([](job& x) { x.optimizer.l1 = 1; }, kind), keys{"optimizer.l1"});
    EXPECT_EQ(keys_of([](job& x) { x.optimizer.clip_value = 1; }, kind),
              keys{"optimizer.clip_value"});
    EXPECT_EQ(keys_of([](job& x) { x.optimizer.clip_norm = 1; }, kind),
              keys{"optimizer.clip_norm"});
    EXPECT_EQ(keys_of([](job& x) { x.training.slices = 2; }, kind), keys{"training.slices"});
    EXPECT_EQ(keys_of([](job& x) { x.training.replicas = 2; }, kind), keys{"training.replicas"});
    EXPECT_EQ(keys_of([](job& x) { x.training.exchange = number_format::bf16; }, kind),
              keys{"training.exchange"});
    EXPECT_EQ(keys_of([](job& x) { x.optimizer.schedule.kind = schedule_kind::cosine; }, kind),
              keys{"optimizer.schedule"});
  }
  const auto network = [](job& x) { x.model.kind = model_kind::neural_network; };
  EXPECT_EQ(keys_of(network, closed_form), keys{"model.kind"});
  EXPECT_EQ(keys_of(network, gauss_newton), keys{});
  const auto penalized = [](job& x) { x.optimizer.l2 = 1; };
  EXPECT_EQ(keys_of(penalized, closed_form), keys{});
  EXPECT_EQ(keys_of(penalized, gauss_newton), keys{"optimizer.l2"});
  const auto dropping = [](job& x) {
    x.model.kind = model_kind::neural_network;
    x.model.hidden = {4};
    x.model.dropout = 0.5;
  };
  EXPECT_EQ(keys_of(dropping, gauss_newton), keys{"model.dropout"});
  EXPECT_EQ(keys_of([](job& x) { x.optimizer.damping = -1; }, gauss_newton),
            keys{"optimizer.damping"});
}

TEST(optimizer_job, solvers_see_all_rows_at_once_and_refuse_large_models) {
  auto x = valid_job(optimizer_kind::closed_form);
  x.training.steps = 7;
  data_shape shape{100, 0, 4096, 1, false};
  auto resolved = resolve(x, shape, 2);
  EXPECT_EQ(resolved.training.batch_size, 100u);
  EXPECT_EQ(resolved.training.slices, 1u);
  EXPECT_EQ(resolved.training.replicas, 1u);
  EXPECT_EQ(timeline_of(resolved, shape).last_version(), 1u);
  EXPECT_TRUE(problems_with_data(resolved, shape).empty());
  shape.feature_count = 4097;
  ASSERT_EQ(problems_with_data(resolved, shape).size(), 1u);
  EXPECT_EQ(problems_with_data(resolved, shape)[0].key, "optimizer.kind");
  x.optimizer.kind = optimizer_kind::gauss_newton;
  shape.feature_count = 2047; // and a bias
  resolved = resolve(x, shape, 2);
  EXPECT_EQ(timeline_of(resolved, shape).last_version(), 7u);
  EXPECT_TRUE(problems_with_data(resolved, shape).empty());
  shape.feature_count = 2048;
  EXPECT_EQ(problems_with_data(resolved, shape).size(), 1u);
  x.model.kind = model_kind::neural_network;
  shape = {100, 0, 3, 2, true, {50, 50}};
  ASSERT_EQ(problems_with_data(resolve(x, shape, 2), shape).size(), 1u);
  EXPECT_EQ(problems_with_data(resolve(x, shape, 2), shape)[0].key, "model.loss") << "classes";
}

TEST(optimizer_job, identity_holds_what_the_rule_uses_and_nothing_else) {
  for (const auto& [kind, name] : name_table<optimizer_kind>::entries) {
    const auto usual = identity([](auto&) {}, kind);
    EXPECT_EQ(identity([](auto& x) { x = with_defaults(x); }, kind), usual) << name;
    for (const auto& [key, member, of_rule] : optimizer_constants) {
      const auto other = identity([&](auto& x) { x.*member = 0.123; }, kind);
      EXPECT_EQ(other != usual, (defaults_of(kind).*member).has_value()) << name << ' ' << key;
    }
    for (auto member : {&optimizer_options::l1, &optimizer_options::l2,
                        &optimizer_options::clip_value, &optimizer_options::clip_norm})
      EXPECT_NE(identity([&](auto& x) { x.*member = 0.123; }, kind), usual) << name;
  }
}

TEST(optimizer_job, identity_of_a_schedule_holds_what_its_kind_uses) {
  const std::vector<std::function<void(schedule_options&)>> changes{
    [](auto& x) { x.steps = 9; },       [](auto& x) { x.factor = 0.9; },
    [](auto& x) { x.minimum = 0.9; },   [](auto& x) { x.start = 0.9; },
    [](auto& x) { x.end = 0.9; },       [](auto& x) { x.power = 9; },
    [](auto& x) { x.milestones = {9}; }};
  for (const auto& [kind, name] : name_table<schedule_kind>::entries) {
    schedule_options usual{kind, 4};
    usual.milestones = {3};
    usual.parts = {{schedule_kind::step, 2, 0.5}, {schedule_kind::linear, 7}};
    const auto text_of = [](const schedule_options& schedule) {
      return identity([&](auto& x) { x.schedule = schedule; });
    };
    for (size_t i = 0; i < changes.size(); ++i) {
      auto other = usual;
      changes[i](other);
      bool counts = false;
      for (uint64_t t = 0; t < 20; ++t)
        counts |= schedule_factor(usual, t) != schedule_factor(other, t);
      EXPECT_EQ(text_of(usual) != text_of(other), counts) << name << ' ' << i;
    }
  }
}

} // namespace
} // namespace troupe::optimizer_job_test
