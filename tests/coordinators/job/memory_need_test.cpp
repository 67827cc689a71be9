#include "coordinators/job/memory_need.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe::memory_need_test {
namespace {

const data_shape shape{1000, 0, 64, 10, true};

memory_need need_of(job x, size_t replica_count = 1, bool keeps = true) {
  return need_of_whole_models(resolve(x, shape, 2), shape, replica_count,
                              {keeps ? size_t{1} : size_t{0}, 0});
}

/// 3 GiB of gradients and 1 GiB of parameters, beside 2 GiB of rows.
memory_need some_need() {
  memory_need result;
  result.add(memory_cause::parameters, uint64_t{1} << 30);
  result.add(memory_cause::gradients, uint64_t{3} << 30);
  result.add(memory_cause::data, uint64_t{2} << 30);
  return result;
}

constexpr uint64_t gibibyte = uint64_t{1} << 30;

TEST(memory_need, whole_models_are_counted_for_each_replica_and_member) {
  job x;
  x.training.batch_size = x.training.slices.emplace(1);
  x.training.replicas = 1;
  const uint64_t model = 4 * make_model(resolve(x, shape, 2), shape)->layout().size();
  ASSERT_EQ(model, 4u * 650);
  const auto plain = need_of(x);
  EXPECT_EQ(plain.of(memory_cause::parameters), 2 * model);
  EXPECT_EQ(plain.of(memory_cause::gradients), 2 * model);
  EXPECT_EQ(plain.of(memory_cause::optimizer), 0u);
  EXPECT_EQ(plain.of(memory_cause::activations), 12u * 2 * 10);
  EXPECT_EQ(plain.of(memory_cause::data), 4u * 1000 * 65);
  x.optimizer.kind = optimizer_kind::adam;
  EXPECT_EQ(need_of(x).of(memory_cause::optimizer), 2 * model);
  EXPECT_EQ(need_of(x, 1, false).of(memory_cause::optimizer), 0u) << "the parameter server has it";
  EXPECT_EQ(need_of(x, 3).of(memory_cause::gradients), 4 * model);
  x.training.strategy = strategy_kind::parameters;
  x.training.members = 5;
  EXPECT_EQ(need_of(x).of(memory_cause::parameters), 7 * model);
  EXPECT_EQ(need_of(x).of(memory_cause::optimizer), 12 * model);
  EXPECT_EQ(need_of(x).of(memory_cause::checkpoints), 0u);
  x.checkpoint.every_steps = 5; // two moments of each member, and the model twice
  EXPECT_EQ(need_of(x).of(memory_cause::checkpoints), 3 * 12 * model);
  EXPECT_EQ(need_of(x, 1, false).of(memory_cause::checkpoints), 0u)
    << "the parameter server has them";
}

TEST(memory_need, of_several_owners_each_has_a_part) {
  job x;
  x.training.batch_size = 1;
  x.training.replicas = 4;
  x.training.consistency = consistency_kind::asynchronous;
  x.optimizer.kind = optimizer_kind::adam;
  const auto resolved = resolve(x, shape, 2);
  const uint64_t model = 4 * 650;
  const auto one = need_of_whole_models(resolved, shape, 0, {1, 4});
  EXPECT_EQ(one.of(memory_cause::optimizer), 2 * model);
  EXPECT_EQ(one.of(memory_cause::parameters), (2 + 4) * model) << "a version of each worker's task";
  EXPECT_EQ(one.of(memory_cause::gradients), (1 + 4) * model) << "an update of each";
  const auto half = need_of_whole_models(resolved, shape, 0, {2, 4});
  EXPECT_EQ(half.of(memory_cause::optimizer), model);
  EXPECT_EQ(half.of(memory_cause::parameters), (3 + 4) * model / 2);
  EXPECT_EQ(half.of(memory_cause::gradients), 4 * model / 2);
  const auto worker = need_of_whole_models(resolved, shape, 1, {});
  EXPECT_EQ(worker.of(memory_cause::optimizer), 0u);
  EXPECT_EQ(worker.of(memory_cause::parameters), 2 * model);
}

TEST(memory_need, solvers_have_a_square_matrix) {
  job x;
  x.model.kind = model_kind::linear_regression;
  x.optimizer.kind = optimizer_kind::closed_form;
  const data_shape numbers{100, 0, 9, 1, false};
  const auto resolved = resolve(x, numbers, 2);
  EXPECT_GE(need_of_whole_models(resolved, numbers, 1, {1, 0}).of(memory_cause::optimizer),
            8u * 10 * 10);
}

TEST(memory_need, what_does_not_fit_is_refused_with_both_numbers_and_the_biggest_cause) {
  const auto need = some_need();
  EXPECT_EQ(need.sum(), 6 * gibibyte);
  EXPECT_EQ(need.to_come(), 4 * gibibyte) << "the rows are here";
  EXPECT_EQ(memory_problem(need, {memory_limit_kind::machine, 4 * gibibyte}, "training takes"),
            std::nullopt);
  const auto found =
    memory_problem(need, {memory_limit_kind::machine, 4 * gibibyte - 1}, "training takes");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key, "model.hidden");
  EXPECT_EQ(found->why, "training takes about 4.0 GiB of memory beside the data, most of it, 3.0 "
                        "GiB, for gradients; 4.0 GiB are available");
  EXPECT_EQ(found->hint, "share the model among more processes by parallel.tensor or "
                         "parallel.pipeline, or use fewer units");
}

TEST(memory_need, each_limit_is_told_by_name) {
  const std::pair<memory_limit_kind, const char*> cases[] = {
    {memory_limit_kind::machine, "; 1.0 GiB are available"},
    {memory_limit_kind::group, "; 1.0 GiB are left to its control group"},
    {memory_limit_kind::address_space, "; 1.0 GiB are left of its address space (ulimit -v)"},
    {memory_limit_kind::stated, "; node.memory says 1.0 GiB"}};
  for (const auto& [kind, text] : cases) {
    const auto found = memory_problem(some_need(), {kind, gibibyte}, "it takes");
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->why.ends_with(text)) << found->why;
  }
}

TEST(memory_need, what_is_stated_holds_the_rows_too) {
  const auto need = some_need();
  EXPECT_EQ(memory_problem(need, {memory_limit_kind::stated, 6 * gibibyte}, "it takes"),
            std::nullopt);
  const auto found = memory_problem(need, {memory_limit_kind::stated, 5 * gibibyte}, "it takes");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->why.starts_with("it takes about 6.0 GiB of memory, most of it")) << found->why;
}

TEST(memory_need, every_cause_has_a_remedy) {
  const std::pair<memory_cause, const char*> cases[] = {
    {memory_cause::parameters, "model.hidden"},
    {memory_cause::optimizer, "model.hidden"},
    {memory_cause::sums, "model.hidden"},
    {memory_cause::activations, "training.batch_size"},
    {memory_cause::boundaries, "training.batch_size"},
    {memory_cause::kept, "training.batch_size"},
    {memory_cause::checkpoints, "checkpoint.every_steps"},
    {memory_cause::copies, "recovery.copies"}};
  for (const auto& [cause, key] : cases) {
    memory_need need;
    need.add(cause, 2);
    const auto found = memory_problem(need, {memory_limit_kind::machine, 1}, "it takes");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->key, key);
    EXPECT_FALSE(found->hint.empty());
  }
}

TEST(memory_need, parameters_are_counted_as_the_model_has_them) {
  for (const bool bias : {true, false})
    for (const auto kind : {model_kind::neural_network, model_kind::softmax_regression}) {
      job x;
      x.model.kind = kind;
      x.model.bias = bias;
      if (kind == model_kind::neural_network)
        x.model.hidden = {30, 20};
      const auto resolved = resolve(x, shape, 2);
      EXPECT_EQ(parameter_count_of(resolved, shape), make_model(resolved, shape)->layout().size());
    }
}

TEST(memory_need, sizes_beyond_counting_are_known_before_anything_else_is_counted) {
  auto x = resolve({}, shape, 2);
  EXPECT_EQ(beyond_counting(x, shape), std::nullopt);
  x.model.kind = model_kind::neural_network;
  x.model.hidden = {size_t{1} << 40, size_t{1} << 40};
  const auto found = beyond_counting(x, shape);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sum(), std::numeric_limits<uint64_t>::max());
  x.model.hidden = {10'000'000, 10'000'000};
  EXPECT_TRUE(beyond_counting(x, shape));
}

TEST(memory_need, sizes_are_told_with_three_digits_at_most) {
  const std::pair<uint64_t, const char*> cases[] = {
    {0, "0 bytes"},           {999, "999 bytes"},        {1'023, "1.0 KiB"},
    {10'240, "10 KiB"},       {1'572'864, "1.5 MiB"},    {uint64_t{5} << 40, "5.0 TiB"},
    {~uint64_t{0}, "16 EiB"}, {1'000 * 1'024, "1.0 MiB"}};
  for (const auto& [bytes, text] : cases)
    EXPECT_EQ(bytes_text(bytes), text);
}

} // namespace
} // namespace troupe::memory_need_test
