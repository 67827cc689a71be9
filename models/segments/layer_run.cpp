#include "models/segments/layer_run.hpp"

#include "models/base/require.hpp"
#include "models/math/moves.hpp"
#include "models/math/reduction.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

// Of the slots that runs share: two buffers of derivatives, then what layers use.
enum shared : size_t { first_delta, second_delta, scratch };

constexpr size_check require_size{"chain of layers"};

} // namespace

layer_run::layer_run(std::vector<chain_step> steps, size_t first_number, size_t input_size)
  : steps_(std::move(steps)),
    first_number_(first_number),
    input_size_(input_size),
    saved_(steps_.size()),
    first_learning_(steps_.size()) {
  for (size_t k = 0; k < steps_.size(); ++k) {
    offsets_.push_back(parameter_count_);
    if (const auto* one = steps_[k].does.get()) {
      require_size("values of a row", one->input_size(), value_size(k));
      if (one->parameter_count() > 0)
        first_learning_ = std::min(first_learning_, k);
      parameter_count_ += one->parameter_count();
      values_.push_back(one->output_size());
    } else {
      if (steps_[k].adds > k)
        throw std::invalid_argument("chain of layers: a value is added before it is there");
      require_size("values to add", value_size(steps_[k].adds), value_size(k));
      saved_[k] = 2 * steps_.size() + saved_count_++;
      values_.push_back(value_size(k));
    }
  }
}

bool layer_run::is_random() const {
  return std::ranges::any_of(steps_, [](const auto& x) { return x.does && x.does->is_random(); });
}

bool layer_run::runs_on_devices() const {
  return std::ranges::all_of(steps_,
                             [](const auto& x) { return !x.does || x.does->runs_on_devices(); });
}

uint64_t layer_run::device_scratch(size_t rows) const {
  uint64_t result = 0;
  for (const auto& step : steps_)
    result = std::max(result, step.does ? step.does->device_scratch(rows) : 0);
  return result;
}

uint64_t layer_run::multiply_adds() const {
  uint64_t result = 0;
  for (const auto& step : steps_)
    result += step.does ? step.does->multiply_adds() : 0;
  return result;
}

size_t layer_run::widest() const {
  return values_.empty() ? input_size_ : std::max(input_size_, std::ranges::max(values_));
}

uint64_t layer_run::memory_floats(size_t rows, size_t derived) const {
  uint64_t result = 0;
  for (size_t k = 0; k < steps_.size(); ++k) {
    result += k + 1 < steps_.size() ? rows * values_[k] : 0; // the last is the caller's
    result += steps_[k].does ? rows * steps_[k].does->kept_size() : derived * values_[k];
  }
  return result;
}

layer_call layer_run::call_of(const run_call& call, size_t step) const {
  const auto& one = *steps_[step].does;
  return {
    call.parameters.subspan(offsets_[step], one.parameter_count()),
    call.memory.slot(call.first_slot + steps_.size() + step, call.rows.row_count * one.kept_size()),
    call.rows,
    call.trains,
    static_cast<uint32_t>(first_number_ + step),
    call.memory,
    call.shared_slot + scratch};
}

std::span<const float> layer_run::value(const run_call& call, size_t number,
                                        std::span<const float> x, std::span<const float> y) const {
  if (number == 0)
    return x;
  if (number == steps_.size())
    return y;
  return call.memory.slot(call.first_slot + number - 1, call.rows.row_count * values_[number - 1]);
}

void layer_run::forward(const run_call& call, std::span<const float> x, std::span<float> y) const {
  if (steps_.empty()) {
    copy_floats(x, y);
    return;
  }
  for (size_t k = 0; k < steps_.size(); ++k) {
    const auto from = value(call, k, x, y);
    const auto to = k + 1 == steps_.size()
                      ? y
                      : call.memory.slot(call.first_slot + k, call.rows.row_count * values_[k]);
    if (steps_[k].does) {
      steps_[k].does->forward(call_of(call, k), from, to);
    } else {
      copy_floats(from, to);
      add_into(to, value(call, steps_[k].adds, x, y));
    }
  }
}

void layer_run::backward(const run_call& call, std::span<const float> x, std::span<const float> y,
                         std::span<const float> dy, std::span<float> dx,
                         std::span<float> gradient) const {
  const auto rows = call.rows.row_count;
  const auto last = dx.empty() ? first_learning_ : 0; // derivatives below are not asked for
  size_t turn = first_delta;
  auto delta = call.memory.slot(call.shared_slot + turn, dy.size());
  copy_floats(dy, delta);
  for (auto k = steps_.size(); k-- > last;) {
    if (!steps_[k].does) {
      copy_floats(delta, call.memory.slot(call.first_slot + saved_[k], delta.size()));
      continue; // the derivative of the value before is the same
    }
    const auto& one = *steps_[k].does;
    const auto told = call_of(call, k);
    const auto from = value(call, k, x, y);
    std::span<float> below;
    if (k > last) {
      turn = turn == first_delta ? second_delta : first_delta;
      below = call.memory.slot(call.shared_slot + turn, rows * one.input_size());
    } else {
      below = dx;
    }
    one.backward(told, from, value(call, k + 1, x, y), delta, below);
    if (const auto size = one.parameter_count(); size > 0)
      one.gradient(told, from, delta, gradient.subspan(offsets_[k], size));
    for (auto j = steps_.size(); j-- > k && !below.empty();)
      if (!steps_[j].does && steps_[j].adds == k)
        add_into(below, call.memory.slot(call.first_slot + saved_[j], below.size()));
    delta = below;
  }
  // Where the first step adds, or there is none, what is left is the derivative.
  if (!dx.empty() && delta.data() != dx.data())
    copy_floats(delta, dx);
}

} // namespace troupe
