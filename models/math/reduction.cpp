#include "models/math/reduction.hpp"

#include "models/device/device_queue.hpp"
#include "models/math/lanes.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

void require_equal_sizes(std::span<const std::span<const float>> inputs, size_t size) {
  for (const auto& input : inputs)
    if (input.size() != size)
      throw std::invalid_argument("reduction: spans of " + std::to_string(input.size()) + " and " +
                                  std::to_string(size) + " values");
}

// out may be a; ivdep says that no element depends on another one.
TROUPE_MULTIVERSION void add(const float* a, const float* b, float* out, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i)
    out[i] = a[i] + b[i];
}

} // namespace

void reducer::prepare(const reduction_plan& plan, size_t input_count) {
  size_t depth = 0;
  size_t depth_max = 0;
  for (auto operation : plan.operations) {
    if (operation == reduction_plan::add) {
      if (depth < 2)
        throw std::invalid_argument("reduction: an addition lacks operands");
      --depth;
    } else {
      if (operation < 0 || static_cast<size_t>(operation) >= input_count)
        throw std::invalid_argument("reduction: no input " + std::to_string(operation));
      depth_max = std::max(depth_max, ++depth);
    }
  }
  if (depth != 1)
    throw std::invalid_argument("reduction: the plan leaves " + std::to_string(depth) + " values");
  stack_.resize(std::max(stack_.size(), depth_max));
  if (scratch_.size() < depth_max * reduction_piece_size)
    scratch_ = buffer{depth_max * reduction_piece_size};
}

const float* reducer::evaluate(const reduction_plan& plan,
                               std::span<const std::span<const float>> inputs, size_t offset,
                               size_t count) {
  size_t depth = 0;
  for (auto operation : plan.operations) {
    if (operation != reduction_plan::add) {
      stack_[depth++] = inputs[static_cast<size_t>(operation)].data() + offset;
      continue;
    }
    --depth;
    const float* const a = stack_[depth - 1];
    const float* const b = stack_[depth];
    // The level's own piece: nothing below reads it, and a may be it (same element, same place).
    float* const out = scratch_.values().data() + (depth - 1) * reduction_piece_size;
    add(a, b, out, count);
    round_to(format_, {out, count});
    stack_[depth - 1] = out;
  }
  return stack_[0];
}

void reducer::reduce(const reduction_plan& plan, std::span<const std::span<const float>> inputs,
                     std::span<float> out) {
  prepare(plan, inputs.size());
  require_equal_sizes(inputs, out.size());
  for (size_t offset = 0; offset < out.size(); offset += reduction_piece_size) {
    const auto count = std::min(reduction_piece_size, out.size() - offset);
    std::copy_n(evaluate(plan, inputs, offset, count), count, out.data() + offset);
  }
}

bool reducer::reduce_and_update(const reduction_plan& plan,
                                std::span<const std::span<const float>> inputs,
                                const optimizer& rule, const update_step& step,
                                const optimizer_state& state, std::span<const float> parameters,
                                std::span<float> next, const gradient_changes& changes) {
  prepare(plan, inputs.size());
  const bool changed = changes.rule != nullptr && changes.rule->active();
  if (changed && mean_gradient_.size() == 0)
    mean_gradient_ = buffer{reduction_piece_size};
  auto applied = step;
  if (changed)
    applied.gradient_factor = 1; // what the rule sees is a mean already
  require_equal_sizes(inputs, parameters.size());
  if (next.size() != parameters.size())
    throw std::invalid_argument("reduction: old and new parameters differ in size");
  for (size_t offset = 0; offset < next.size(); offset += reduction_piece_size) {
    const auto count = std::min(reduction_piece_size, next.size() - offset);
    const auto* gradient = evaluate(plan, inputs, offset, count);
    if (changed) {
      const auto mean = mean_gradient_.values().first(count);
      if (!scale({gradient, count}, step.gradient_factor, mean))
        return false;
      changes.rule->apply(mean, parameters.data() + offset, changes.offset + offset,
                          changes.norm_factor);
      gradient = mean.data();
    }
    const update_piece piece{gradient, parameters.data() + offset, next.data() + offset,
                             changes.state_offset + offset, count};
    rule.update(applied, piece, state);
    if (changes.rule)
      changes.rule->hold(next.subspan(offset, count), piece.parameters, changes.offset + offset);
    if (!all_finite(piece.next, count))
      return false;
  }
  return true;
}

void add_into(std::span<float> a, std::span<const float> b, number_format format) {
  if (a.size() != b.size())
    throw std::invalid_argument("addition: " + std::to_string(a.size()) + " and " +
                                std::to_string(b.size()) + " values");
  if (auto* const device = device_of(a); device != nullptr && format == number_format::float32)
    return device->run("add_columns", a.size(), {b, b.size(), a, a.size(), a.size()});
  add(a.data(), b.data(), a.data(), a.size());
  round_to(format, a);
}

size_t find_not_finite(std::span<const std::span<const float>> inputs) {
  for (size_t k = 0; k < inputs.size(); ++k)
    if (!all_finite(inputs[k].data(), inputs[k].size()))
      return k;
  return inputs.size();
}

} // namespace troupe
