#include "coordinators/modes/gradients_coordinator.hpp"

#include "coordinators/base/canonical_tree.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/rounding.hpp"
#include "models/math/tree_accumulator.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

const char* name_of(gradient_verdict verdict) {
  switch (verdict) {
  case gradient_verdict::applied:
    return "applied";
  case gradient_verdict::queued:
    return "queued";
  case gradient_verdict::no_parameters:
    return "no parameters are set yet";
  case gradient_verdict::wrong_size:
    return "the gradient's size is not that of the parameters";
  case gradient_verdict::no_samples:
    return "the gradient sums over no samples";
  case gradient_verdict::not_finite:
    return "a value is not finite";
  case gradient_verdict::update_refused:
    return "the updated parameters would not be finite";
  }
  return "?";
}

gradients_coordinator::gradients_coordinator(const gradients_coordinator_options& options)
  : options_(options), rule_(make_optimizer(options.optimizer)), changes_(options.optimizer, {}) {
  if (options.optimizer.plateau.patience)
    throw std::invalid_argument(
      "gradients coordinator: plateau needs evaluations, and there are none");
  if (options.round_size == 0)
    throw std::invalid_argument("gradients coordinator: a round needs at least one gradient");
}

void gradients_coordinator::set_parameters(std::span<const float> values) {
  if (!queue_.empty() && queue_.front().gradient_sum.size() != values.size())
    throw std::invalid_argument("gradients coordinator: queued gradients have " +
                                std::to_string(queue_.front().gradient_sum.size()) +
                                " values, the new parameters " + std::to_string(values.size()));
  if (find_not_finite(std::array{values}) == 0)
    throw std::invalid_argument("gradients coordinator: a parameter is not finite");
  if (parameters_.size() != values.size() || !pool_)
    pool_ = std::make_unique<buffer_pool>(values.size());
  if (options_.layout && options_.layout->size() != values.size())
    throw std::invalid_argument("gradients coordinator: the layout has " +
                                std::to_string(options_.layout->size()) +
                                " values, the parameters " + std::to_string(values.size()));
  changes_ = regularization{options_.optimizer,
                            options_.layout ? penalized_ranges(*options_.layout, options_.frozen)
                                            : std::vector<index_range>{{0, values.size()}},
                            options_.frozen};
  auto copy = pool_->acquire();
  copy_values(values, copy.values().begin());
  parameters_ = copy;
  state_ = optimizer_state{rule_->slot_count(), values.size()};
  update_count_ = 0;
  optimizer_step_ = 0;
}

std::optional<gradient_verdict> gradients_coordinator::problem(std::span<const float> gradient_sum,
                                                               uint64_t sample_count) const {
  if (!parameters_)
    return gradient_verdict::no_parameters;
  if (gradient_sum.size() != parameters_.size())
    return gradient_verdict::wrong_size;
  if (sample_count == 0)
    return gradient_verdict::no_samples;
  if (find_not_finite(std::array{gradient_sum}) == 0)
    return gradient_verdict::not_finite;
  return std::nullopt;
}

gradient_verdict gradients_coordinator::add_gradients(std::span<const float> gradient_sum,
                                                      uint64_t sample_count, double step_scale) {
  if (!(step_scale > 0 && step_scale <= 1))
    throw std::invalid_argument("gradients coordinator: step_scale must be above 0 and at most 1");
  if (const auto refused = problem(gradient_sum, sample_count))
    return *refused;
  auto copy = pool_->acquire();
  copy_values(gradient_sum, copy.values().begin());
  queue_.push_back({std::move(copy), sample_count, step_scale});
  if (!running_ || queue_.size() < options_.round_size)
    return gradient_verdict::queued;
  return drain(options_.round_size).refused_count == 0 ? gradient_verdict::applied
                                                       : gradient_verdict::update_refused;
}

drain_report gradients_coordinator::start() {
  running_ = true;
  return drain(options_.round_size);
}

drain_report gradients_coordinator::stop() {
  const auto report = flush();
  running_ = false;
  return report;
}

drain_report gradients_coordinator::flush() {
  return running_ ? drain(1) : drain_report{};
}

namespace {

/// Of a queued gradient: its samples and its scale.
constexpr size_t numbers_of_queued = 2;

} // namespace

state_shape gradients_coordinator::shape_of(const gradients_coordinator_options& options,
                                            size_t queued_max) {
  return state_shape{make_optimizer(options.optimizer)->slot_count(), 3} +
         queued_max * state_shape{1, numbers_of_queued};
}

void gradients_coordinator::save(state_saver& out, size_t queued_max) const {
  if (queue_.size() > queued_max)
    throw std::logic_error("gradients coordinator: more gradients are queued than can be saved");
  for (size_t i = 0; i < state_.slot_count(); ++i)
    out.copy(std::span<const float>{state_.slot(i)});
  out.count(update_count_);
  out.count(optimizer_step_);
  out.count(queue_.size());
  for (size_t i = 0; i < queued_max; ++i) {
    const bool is_there = i < queue_.size();
    out.copy(is_there ? queue_[i].gradient_sum.values() : std::span<const float>{});
    out.count(is_there ? queue_[i].sample_count : 0);
    out.number(is_there ? queue_[i].step_scale : 0);
  }
}

void gradients_coordinator::load(state_loader& in, size_t queued_max) {
  for (size_t i = 0; i < state_.slot_count(); ++i) {
    const auto saved = in.vector();
    if (saved.size() != state_.slot(i).size())
      throw std::invalid_argument("gradients coordinator: the saved state has another size");
    copy_values(saved.values(), state_.slot(i).begin());
  }
  update_count_ = in.count();
  optimizer_step_ = in.count();
  const auto queued_count = in.count();
  if (queued_count > queued_max)
    throw std::invalid_argument("gradients coordinator: more gradients are saved than may queue");
  queue_.clear();
  for (size_t i = 0; i < queued_max; ++i) {
    const auto values = in.vector();
    const auto sample_count = in.count();
    const auto step_scale = in.number();
    if (i < queued_count &&
        add_gradients(values.values(), sample_count, step_scale) != gradient_verdict::queued)
      throw std::invalid_argument("gradients coordinator: a saved gradient cannot be queued");
  }
}

// Applies whole rounds, and a last one as soon as it has `round_size_min` gradients.
drain_report gradients_coordinator::drain(size_t round_size_min) {
  const auto applied = update_count_, refused = refused_update_count_;
  while (!queue_.empty() && queue_.size() >= round_size_min)
    apply(std::min(queue_.size(), options_.round_size));
  return {update_count_ - applied, refused_update_count_ - refused};
}

void gradients_coordinator::apply(size_t count) {
  const default_rounding rounding;
  std::vector<std::span<const float>> inputs;
  std::vector<tree_node> nodes;
  uint64_t sample_count = 0;
  double scale_sum = 0;
  for (size_t i = 0; i < count; ++i) {
    inputs.push_back(queue_[i].gradient_sum.values());
    nodes.push_back({i, i + 1});
    sample_count += queue_[i].sample_count;
    scale_sum += static_cast<double>(queue_[i].sample_count) * queue_[i].step_scale;
  }
  auto plan = plan_reduction(count, nodes, [](size_t) { return true; });
  auto next = pool_->acquire();
  auto step = rule_->begin_step(optimizer_step_, sample_count, options_.way);
  // Exactly 1 when all scales are. The rate is scaled, not the gradient: Adam would not notice
  // that.
  step.learning_rate *= static_cast<float>(scale_sum / static_cast<double>(sample_count));
  gradient_changes changes{&changes_};
  buffer reduced;
  if (changes_.norm_max() > 0) {
    reduced = pool_->acquire();
    changes.norm_factor = reduce_for_norm(*plan, inputs, step.gradient_factor, reduced.values());
    inputs = {reduced.values()};
    plan = reduction_plan{{0}};
  }
  if (reducer_.reduce_and_update(*plan, inputs, *rule_, step, state_, parameters_.values(),
                                 next.values(), changes)) {
    parameters_ = next;
    ++update_count_;
    ++optimizer_step_;
  } else {
    // The rule may have moved part of its state: it starts anew rather than half moved.
    state_ = optimizer_state{rule_->slot_count(), parameters_.size()};
    optimizer_step_ = 0;
    ++refused_update_count_;
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
}

float gradients_coordinator::reduce_for_norm(const reduction_plan& plan,
                                             std::span<const std::span<const float>> inputs,
                                             float gradient_factor, std::span<float> out) {
  reducer_.reduce(plan, inputs, out);
  tree_accumulator<double> total;
  for (double sum : square_sums_of_blocks(out, gradient_factor))
    total.push(sum);
  return static_cast<float>(changes_.norm_factor(total.total()));
}

} // namespace troupe
