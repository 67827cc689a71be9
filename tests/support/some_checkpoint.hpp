// Checkpoints for tests: filled with numbers that differ from place to place, awkward ones among
// them.

#pragma once

#include "data/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace troupe {

struct some_checkpoint_options {
  size_t parameter_count = 5;
  size_t slot_count = 2;
  bool best_parameters = true;
  std::string job_sha256 = "a1";
};

inline const_buffer some_tensor(size_t size, uint64_t salt) {
  const buffer result{size};
  for (size_t i = 0; i < size; ++i)
    result.values()[i] = static_cast<float>(std::sin(static_cast<double>(salt * 977 + i)));
  return result;
}

inline checkpoint some_checkpoint(uint64_t version, const some_checkpoint_options& options = {}) {
  checkpoint x;
  x.job_sha256 = options.job_sha256;
  x.arithmetic = "numbers of this machine";
  x.version = version;
  x.term = (uint64_t{1} << 63) + 7;
  x.parameters = some_tensor(options.parameter_count, 10 * version);
  for (size_t slot = 0; slot < options.slot_count; ++slot)
    x.slots.push_back(some_tensor(options.parameter_count, 10 * version + 1 + slot));
  if (options.best_parameters)
    x.best_parameters = some_tensor(options.parameter_count, 10 * version + 9);
  x.optimizer_numbers = {0.1, -0.0, std::numeric_limits<double>::infinity()};
  x.metrics = {1.0 / 3, 17, 5, std::numeric_limits<double>::denorm_min()};
  x.stop = {0.25, 6, 3};
  x.plateau = {0.125, 1, 2};
  x.reductions = {1, 3};
  x.history.resize(2);
  auto& first = x.history[0];
  first.epoch = 1;
  first.steps = 4;
  first.seconds = 0.5;
  first.learning_rate = 0.01;
  first.train_loss = 0.7;
  first.train_accuracy = 0.5;
  first.test_accuracy = first.validation_accuracy = 0.25;
  first.metrics = {{"test_auc", {}}, {"validation_auc", {}}};
  auto& second = x.history[1];
  second = first;
  second.epoch = 2;
  second.steps = 8;
  second.seconds = 1.5;
  second.train_accuracy.reset();
  second.test_loss = 0.3;
  second.validation_loss = 0.4;
  second.test_r2 = second.validation_r2 = -1.0;
  second.metrics = {{"test_auc", 0.75}, {"validation_auc", {}}};
  second.hash = version_hash{{1, 2}, {3, ~uint64_t{0}}};
  x.seconds = 1.7;
  x.replicas = {{9, 100}, {8, 90}};
  x.recovery = {2, 3, 4, 5, 6};
  return x;
}

/// One with nothing but tensors: it fits a job of that shape at any version.
inline checkpoint plain_checkpoint(uint64_t version, const some_checkpoint_options& options) {
  auto x = some_checkpoint(version, options);
  x.optimizer_numbers.clear();
  x.metrics = {};
  x.stop = x.plateau = {};
  x.reductions.clear();
  x.history.clear();
  return x;
}

inline bool same_bits(const stored_tensor& a, const stored_tensor& b) {
  const auto left = a.values(), right = b.values();
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(), [](float x, float y) {
           return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
         });
}

/// Whether two checkpoints are the same, to the bit.
inline bool same(const checkpoint& a, const checkpoint& b) {
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  return a.job_sha256 == b.job_sha256 && a.arithmetic == b.arithmetic && a.version == b.version &&
         a.term == b.term && same_bits(a.parameters, b.parameters) &&
         std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(), same_bits) &&
         std::equal(a.optimizer_numbers.begin(), a.optimizer_numbers.end(),
                    b.optimizer_numbers.begin(), b.optimizer_numbers.end(),
                    [&](double x, double y) { return bits(x) == bits(y); }) &&
         same_bits(a.best_parameters, b.best_parameters) && a.metrics == b.metrics &&
         a.stop == b.stop && a.plateau == b.plateau && a.reductions == b.reductions &&
         a.history == b.history && bits(a.seconds) == bits(b.seconds) && a.replicas == b.replicas &&
         a.recovery == b.recovery;
}

} // namespace troupe
