#include "troupe/models/math/blas.hpp"

#include <xtensor-blas/xblas.hpp>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <stdexcept>

extern "C" {
void openblas_set_num_threads(int count);
int openblas_get_num_threads();
char* openblas_get_corename();
int openblas_get_parallel();
}

namespace troupe::blas {

namespace {

struct used_shape {
  size_t rows;
  size_t columns;
};

used_shape shape_of(const matrix& x) {
  if (x.use == operation::transposed)
    return {x.columns, x.rows};
  return {x.rows, x.columns};
}

std::string to_text(used_shape x) {
  return std::to_string(x.rows) + " x " + std::to_string(x.columns);
}

cxxblas::Transpose flag_of(const matrix& x) {
  return x.use == operation::transposed ? cxxblas::Trans : cxxblas::NoTrans;
}

std::mutex thread_count_mutex;
size_t one_thread_count = 0;
int thread_count_before = 0;
std::atomic<size_t> lasting_count{0}; ///< `one_thread`s: the others are of a single product

void take_one_thread() {
  std::lock_guard guard{thread_count_mutex};
  if (one_thread_count++ == 0) {
    thread_count_before = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
}

void give_one_thread_back() {
  std::lock_guard guard{thread_count_mutex};
  if (--one_thread_count == 0)
    openblas_set_num_threads(thread_count_before);
}

} // namespace

void multiply(const matrix& a, const matrix& b, float keep, float* out, size_t out_rows,
              size_t out_columns) {
  const auto left = shape_of(a);
  const auto right = shape_of(b);
  if (left.columns != right.rows || left.rows != out_rows || right.columns != out_columns)
    throw std::invalid_argument("matrix product: " + to_text(left) + " times " + to_text(right) +
                                " into " + to_text({out_rows, out_columns}));
  if (std::max({out_rows, out_columns, left.columns}) >
      static_cast<size_t>(std::numeric_limits<int>::max()))
    throw std::invalid_argument("matrix product: an extent exceeds what BLAS can count");
  if (out_rows == 0 || out_columns == 0)
    return;
  // Nothing but a look while somebody trains. Another's that ends right now costs this product time alone.
  const bool is_alone = lasting_count.load(std::memory_order_relaxed) == 0;
  if (is_alone)
    take_one_thread();
  cxxblas::gemm(cxxblas::RowMajor, flag_of(a), flag_of(b), static_cast<int>(out_rows),
                static_cast<int>(out_columns), static_cast<int>(left.columns), 1.0f, a.data,
                static_cast<int>(a.columns), b.data, static_cast<int>(b.columns), keep, out,
                static_cast<int>(out_columns));
  if (is_alone)
    give_one_thread_back();
}

one_thread::one_thread() {
  take_one_thread();
  ++lasting_count;
}

one_thread::~one_thread() {
  --lasting_count;
  give_one_thread_back();
}

std::string core_name() {
  return openblas_get_corename();
}

std::string threading() {
  constexpr const char* names[] = {"none", "pthreads", "OpenMP"}; // as <cblas.h> numbers them
  const int kind = openblas_get_parallel();
  return kind >= 0 && kind < 3 ? names[kind] : "unknown";
}

} // namespace troupe::blas
