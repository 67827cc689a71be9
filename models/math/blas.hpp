// Matrix products: the one door to BLAS.
//
// Every product runs on the calling thread into memory the caller owns. OpenBLAS's thread count
// belongs to the process, so training holds a `one_thread` for as long as it computes, and a product
// outside of it one of its own: an application's actors that call a model are as many as its threads. Only sgemm
// is used for anything that reaches a result: its bits depend on shapes and processor alone, which
// is not true of asum, nrm2 or dot.

#pragma once

#include <cstddef>
#include <string>

namespace troupe::blas {

enum class operation { as_is, transposed };

/// A row-major matrix: `rows` x `columns` as stored, dense rows.
struct matrix {
  const float* data = nullptr;
  size_t rows = 0;
  size_t columns = 0;
  operation use = operation::as_is; ///< how it enters a product
};

/// out = a b + keep out, with out M x N dense row-major, a M x K and b K x N as used.
///
/// `keep` is 0 (out is only written) or 1. Throws std::invalid_argument when shapes do not fit.
void multiply(const matrix& a, const matrix& b, float keep, float* out, size_t out_rows,
              size_t out_columns);

/// While one lives, OpenBLAS computes on the calling thread only; the last one to go restores what
/// the process had before. Thread-safe.
class one_thread {
public:
  one_thread();
  ~one_thread();
  one_thread(const one_thread&) = delete;
  one_thread& operator=(const one_thread&) = delete;
};

/// The processor type OpenBLAS computes for, such as "Haswell".
std::string core_name();

/// What OpenBLAS would use to compute on several threads: "none", "pthreads" or "OpenMP".
std::string threading();

} // namespace troupe::blas
