// The bare loop: what a C++ programmer would write by hand over cblas_sgemm to train one network on
// one thread. No actors, no messages, no versions: the yardstick for everything we add.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::benchmarks {

struct bare_loop_options {
  std::vector<size_t> sizes; ///< features, hidden units, ..., classes
  size_t batch = 128;
  size_t slices = 1; ///< pieces of a batch whose gradients are written and then added
  float learning_rate = 0.01f;
};

/// ReLU network with softmax cross-entropy and plain SGD.
class bare_loop {
public:
  bare_loop(const bare_loop_options& options, const std::vector<float>& features,
            const std::vector<int32_t>& labels);

  /// Trains `steps` batches, wrapping around the data; returns the loss of the last.
  double run(size_t steps);

private:
  double step(size_t first_row);
  /// Loss of `rows` rows; their gradient to weight_gradients_ and bias_gradients_.
  double gradient(size_t first_row, size_t rows);
  void update();

  bare_loop_options options_;
  const std::vector<float>& features_;
  const std::vector<int32_t>& labels_;
  size_t next_row_ = 0;
  std::vector<std::vector<float>> weights_, biases_, weight_gradients_, bias_gradients_;
  std::vector<std::vector<float>> weight_sums_, bias_sums_; ///< with more than one slice
  std::vector<std::vector<float>> outputs_, deltas_;
};

/// The processor whose kernels OpenBLAS uses: "SkylakeX", "Haswell".
const char* openblas_core();

/// Floating-point operations a second of one large product on the calling thread.
double sgemm_peak_flops();

/// Bytes a second that `threads` threads read together from memory no cache holds.
double read_bytes_per_second(size_t threads);

} // namespace troupe::benchmarks
