// Products beside OpenBLAS, one thread, in turn: of every shape the best of many rounds. `benchmarks/products` runs it for
// each instruction set.
//
//   product_benchmark accuracy                   the table of docs/numerics.md
//   product_benchmark INSTRUCTIONS [ROUNDS]      e.g. OPENBLAS_CORETYPE=Haswell product_benchmark avx2 20
//
// A line a shape: its name; GFLOP/s of OpenBLAS and of ours. The first line names OpenBLAS's core.

#include "models/base/buffer.hpp"
#include "models/base/random.hpp"
#include "models/math/products.hpp"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

extern "C" {
void openblas_set_num_threads(int count);
char* openblas_get_corename();
}

namespace {

using namespace troupe;

struct shape {
  const char* name;
  size_t m, n, k;
  bool flips_a, flips_b;
};

constexpr shape shapes[] = {{"forward", 128, 512, 784, false, true},
                            {"forward", 128, 512, 512, false, true},
                            {"forward", 128, 10, 512, false, true},
                            {"dx", 128, 512, 512, false, false},
                            {"dx", 128, 512, 10, false, false},
                            {"dW", 512, 784, 128, true, false},
                            {"dW", 512, 512, 128, true, false},
                            {"dW", 10, 512, 128, true, false},
                            {"forward", 32, 512, 784, false, true},
                            {"dx", 32, 512, 512, false, false},
                            {"dW", 512, 784, 32, true, false},
                            {"dW", 10, 512, 32, true, false},
                            {"forward", 32, 10, 512, false, true},
                            {"forward", 16, 512, 784, false, true},
                            {"dx", 16, 512, 512, false, false},
                            {"dx", 32, 1024, 1024, false, false},
                            {"dx", 8, 2048, 2048, false, false},
                            {"dW", 512, 784, 16, true, false},
                            {"forward", 8, 512, 784, false, true},
                            {"dx", 8, 512, 512, false, false},
                            {"dW", 512, 784, 8, true, false},
                            {"forward", 4, 512, 784, false, true},
                            {"forward", 2, 512, 784, false, true},
                            {"forward", 1, 512, 784, false, true},
                            {"dx", 1, 512, 512, false, false},
                            {"dW", 512, 784, 1, true, false},
                            {"forward", 1, 10, 512, false, true},
                            {"forward", 128, 2048, 2048, false, true},
                            {"dx", 128, 2048, 2048, false, false},
                            {"dW", 2048, 2048, 128, true, false},
                            {"forward", 32, 2048, 2048, false, true},
                            {"forward", 8, 2048, 2048, false, true},
                            {"square", 1024, 1024, 1024, false, false},
                            {"forward", 128, 256, 4096, false, true},
                            {"convolution forward", 1568, 64, 288, false, true},
                            {"convolution dx", 1568, 288, 64, false, false},
                            {"convolution dW", 64, 288, 1568, true, false},
                            {"convolution forward", 6272, 32, 25, false, true},
                            {"convolution dW", 32, 25, 6272, true, false},
                            {"attention QK", 64, 64, 32, false, true},
                            {"attention AV", 64, 32, 64, false, false},
                            {"attention dK", 64, 32, 64, true, false},
                            {"odd", 7, 33, 65, false, true},
                            {"small", 100, 50, 300, false, true},
                            {"one output", 100, 1, 300, false, true},
                            {"four outputs", 100, 4, 300, false, true}};

/// Of this thread alone: others use the machine.
double seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Work>
double time_of(const Work& work) {
  const auto start = seconds();
  auto now = start;
  size_t count = 0;
  do {
    work();
    ++count;
    now = seconds();
  } while (now - start < 0.0015);
  return (now - start) / static_cast<double>(count);
}

buffer normal(size_t count, uint64_t seed) {
  buffer result{count};
  fill_normal({seed, random_purpose::initialization, 0}, 0, 1, result.values());
  return result;
}

products::matrix_view view_of(const buffer& x, size_t rows, size_t columns, bool flips) {
  return flips ? products::matrix_of(x.values().data(), columns, rows).transposed()
               : products::matrix_of(x.values().data(), rows, columns);
}

void measure(const shape& x, int rounds) {
  const auto a = normal(x.m * x.k, 1), b = normal(x.k * x.n, 2);
  const buffer c{x.m * x.n}, d{x.m * x.n};
  const auto left = view_of(a, x.m, x.k, x.flips_a), right = view_of(b, x.k, x.n, x.flips_b);
  const auto m = static_cast<int>(x.m), n = static_cast<int>(x.n), k = static_cast<int>(x.k);
  const auto flag = [](bool flips) { return flips ? CblasTrans : CblasNoTrans; };
  std::array<double, 2> best{1, 1};
  const auto take = [&](size_t i, const auto& work) {
    work();
    best[i] = std::min(best[i], time_of(work));
  };
  for (int round = 0; round < rounds; ++round) {
    take(0, [&] {
      cblas_sgemm(CblasRowMajor, flag(x.flips_a), flag(x.flips_b), m, n, k, 1, a.values().data(),
                  x.flips_a ? m : k, b.values().data(), x.flips_b ? k : n, 0, c.values().data(), n);
    });
    take(1, [&] {
      products::multiply(left, right, products::result_of(d.values().data(), x.m, x.n));
    });
  }
  const auto speed = [&, work = 2e-9 * static_cast<double>(x.m * x.n * x.k)](size_t i) {
    return work / best[i];
  };
  std::printf("%s %zu x %zu x %zu;%.2f;%.2f\n", x.name, x.m, x.n, x.k, speed(0), speed(1));
  std::fflush(stdout);
}

/// Root mean square error beside double, in units of 2^-24: of the root of the sum of squared terms where they have both
/// signs, else of the result.
void measure_error(size_t k, bool positive) {
  constexpr size_t m = 16, n = 16;
  const auto a = normal(m * k, 3), b = normal(n * k, 4);
  const buffer ours{m * n}, theirs{m * n};
  if (positive)
    for (const auto& x : {a, b})
      for (auto& value : x.values())
        value = std::abs(value);
  const auto* const left = a.values().data();
  const auto* const right = b.values().data();
  products::multiply(products::matrix_of(left, m, k), products::matrix_of(right, n, k).transposed(),
                     products::result_of(ours.values().data(), m, n));
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, static_cast<int>(k), 1, left,
              static_cast<int>(k), right, static_cast<int>(k), 0, theirs.values().data(), n);
  std::array<double, 2> squares{};
  for (size_t i = 0; i < m * n; ++i) {
    double exact = 0, size = 0;
    for (size_t p = 0; p < k; ++p) {
      const auto term = double{left[i / n * k + p]} * right[i % n * k + p];
      exact += term;
      size += term * term;
    }
    const auto unit = 0x1p-24 * (positive ? exact : std::sqrt(size));
    squares[0] += std::pow((ours.values()[i] - exact) / unit, 2);
    squares[1] += std::pow((theirs.values()[i] - exact) / unit, 2);
  }
  std::printf("%zu terms, %s: %.1f, OpenBLAS %.1f\n", k, positive ? "positive" : "both signs",
              std::sqrt(squares[0] / (m * n)), std::sqrt(squares[1] / (m * n)));
}

} // namespace

int main(int count, char** words) {
  openblas_set_num_threads(1);
  if (count > 1 && std::string_view{words[1]} == "accuracy") {
    std::printf("%s\n", openblas_get_corename());
    for (const bool positive : {false, true})
      for (const size_t k : {784u, 4096u, 100'000u})
        measure_error(k, positive);
    return 0;
  }
  const auto set = from_name<products::instruction_set>(count > 1 ? words[1] : "");
  if (!set || !products::has(*set)) {
    std::fprintf(stderr, "usage: product_benchmark INSTRUCTIONS [ROUNDS], of %s, what is here\n",
                 all_names<products::instruction_set>().c_str());
    return 64;
  }
  products::use(*set);
  std::printf("%s\n", openblas_get_corename());
  for (const auto& x : shapes)
    measure(x, count > 2 ? std::max(std::atoi(words[2]), 1) : 60);
}
