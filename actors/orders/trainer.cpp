#include "troupe/actors/orders/trainer.hpp"

#include "troupe/actors/base/guard.hpp"
#include "troupe/coordinators/step/placement.hpp"
#include "troupe/models/merging/sign_flip.hpp"
#include "troupe/models/training/whole_model_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace troupe {

trainer_actor::behavior_type trainer_state::make_behavior(const trainer_options& options) {
  options_ = options;
  return {
    [this](atom::status) { return status_; },
    [this](const trainer_order& order) { on_order(order); },
    [this](const evaluation_order& order) { on_evaluation(order); },
  };
}

void trainer_state::on_order(const trainer_order& order) {
  const auto begin = self_->clock().now();
  auto result = compute(order);
  status_.sample_count += result.sums.sample_count;
  status_.steps_executed += order.step_count;
  status_.version = order.first_step + order.step_count;
  result.computed = self_->clock().now() - begin;
  answer(order, std::move(result));
}

trainer_result trainer_state::compute(const trainer_order& order) {
  trainer_result result;
  result.trainer = order.trainer;
  result.ticket = order.ticket;
  result.member = order.member;
  result.first_step = order.first_step;
  if (order.task == trainer_task::local_steps) {
    take_local_steps(order, result);
    return result;
  }
  const auto gradient = options_.pool->acquire();
  result.sums =
    gradient_of(order.first_step, order.member, order.parameters.values(), gradient.values());
  result.values = gradient;
  return result;
}

batch_sums trainer_state::gradient_of(uint64_t step, size_t slice,
                                      std::span<const float> parameters, std::span<float> out) {
  const piece_of_work piece{options_.gauge.get(), self_->clock(), true};
  const auto positions = options_.plan.rows_of_slice(step, slice);
  const auto order = options_.order->of(options_.plan.epoch_of(step));
  auto rows = order ? reader_.gather(options_.data->train,
                                     std::span{*order}.subspan(positions.begin, positions.size()))
                    : batch_of_rows(options_.data->train, positions.begin, positions.size());
  rows.seed = options_.seed;
  rows.step = step;
  return options_.network->gradient(parameters, rows, out, memory_);
}

void trainer_state::take_local_steps(const trainer_order& order, trainer_result& result) {
  const auto gradient = options_.pool->acquire();
  auto here = options_.pool->acquire();
  auto there = options_.pool->acquire();
  std::ranges::copy(order.parameters.values(), here.values().begin());
  // A copy: were this trainer lost half way, another would go on from the keeper's.
  result.state = order.state.copy();
  for (auto step = order.first_step; step < order.first_step + order.step_count; ++step) {
    if (!options_.plan.slice_exists(step, order.member))
      continue;
    const auto sums = gradient_of(step, order.member, here.values(), gradient.values());
    result.sums = result.sums + sums;
    result.finite =
      take_step(step, sums, gradient.values(), result.state, here.values(), there.values());
    if (!result.finite)
      break;
    std::swap(here, there);
  }
  if (order.member >= options_.first_flipped_member)
    flip_update(order.parameters.values(), options_.flip_factor, here.values());
  result.values = here;
}

bool trainer_state::take_step(uint64_t step, const batch_sums& sums,
                              std::span<const float> gradient, const optimizer_state& state,
                              std::span<const float> at, std::span<float> next) {
  if (!std::isfinite(sums.loss_sum))
    return false;
  float factor = 1;
  if (options_.changes.norm_max() > 0) {
    const auto squares = square_sums_of_blocks(gradient, mean_factor(sums.sample_count));
    const auto whole = std::accumulate(squares.begin(), squares.end(), 0.0);
    if (!std::isfinite(whole))
      return false;
    factor = static_cast<float>(options_.changes.norm_factor(whole));
  }
  const std::array<std::span<const float>, 1> inputs{gradient};
  return reducer_.reduce_and_update(
    {{0}}, inputs, *options_.rule,
    options_.rule->begin_step(step, sums.sample_count, direction::descent), state, at, next,
    {&options_.changes, 0, factor});
}

void trainer_state::answer(const trainer_order& order, trainer_result result) {
  const auto& delay_of = options_.hooks.answer_delay;
  if (!delay_of)
    return self_->send(order.keeper, std::move(result));
  const auto delay = delay_of(order.trainer, order.first_step);
  result.computed += delay;
  self_->delayed_send(order.keeper, delay, std::move(result));
}

void trainer_state::on_evaluation(const evaluation_order& order) {
  const auto test_chunks = evaluation_chunk_count(options_.data->test.row_count);
  evaluation result{order.term, order.version, order.chunks.begin, {}};
  for (auto chunk = order.chunks.begin; chunk < order.chunks.end; ++chunk) {
    const piece_of_work piece{options_.gauge.get(), self_->clock(), false};
    const bool is_test = chunk < test_chunks;
    const auto& source = is_test ? options_.data->test : options_.data->validation;
    const auto rows = evaluation_chunk(source.row_count, is_test ? chunk : chunk - test_chunks);
    result.chunks.push_back(options_.network->evaluate(
      order.parameters.values(), batch_of_rows(source, rows.begin, rows.size()), memory_));
  }
  self_->send(order.director, std::move(result));
}

trainer_actor::behavior_type trainer(self_pointer<trainer_actor, trainer_state> self,
                                     const trainer_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
