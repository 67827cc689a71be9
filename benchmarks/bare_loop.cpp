#include "benchmarks/bare_loop.hpp"

#include "models/base/buffer.hpp"
#include "models/base/random.hpp"

#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

extern "C" {
void openblas_set_num_threads(int count);
char* openblas_get_corename();
}

namespace troupe::benchmarks {

namespace {

/// In whatever this is linked to, OpenBLAS computes on the calling thread.
[[maybe_unused]] const bool on_one_thread = (openblas_set_num_threads(1), true);

// out = a b^T, a (m x k), b (n x k)
void multiply_transposed(const float* a, const float* b, float* out, size_t m, size_t n, size_t k) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, int(m), int(n), int(k), 1, a, int(k), b,
              int(k), 0, out, int(n));
}

void add_or_copy(const std::vector<std::vector<float>>& from, std::vector<std::vector<float>>& to,
                 bool copies) {
  if (copies) {
    to = from;
    return;
  }
  for (size_t l = 0; l < from.size(); ++l)
    for (size_t i = 0; i < from[l].size(); ++i)
      to[l][i] += from[l][i];
}

} // namespace

bare_loop::bare_loop(const bare_loop_options& options, const std::vector<float>& features,
                     const std::vector<int32_t>& labels)
  : options_(options), features_(features), labels_(labels) {
  const auto& sizes = options_.sizes;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    auto& weight = weights_.emplace_back(sizes[i] * sizes[i + 1]);
    fill_normal({1, random_purpose::initialization, i}, 0, std::sqrt(2.0f / float(sizes[i])),
                weight);
    biases_.emplace_back(sizes[i + 1]);
    weight_gradients_.emplace_back(weight.size());
    bias_gradients_.emplace_back(sizes[i + 1]);
    outputs_.emplace_back(options_.batch * sizes[i + 1]);
    deltas_.emplace_back(options_.batch * sizes[i + 1]);
  }
}

double bare_loop::run(size_t steps) {
  double loss = 0;
  for (size_t i = 0; i < steps; ++i) {
    if (next_row_ + options_.batch > labels_.size())
      next_row_ = 0;
    loss = step(next_row_);
    next_row_ += options_.batch;
  }
  return loss;
}

double bare_loop::step(size_t first_row) {
  double loss = 0;
  const size_t rows = options_.batch / options_.slices;
  for (size_t k = 0; k < options_.slices; ++k) {
    loss += gradient(first_row + k * rows, rows);
    if (options_.slices == 1)
      continue;
    add_or_copy(weight_gradients_, weight_sums_, k == 0);
    add_or_copy(bias_gradients_, bias_sums_, k == 0);
  }
  update();
  return loss / double(options_.batch);
}

double bare_loop::gradient(size_t first_row, size_t rows) {
  const auto& sizes = options_.sizes;
  const size_t depth = sizes.size() - 1;
  const float* const x = features_.data() + first_row * sizes[0];
  for (size_t l = 0; l < depth; ++l) {
    const float* in = l == 0 ? x : outputs_[l - 1].data();
    float* const out = outputs_[l].data();
    const size_t n = sizes[l + 1];
    multiply_transposed(in, weights_[l].data(), out, rows, n, sizes[l]);
    const float* const bias = biases_[l].data();
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < n; ++j) {
        const float y = out[i * n + j] + bias[j];
        out[i * n + j] = l + 1 < depth ? std::max(y, 0.0f) : y;
      }
  }
  double loss = 0;
  const size_t classes = sizes.back();
  for (size_t i = 0; i < rows; ++i) {
    const float* const score = outputs_.back().data() + i * classes;
    float* const delta = deltas_.back().data() + i * classes;
    const float highest = *std::max_element(score, score + classes);
    float total = 0;
    for (size_t j = 0; j < classes; ++j)
      total += delta[j] = std::exp(score[j] - highest);
    const auto label = size_t(labels_[first_row + i]);
    loss += std::log(total) - (score[label] - highest);
    for (size_t j = 0; j < classes; ++j)
      delta[j] /= total;
    delta[label] -= 1;
  }
  for (size_t l = depth; l-- > 0;) {
    const size_t n = sizes[l + 1];
    const size_t k = sizes[l];
    const float* const in = l == 0 ? x : outputs_[l - 1].data();
    const float* const delta = deltas_[l].data();
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, int(n), int(k), int(rows), 1, delta,
                int(n), in, int(k), 0, weight_gradients_[l].data(), int(k));
    auto& bias_gradient = bias_gradients_[l];
    std::ranges::fill(bias_gradient, 0.0f);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < n; ++j)
        bias_gradient[j] += delta[i * n + j];
    if (l == 0)
      break;
    float* const down = deltas_[l - 1].data();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, int(rows), int(k), int(n), 1, delta,
                int(n), weights_[l].data(), int(k), 0, down, int(k));
    for (size_t i = 0; i < rows * k; ++i)
      down[i] = in[i] > 0 ? down[i] : 0;
  }
  return loss;
}

void bare_loop::update() {
  const float rate = options_.learning_rate / float(options_.batch);
  const auto& weight_sums = options_.slices > 1 ? weight_sums_ : weight_gradients_;
  const auto& bias_sums = options_.slices > 1 ? bias_sums_ : bias_gradients_;
  for (size_t l = 0; l < weights_.size(); ++l) {
    for (size_t i = 0; i < weights_[l].size(); ++i)
      weights_[l][i] -= rate * weight_sums[l][i];
    for (size_t i = 0; i < biases_[l].size(); ++i)
      biases_[l][i] -= rate * bias_sums[l][i];
  }
}

const char* openblas_core() {
  return openblas_get_corename();
}

double sgemm_peak_flops() {
  const size_t n = 1024;
  std::vector<float> a(n * n, 1.0f), b(n * n, 0.5f), c(n * n);
  multiply_transposed(a.data(), b.data(), c.data(), n, n, n);
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i)
      multiply_transposed(a.data(), b.data(), c.data(), n, n, n);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 4 * 2.0 * double(n * n * n) / seconds.count());
  }
  return best;
}

double read_bytes_per_second(size_t threads) {
  // 16 sums at once, so that reading is what takes the time.
  const auto sum = [](const std::vector<float>& values, float& out) {
    float lanes[64] = {};
    for (size_t i = 0; i + 64 <= values.size(); i += 64)
      for (size_t l = 0; l < 64; ++l)
        lanes[l] += values[i + l];
    out = lanes[0];
    for (const float lane : lanes)
      out += lane;
  };
  std::vector<std::vector<float>> parts(threads);
  for (auto& part : parts) {
    reserve_large(part, (size_t{256} << 20) / sizeof(float));
    part.assign(part.capacity(), 1.0f);
  }
  std::vector<float> sums(threads * 64);
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> readers;
    for (size_t i = 0; i < threads; ++i)
      readers.emplace_back([&, i] { sum(parts[i], sums[i * 64]); });
    for (auto& reader : readers)
      reader.join();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, double(threads * parts[0].size() * sizeof(float)) / seconds.count());
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0f) > 0 ? best : 0;
}

} // namespace troupe::benchmarks
