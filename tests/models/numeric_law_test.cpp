// The numeric law: results depend on values and shapes alone, not on where data lie, how long an
// array is beyond them, or which instruction set computes.

#include "models/base/arithmetic.hpp"
#include "models/base/random.hpp"
#include "models/base/rounding.hpp"
#include "models/math/elementary.hpp"
#include "models/math/lanes.hpp"
#include "models/math/products.hpp"
#include "models/network/activation.hpp"
#include "models/optimizers/optimizer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace troupe::numeric_law_test {
namespace {

std::vector<float> values(size_t count, float low, float high, uint64_t major = 0) {
  std::vector<float> result(count);
  fill_uniform({9, random_purpose::initialization, major}, 0, low, high, result);
  return result;
}

// One scalar at a time; the compiler may not gather calls into a vector loop.
[[gnu::noinline]] float scalar_activation(activation_kind kind, float x) {
  switch (kind) {
  case activation_kind::identity:
    return x;
  case activation_kind::relu:
    return x <= 0 ? 0 : x;
  case activation_kind::tanh:
    return elementary::tanh(x);
  case activation_kind::sigmoid:
    return elementary::sigmoid(x);
  case activation_kind::leaky_relu:
    return x > 0 ? x : 0.01f * x;
  case activation_kind::elu:
    return x > 0 ? x : elementary::expm1(x);
  case activation_kind::gelu:
    return static_cast<float>(x * elementary::normal_cdf(x));
  case activation_kind::silu:
    return static_cast<float>(x * elementary::sigmoid_for_float(x));
  case activation_kind::softplus:
    return static_cast<float>(elementary::softplus(x));
  }
  return 0;
}

TEST(numeric_law, body_and_tail_of_an_array_use_one_function) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries)
    for (size_t count = 1; count < 70; ++count) {
      const auto x = values(count, -9, 9, count);
      auto y = x;
      activate(kind, y);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]),
                  std::bit_cast<uint32_t>(scalar_activation(kind, x[i])))
          << name << ' ' << count << ' ' << i;
    }
}

TEST(numeric_law, an_optimizer_gives_one_scalar_rule_at_every_place) {
  const size_t count = 61;
  const auto gradient = values(count, -5, 5, 1);
  const auto parameters = values(count, -1, 1, 2);
  for (const auto& [kind, name] : name_table<optimizer_kind>::entries) {
    if (scope_of(kind) != optimizer_scope::element_wise)
      continue;
    optimizer_options options;
    options.kind = kind;
    options.momentum = 0.9;
    const auto rule = make_optimizer(options);
    const optimizer_state state{rule->slot_count(), count};
    std::vector<float> next(count);
    const auto step = rule->begin_step(0, 3, direction::descent);
    rule->update(step, {gradient.data(), parameters.data(), next.data(), 0, count}, state);
    for (size_t i = 0; i < count; ++i) {
      const optimizer_state alone{rule->slot_count(), 1};
      float out = 0;
      rule->update(step, {&gradient[i], &parameters[i], &out, 0, 1}, alone);
      EXPECT_EQ(std::bit_cast<uint32_t>(out), std::bit_cast<uint32_t>(next[i])) << name << ' ' << i;
    }
  }
}

TEST(numeric_law, lane_sum_adds_in_its_documented_order) {
  const auto x = values(53, -1e6, 1e6);
  float lanes[16] = {};
  for (size_t i = 0; i < x.size(); ++i)
    lanes[i % 16] += x[i];
  for (size_t width = 8; width > 0; width /= 2)
    for (size_t l = 0; l < width; ++l)
      lanes[l] += lanes[l + width];
  EXPECT_EQ(lane_sum<float>(x.size(), [&](size_t i) { return x[i]; }), lanes[0]);
}

TEST(numeric_law, all_finite_finds_every_place) {
  for (size_t count : {1u, 15u, 16u, 17u, 100u}) {
    auto x = values(count, -1, 1);
    x[0] = std::numeric_limits<float>::max();
    EXPECT_TRUE(all_finite(x.data(), count));
    for (size_t i = 0; i < count; ++i) {
      for (float bad :
           {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
            std::numeric_limits<float>::quiet_NaN()}) {
        const auto kept = std::exchange(x[i], bad);
        EXPECT_FALSE(all_finite(x.data(), count)) << count << ' ' << i;
        x[i] = kept;
      }
    }
  }
}

TEST(numeric_law, a_product_does_not_depend_on_where_its_matrices_lie) {
  const size_t m = 17, k = 64, n = 33;
  const auto a = values(m * k, -1, 1, 1);
  const auto b = values(n * k, -1, 1, 2);
  std::vector<float> expected(m * n);
  const auto product = [=](const float* left, const float* right, float* out) {
    products::multiply(products::matrix_of(left, m, k),
                       products::matrix_of(right, n, k).transposed(),
                       products::result_of(out, m, n));
  };
  product(a.data(), b.data(), expected.data());
  for (size_t shift = 1; shift < 17; ++shift) {
    std::vector<float> moved_a(shift), moved_b(shift + 3), out(m * n + shift);
    moved_a.insert(moved_a.end(), a.begin(), a.end());
    moved_b.insert(moved_b.end(), b.begin(), b.end());
    product(moved_a.data() + shift, moved_b.data() + shift + 3, out.data() + shift);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.begin() + long(shift))) << shift;
  }
}

// The message has the hashes that belong into models/base/arithmetic.cpp where a kind was added to a table.
TEST(arithmetic, is_what_it_is_everywhere_with_each_instruction_set) {
  const auto before = products::in_use();
  for (const auto set : products::instructions_here()) {
    products::use(set);
    EXPECT_EQ(arithmetic_problem(), "") << name_of(set);
    EXPECT_EQ(own_arithmetic(), arithmetic_name);
  }
  products::use(before);
}

#if defined(__x86_64__)
TEST(default_rounding, undoes_what_a_host_has_set_and_gives_it_back) {
  const auto usual = _mm_getcsr();
  _mm_setcsr(usual | 0x8040 | 0x6000); // flush to zero, denormals are zero, round toward zero
  const auto changed = _mm_getcsr();
  volatile float tiny = std::numeric_limits<float>::denorm_min();
  {
    const default_rounding rounding;
    EXPECT_GT(tiny * 2.0f, 0) << "subnormals count";
    volatile float third = 1.0f;
    EXPECT_EQ(third / 3.0f, 1.0f / 3.0f) << "rounds to nearest";
  }
  EXPECT_EQ(_mm_getcsr(), changed);
  _mm_setcsr(usual);
}
#endif

} // namespace
} // namespace troupe::numeric_law_test
