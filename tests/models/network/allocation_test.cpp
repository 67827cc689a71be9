// A step allocates nothing after the first: everything it needs is kept or pooled.

#include "models/base/random.hpp"
#include "models/math/reduction.hpp"
#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"
#include "tests/support/counted_allocations.hpp"

#include <gtest/gtest.h>

namespace troupe::allocation_test {

TEST(allocation, none_in_a_step_after_the_first) {
  neural_network_options shape{20, 5, {30, 10}, activation_kind::gelu};
  shape.dropout = 0.25;
  const neural_network network{shape};
  optimizer_options options;
  options.kind = optimizer_kind::adam;
  const auto rule = make_optimizer(options);
  const auto size = network.layout().size();
  const optimizer_state state{rule->slot_count(), size};
  buffer_pool pool{size};
  auto parameters = pool.acquire();
  network.initialize(1, parameters.values());
  std::vector<float> features(64 * 20);
  fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, features);
  const std::vector<int32_t> labels(64, 2);
  workspace memory;
  reducer sums;
  const reduction_plan plan{{0, 1, reduction_plan::add}};
  const auto step = [&](uint64_t t, size_t rows) {
    const batch part{rows, std::span{features}.first(rows * 20), std::span{labels}.first(rows), {}};
    const auto a = pool.acquire();
    const auto b = pool.acquire();
    network.gradient(parameters.values(), part, a.values(), memory);
    network.gradient(parameters.values(), part, b.values(), memory);
    const std::span<const float> inputs[] = {a.values(), b.values()};
    auto next = pool.acquire();
    sums.reduce_and_update(plan, inputs, *rule, rule->begin_step(t, 2 * rows, direction::descent),
                           state, parameters.values(), next.values());
    parameters = next;
  };
  step(0, 64);
  const auto before = allocation_count;
  EXPECT_GT(before, 0u) << "the counter counts";
  for (uint64_t t = 1; t < 20; ++t)
    step(t, t % 2 == 0 ? 64 : 17); // a short batch needs no other memory
  EXPECT_EQ(allocation_count, before);
}

} // namespace troupe::allocation_test
