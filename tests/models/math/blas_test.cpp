#include "troupe/models/math/blas.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <vector>

extern "C" {
int openblas_get_num_threads();
void openblas_set_num_threads(int count);
}

namespace troupe::blas_test {

using enum blas::operation;

TEST(blas, products_in_every_form_match_a_hand_worked_case) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};   // 2 x 3
  const std::vector<float> b{1, 0, 2, 1, 0, 3};   // 3 x 2
  const std::vector<float> a_t{1, 4, 2, 5, 3, 6}; // 3 x 2
  const std::vector<float> b_t{1, 2, 0, 0, 1, 3}; // 2 x 3
  const std::vector<float> expected{5, 11, 14, 23};
  for (bool flip_a : {false, true})
    for (bool flip_b : {false, true}) {
      std::vector<float> out(4, 100);
      const blas::matrix left =
        flip_a ? blas::matrix{a_t.data(), 3, 2, transposed} : blas::matrix{a.data(), 2, 3, as_is};
      const blas::matrix right =
        flip_b ? blas::matrix{b_t.data(), 2, 3, transposed} : blas::matrix{b.data(), 3, 2, as_is};
      blas::multiply(left, right, 0, out.data(), 2, 2);
      EXPECT_EQ(out, expected) << flip_a << flip_b;
      blas::multiply(left, right, 1, out.data(), 2, 2);
      EXPECT_EQ(out, (std::vector<float>{10, 22, 28, 46})) << "added to what was there";
    }
}

TEST(blas, shapes_that_do_not_fit_are_named) {
  const std::vector<float> x(12);
  std::vector<float> out(12);
  try {
    blas::multiply({x.data(), 2, 3}, {x.data(), 2, 3}, 0, out.data(), 2, 3);
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_NE(std::string{problem.what()}.find("2 x 3 times 2 x 3"), std::string::npos);
  }
  EXPECT_THROW(blas::multiply({x.data(), 2, 3}, {x.data(), 3, 2}, 0, out.data(), 3, 3),
               std::invalid_argument);
}

TEST(blas, one_thread_restores_what_the_host_had) {
  const auto before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  {
    const blas::one_thread outer;
    EXPECT_EQ(openblas_get_num_threads(), 1);
    { const blas::one_thread inner; }
    EXPECT_EQ(openblas_get_num_threads(), 1) << "an outer one still lives";
  }
  EXPECT_EQ(openblas_get_num_threads(), 2);
  openblas_set_num_threads(before);
}

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(blas, a_product_runs_on_the_calling_thread_whoever_asks_for_it) {
  const auto before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  const std::vector<float> x(512 * 512, 1);
  std::vector<float> out(x.size());
  const auto process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const auto thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < 20; ++i)
    blas::multiply({x.data(), 512, 512}, {x.data(), 512, 512}, 0, out.data(), 512, 512);
  EXPECT_LT(seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process,
            1.3 * (seconds_of(CLOCK_THREAD_CPUTIME_ID) - thread));
  EXPECT_EQ(openblas_get_num_threads(), 2) << "the host's again";
  openblas_set_num_threads(before);
}

TEST(blas, core_has_a_name) {
  EXPECT_FALSE(blas::core_name().empty());
}

} // namespace troupe::blas_test
