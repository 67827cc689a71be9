// Products by the law: for each instruction set here, in every form, beside a scalar std::fma.

#include "models/math/products.hpp"

#include "models/base/random.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>
#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

namespace troupe::products_test {
namespace {

using namespace products;

/// What products used before, again.
struct used_set {
  explicit used_set(instruction_set set) { use(set); }
  ~used_set() { use(before); }
  const instruction_set before = in_use();
};

template <class Check>
void for_each_set(const Check& check) {
  for (const auto set : instructions_here()) {
    SCOPED_TRACE(name_of(set));
    const used_set here{set};
    check();
  }
}

std::vector<float> uniform(size_t count, float low, float high, uint64_t major) {
  std::vector<float> result(count);
  fill_uniform({7, random_purpose::initialization, major}, 0, low, high, result);
  return result;
}

/// Values of which sums are exact, of many sizes, subnormal, or with infinities and NaN.
enum class kind { plain, sizes, subnormal, not_finite };

std::vector<float> values_of(kind what, size_t count, uint64_t major) {
  auto result = uniform(count, -1, 1, major);
  for (size_t i = 0; i < count; ++i) {
    if (what == kind::sizes)
      result[i] = std::ldexp(result[i], static_cast<int>(i * 7 % 41) - 20);
    if (what == kind::subnormal)
      result[i] *= 0x1p-70f;
    if (what == kind::not_finite && i % 31 == 5)
      result[i] = std::numeric_limits<float>::infinity();
  }
  return result;
}

float at(const matrix_view& x, size_t i, size_t j) {
  return x.data[i * x.row_stride + j * x.column_stride];
}

/// The law.
float element(const matrix_view& a, const matrix_view& b, size_t i, size_t j,
              std::optional<float> before = {}) {
  auto total = before.value_or(0);
  for (size_t first = 0; first < a.columns; first += 256) {
    float chain = 0;
    for (size_t p = first; p < std::min(a.columns, first + 256); ++p)
      chain = std::fma(at(a, i, p), at(b, p, j), chain);
    total = first > 0 || before ? total + chain : chain;
  }
  return total;
}

bool same(float x, float y) {
  return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y) ||
         (std::isnan(x) && std::isnan(y));
}

/// A product in one of the four forms, of matrices with gaps between their rows.
struct form {
  form(size_t m, size_t n, size_t k, bool flips_a, bool flips_b, size_t gap, kind what,
       uint64_t major)
    : a_values(values_of(what, (flips_a ? k : m) * ((flips_a ? m : k) + gap), 2 * major)),
      b_values(values_of(what == kind::not_finite ? kind::plain : what,
                         (flips_b ? n : k) * ((flips_b ? k : n) + gap), 2 * major + 1)),
      a{a_values.data(), flips_a ? k : m, flips_a ? m : k, (flips_a ? m : k) + gap},
      b{b_values.data(), flips_b ? n : k, flips_b ? k : n, (flips_b ? k : n) + gap} {
    if (flips_a)
      a = a.transposed();
    if (flips_b)
      b = b.transposed();
  }

  std::vector<float> a_values, b_values;
  matrix_view a, b;
};

/// Rows are `stride` apart; what lies between them stays as it is.
std::vector<float> product_of(const form& x, size_t stride, bool adds) {
  std::vector<float> out(x.a.rows * stride + 1, 77);
  multiply(x.a, x.b, {out.data(), x.a.rows, x.b.columns, stride, adds});
  return out;
}

void expect_law(const form& x, size_t stride, bool adds) {
  const auto out = product_of(x, stride, adds);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto row = i / stride, column = i % stride;
    const bool inside = row < x.a.rows && column < x.b.columns;
    const auto expected =
      inside ? element(x.a, x.b, row, column, adds ? std::optional{77.0f} : std::nullopt) : 77.0f;
    ASSERT_TRUE(same(out[i], expected))
      << x.a.rows << " x " << x.b.columns << " x " << x.a.columns << ", element " << row << ", "
      << column << ": " << out[i] << " for " << expected;
  }
}

void expect_law_in_all_forms(size_t m, size_t n, size_t k, kind what, uint64_t major) {
  for (const bool flips_a : {false, true})
    for (const bool flips_b : {false, true})
      for (const bool adds : {false, true})
        expect_law({m, n, k, flips_a, flips_b, major % 3, what, major}, n + major % 2, adds);
}

TEST(products, match_a_hand_worked_case_in_every_form) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};   // 2 x 3
  const std::vector<float> b{1, 0, 2, 1, 0, 3};   // 3 x 2
  const std::vector<float> a_t{1, 4, 2, 5, 3, 6}; // 3 x 2
  const std::vector<float> b_t{1, 2, 0, 0, 1, 3}; // 2 x 3
  for_each_set([&] {
    for (const auto& left : {matrix_of(a.data(), 2, 3), matrix_of(a_t.data(), 3, 2).transposed()})
      for (const auto& right :
           {matrix_of(b.data(), 3, 2), matrix_of(b_t.data(), 2, 3).transposed()}) {
        std::vector<float> out(4, 100);
        multiply(left, right, result_of(out.data(), 2, 2));
        EXPECT_EQ(out, (std::vector<float>{5, 11, 14, 23}));
        multiply(left, right, result_of(out.data(), 2, 2, true));
        EXPECT_EQ(out, (std::vector<float>{10, 22, 28, 46})) << "added to what was there";
      }
  });
}

TEST(products, are_chains_in_blocks_at_every_edge_of_a_tile) {
  const size_t heights[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 29},
               widths[] = {1, 2, 7, 8, 9, 16, 17, 31, 33, 65, 129};
  for_each_set([&] {
    uint64_t major = 0;
    for (const auto m : heights)
      for (const auto n : widths) {
        const size_t terms[] = {1, 2, 3, 16, 31};
        expect_law_in_all_forms(m, n, terms[major % 5], static_cast<kind>(major % 4), major);
        ++major;
      }
  });
}

TEST(products, are_cut_in_k_after_256_terms_and_nowhere_else) {
  for_each_set([] {
    uint64_t major = 0;
    for (const size_t k : {255u, 256u, 257u, 511u, 512u, 513u, 784u, 1025u})
      for (const auto what : {kind::plain, kind::sizes, kind::subnormal})
        expect_law_in_all_forms(9, 20, k, what, ++major);
  });
}

TEST(products, of_more_rows_and_columns_than_are_gone_through_at_once) {
  for_each_set([] {
    expect_law({1100, 3, 5, false, true, 0, kind::plain, 1}, 3, false);
    expect_law({1100, 3, 261, false, true, 2, kind::plain, 1}, 4, true);
    expect_law({1030, 40, 3, true, false, 1, kind::plain, 2}, 40, true);
    expect_law({20, 300, 300, false, true, 0, kind::plain, 3}, 300, false);
    for (const size_t n : {65u, 81u, 96u, 97u, 143u}) // lines of B into panels, for many strips
      expect_law({100, n, 261, false, false, 1, kind::plain, 4}, n, true);
    expect_law({20, 1030, 5, false, false, 0, kind::plain, 4}, 1030, false); // and far apart
    expect_law({9, 80, 512, false, false, 0, kind::plain, 4}, 80, false);    // rows of A meet
  });
}

TEST(products, without_a_term_are_zero_and_without_an_element_nothing) {
  for_each_set([] {
    std::vector<float> out{1, 2, 3, 4};
    const float none = 0;
    multiply(matrix_of(&none, 2, 0), matrix_of(&none, 0, 2), result_of(out.data(), 2, 2, true));
    EXPECT_EQ(out, (std::vector<float>{1, 2, 3, 4}));
    multiply(matrix_of(&none, 2, 0), matrix_of(&none, 0, 2), result_of(out.data(), 2, 2));
    EXPECT_EQ(out, std::vector<float>(4, 0));
    out[0] = 9;
    multiply(matrix_of(&none, 0, 1), matrix_of(&none, 1, 2), result_of(out.data(), 0, 2));
    multiply(matrix_of(&none, 2, 1), matrix_of(&none, 1, 0), result_of(out.data(), 2, 0));
    EXPECT_EQ(out[0], 9);
  });
}

TEST(products, shapes_that_do_not_fit_are_named) {
  const std::vector<float> x(12);
  std::vector<float> out(12);
  const auto wide = matrix_of(x.data(), 2, 3), high = matrix_of(x.data(), 3, 2);
  EXPECT_TRUE(
    test::contains(test::complaint_of([&] { multiply(wide, wide, result_of(out.data(), 2, 3)); }),
                   "2 x 3 times 2 x 3"));
  EXPECT_THROW(multiply(wide, high, result_of(out.data(), 3, 3)), std::invalid_argument);
  EXPECT_THROW(multiply(wide, high, {out.data(), 2, 2, 1}), std::invalid_argument);
}

TEST(products, an_instruction_set_that_is_not_here_is_refused_by_name) {
  EXPECT_TRUE(has(instruction_set::portable));
  EXPECT_EQ(in_use(), instructions_here().front());
  EXPECT_EQ(instructions_here().back(), instruction_set::portable);
  for (const auto& [set, name] : name_table<instruction_set>::entries)
    if (!has(set)) {
      EXPECT_THROW(use(set), std::invalid_argument) << name;
    }
}

// The sum lies half way between two floats but for what a double cannot hold: rounded to double first, it would be a
// tie and go to the even float, which is the wrong one.
TEST(products, a_fused_multiply_add_rounds_once) {
  struct triple {
    float a, b, c;
  };
  const float half = 0x1p-24f;
  static_assert(8384513ull * 8392705ull == (1ull << 46) + 1);
  std::vector<triple> cases;
  for (const int scale : {0, -30, 40})
    for (const float sign : {1.0f, -1.0f}) {
      const auto size = std::ldexp(sign, scale);
      cases.push_back(
        {half * 8384513 * 0x1p-23f, size * 8392705 * 0x1p-23f, size}); // above, by 2^-70
      cases.push_back(
        {half * (1 + 0x1p-23f), size * (1 - 0x1p-23f), size * (1 + 0x1p-23f)}); // below
      cases.push_back({-half * (1 + 0x1p-23f), size * (1 - 0x1p-23f), size * (1 + 0x1p-22f)});
      cases.push_back({half * 3, size * 5, size * 7}); // exact
    }
  for_each_set([&] {
    for (const auto& x : cases) {
      const float a[] = {1, x.a}, b[] = {x.c, x.b};
      float out = 0;
      multiply(matrix_of(a, 1, 2), matrix_of(b, 2, 1), result_of(&out, 1, 1));
      EXPECT_TRUE(same(out, std::fma(x.a, x.b, x.c))) << x.a << ' ' << x.b << ' ' << x.c;
    }
  });
}

// Root of the mean square error in units of 2^-24, of the root of the sum of squared terms; the bound of products.hpp.
TEST(products, are_as_exact_as_sums_of_blocks_can_be) {
  for (const size_t k : {100u, 784u, 4096u, 100'000u}) {
    const size_t rows = 16, columns = 8;
    std::vector<float> a(rows * k), b(columns * k), out(rows * columns);
    fill_normal({7, random_purpose::initialization, 1}, 0, 1, a);
    fill_normal({7, random_purpose::initialization, 2}, 0, 1, b);
    multiply(matrix_of(a.data(), rows, k), matrix_of(b.data(), columns, k).transposed(),
             result_of(out.data(), rows, columns));
    const auto terms = static_cast<double>(std::min<size_t>(k, 256) + (k + 255) / 256) * 0x1p-24;
    double error_squares = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      double exact = 0, squares = 0, sizes = 0;
      for (size_t p = 0; p < k; ++p) {
        const auto term = double{a[i / columns * k + p]} * b[i % columns * k + p];
        exact += term;
        squares += term * term;
        sizes += std::abs(term);
      }
      EXPECT_LE(std::abs(out[i] - exact), terms / (1 - terms) * sizes) << k;
      error_squares += std::pow((out[i] - exact) * 0x1p24 / std::sqrt(squares), 2);
    }
    EXPECT_LE(std::sqrt(error_squares / static_cast<double>(out.size())), 11) << k << " terms";
  }
}

// An independent witness: xtensor-blas, over whichever BLAS there is.
TEST(products, agree_with_xtensor_blas) {
  for (const auto& [m, k, n] : {std::array<size_t, 3>{17, 300, 33}, {64, 784, 10}, {5, 1000, 70}}) {
    const auto a = uniform(m * k, -1, 1, 1), b = uniform(k * n, -1, 1, 2);
    std::vector<float> out(m * n);
    multiply(matrix_of(a.data(), m, k), matrix_of(b.data(), k, n), result_of(out.data(), m, n));
    const auto left = xt::adapt(a, std::vector<size_t>{m, k});
    const auto right = xt::adapt(b, std::vector<size_t>{k, n});
    const xt::xtensor<float, 2> expected = xt::linalg::dot(left, right);
    const auto bound = 2 * static_cast<double>(k) * 0x1p-24 * static_cast<double>(k);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        ASSERT_NEAR(out[i * n + j], expected(i, j), bound);
  }
}

} // namespace
} // namespace troupe::products_test
