#include "troupe/coordinators/job/memory_need.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe {

namespace {

const data_shape shape{1000, 0, 64, 10, true};

memory_need need_of(job x) {
  return memory_of(resolve(x, shape, 2), shape);
}

} // namespace

TEST(memory_need, parameters_are_counted_as_the_model_has_them) {
  for (const bool bias : {true, false})
    for (const auto kind : {model_kind::neural_network, model_kind::softmax_regression}) {
      job x;
      x.model.kind = kind;
      x.model.bias = bias;
      if (kind == model_kind::neural_network)
        x.model.hidden = {30, 20};
      EXPECT_EQ(need_of(x).parameter_count,
                make_model(resolve(x, shape, 2), shape)->layout().size());
    }
}

TEST(memory_need, least_is_two_versions_and_a_gradient_likely_has_the_optimizers_state_too) {
  job x;
  x.training.batch_size = x.training.slices.emplace(1);
  x.training.replicas = 1;
  const auto plain = need_of(x); // 650 parameters, 10 outputs
  EXPECT_EQ(plain.least_bytes, 12u * 650);
  EXPECT_EQ(plain.likely_bytes, 4u * 4 * 650 + 12 * 2 * 10);
  x.optimizer.kind = optimizer_kind::adam;
  EXPECT_EQ(need_of(x).likely_bytes, plain.likely_bytes + 8u * 650);
  x.training.replicas = 2;
  EXPECT_EQ(need_of(x).likely_bytes, plain.likely_bytes + 8u * 650 + 4 * 650 + 12 * 2 * 10);
}

TEST(memory_need, what_does_not_fit_is_refused_with_both_numbers) {
  job x;
  x.model.hidden = {100'000, 100'000};
  const auto need = need_of(x);
  EXPECT_EQ(memory_problem(need, need.least_bytes), std::nullopt);
  const auto found = memory_problem(need, uint64_t{3} << 30);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key, "model.hidden");
  EXPECT_EQ(found->why, "a model of 10007600010 parameters needs at least 112 GiB of memory, "
                        "3.0 GiB are available");
  EXPECT_FALSE(found->hint.empty());
}

TEST(memory_need, sizes_beyond_counting_are_the_largest_number) {
  auto x = resolve({}, shape, 2);
  x.model.hidden = {size_t{1} << 40, size_t{1} << 40};
  EXPECT_EQ(memory_of(x, shape).least_bytes, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(memory_of(x, shape).likely_bytes, std::numeric_limits<uint64_t>::max());
}

TEST(memory_need, sizes_are_told_with_three_digits_at_most) {
  const std::pair<uint64_t, const char*> cases[] = {
    {0, "0 bytes"},           {999, "999 bytes"},        {1'023, "1.0 KiB"},
    {10'240, "10 KiB"},       {1'572'864, "1.5 MiB"},    {uint64_t{5} << 40, "5.0 TiB"},
    {~uint64_t{0}, "16 EiB"}, {1'000 * 1'024, "1.0 MiB"}};
  for (const auto& [bytes, text] : cases)
    EXPECT_EQ(bytes_text(bytes), text);
}

} // namespace troupe
