#include "coordinators/modes/gradient_span.hpp"

#include "coordinators/base/canonical_tree.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/require.hpp"
#include "models/base/rounding.hpp"
#include "models/math/lanes.hpp"
#include "models/math/tree_accumulator.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

constexpr requirement require_held{"gradient span"};

/// Of a held gradient: its samples and its scale.
constexpr size_t numbers_of_held = 2;

} // namespace

gradient_span::gradient_span(const gradient_span_options& options)
  : options_(options),
    rule_(make_optimizer(options.optimizer)),
    compensation_(options.compensation.value_or(delay_compensation_options{})) {}

void gradient_span::begin(const const_buffer& parameters, regularization changes) {
  const auto values = parameters.values();
  require_held(all_finite(values.data(), values.size()), "a parameter is not finite");
  if (parameters_.size() != parameters.size() || !pool_)
    pool_ = std::make_unique<buffer_pool>(parameters.size());
  changes_ = std::move(changes);
  parameters_ = parameters;
  state_ = optimizer_state{rule_->slot_count(), parameters.size()};
  pins_.clear();
  update_count_ = 0;
  optimizer_step_ = 0;
}

const_buffer gradient_span::copy_of(std::span<const float> values) const {
  auto copy = pool_->acquire();
  copy_values(values, copy.values().begin());
  return copy;
}

void gradient_span::hold(const_buffer gradient_sum, uint64_t sample_count, double step_scale) {
  require_held(gradient_sum.size() == parameters_.size(), "a gradient has another size");
  held_.push_back({std::move(gradient_sum), sample_count, step_scale});
}

bool gradient_span::apply(size_t count) {
  const default_rounding rounding;
  std::vector<std::span<const float>> inputs;
  std::vector<tree_node> nodes;
  uint64_t sample_count = 0;
  double scale_sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto& one = held_.at(i);
    inputs.push_back(one.gradient_sum.values());
    nodes.push_back({i, i + 1});
    sample_count += one.sample_count;
    scale_sum += static_cast<double>(one.sample_count) * one.step_scale;
  }
  auto plan = plan_reduction(count, nodes, [](size_t) { return true; });
  const auto next = pool_->acquire();
  auto step = rule_->begin_step(optimizer_step_, sample_count, options_.way);
  // Exactly 1 when all scales are. The rate is scaled, not the gradient: Adam would not notice that.
  step.learning_rate *= static_cast<float>(scale_sum / static_cast<double>(sample_count));
  gradient_changes changes{&changes_, options_.first_element};
  buffer reduced;
  if (changes_.norm_max() > 0) {
    reduced = pool_->acquire();
    changes.norm_factor = reduce_for_norm(*plan, inputs, step.gradient_factor, reduced.values());
    inputs = {reduced.values()};
    plan = reduction_plan{{0}};
  }
  const bool is_finite = reducer_.reduce_and_update(*plan, inputs, *rule_, step, state_,
                                                    parameters_.values(), next.values(), changes);
  if (is_finite) {
    parameters_ = next;
    ++update_count_;
    ++optimizer_step_;
  } else {
    // The rule may have moved part of its state: it starts anew rather than half moved.
    state_ = optimizer_state{rule_->slot_count(), parameters_.size()};
    optimizer_step_ = 0;
  }
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
  return is_finite;
}

float gradient_span::reduce_for_norm(const reduction_plan& plan,
                                     std::span<const std::span<const float>> inputs,
                                     float gradient_factor, std::span<float> out) {
  reducer_.reduce(plan, inputs, out);
  tree_accumulator<double> total;
  for (double sum : square_sums_of_blocks(out, gradient_factor))
    total.push(sum);
  return static_cast<float>(changes_.norm_factor(total.total()));
}

// Asked twice, a task has the same parameters.
span_vectors gradient_span::give(const sequence_entry& task) {
  return {pins_.try_emplace(task.number, parameters_).first->second, {}};
}

void gradient_span::take(const sequence_entry& task, const span_vectors& update) {
  const auto read = pins_.extract(task.number);
  auto gradient = update.values;
  if (options_.compensation) {
    require_held(!read.empty(), "a late gradient's parameters are not here");
    const default_rounding rounding;
    const auto corrected = pool_->acquire();
    copy_values(gradient.values(), corrected.values().begin());
    compensation_.apply(corrected.values(), task.sample_count, read.mapped().values(),
                        parameters_.values());
    gradient = corrected;
  }
  hold(std::move(gradient), task.sample_count, task.step_scale);
}

state_shape gradient_span::shape_of(const gradient_span_options& options) {
  const auto compensation =
    options.compensation ? delay_compensation::shape_of(*options.compensation) : state_shape{};
  return state_shape{make_optimizer(options.optimizer)->slot_count(), 3} +
         options.held_max * state_shape{1, numbers_of_held} + compensation;
}

void gradient_span::save(state_saver& out) const {
  if (held_.size() > options_.held_max)
    throw std::logic_error("gradient span: more gradients are held than can be saved");
  for (size_t i = 0; i < state_.slot_count(); ++i)
    out.copy(std::span<const float>{state_.slot(i)});
  out.count(update_count_);
  out.count(optimizer_step_);
  out.count(held_.size());
  for (size_t i = 0; i < options_.held_max; ++i) {
    const auto one = i < held_.size() ? held_[i] : held_gradient{{}, 0, 0};
    out.copy(one.gradient_sum.values());
    out.count(one.sample_count);
    out.number(one.step_scale);
  }
  if (options_.compensation)
    compensation_.save(out);
}

void gradient_span::load(state_loader& in) {
  for (size_t i = 0; i < state_.slot_count(); ++i) {
    const auto saved = in.vector();
    require_held(saved.size() == state_.slot(i).size(), "the saved state has another size");
    copy_values(saved.values(), state_.slot(i).begin());
  }
  update_count_ = in.count();
  optimizer_step_ = in.count();
  const auto held_count = in.count();
  require_held(held_count <= options_.held_max, "more gradients are saved than may be held");
  held_.clear();
  for (size_t i = 0; i < options_.held_max; ++i) {
    auto values = in.vector();
    const auto sample_count = in.count();
    const auto step_scale = in.number();
    if (i >= held_count)
      continue;
    require_held(all_finite(values.values().data(), values.size()) && sample_count > 0 &&
                   step_scale > 0 && step_scale <= 1,
                 "a saved gradient cannot be held");
    hold(std::move(values), sample_count, step_scale);
  }
  if (options_.compensation)
    compensation_.load(in);
}

} // namespace troupe
