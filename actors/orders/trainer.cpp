#include "actors/orders/trainer.hpp"

#include "actors/base/guard.hpp"
#include "actors/base/job_rows.hpp"
#include "models/merging/robust.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {

trainer_actor::behavior_type trainer_state::make_behavior(const trainer_options& options) {
  options_ = options;
  training_.emplace(options.training);
  if (options.clients)
    clients_.emplace(
      client_work_options{options.clients, options.rows->train(), options.training, options.pool});
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
  switch (order.task) {
  case trainer_task::gradient: {
    const work_name what{trace_kind::slice, order.first_step, order.member};
    const piece_of_work piece{options_.gauge.get(), self_->clock(), what, true};
    const traced_work work{options_.trace.get(), trace_kind::slice, order.first_step, order.member};
    const auto gradient = options_.pool->acquire();
    result.sums = options_.training.network->gradient(order.parameters.values(),
                                                      rows_of(order.first_step, order.member),
                                                      gradient.values(), memory_);
    in_hand_.reset();
    result.values = gradient;
    break;
  }
  case trainer_task::local_steps:
    take_local_steps(order, result);
    break;
  case trainer_task::clients:
    train_clients(order, result);
    break;
  }
  return result;
}

batch trainer_state::rows_of(uint64_t step, size_t slice) {
  in_hand_ = {step, slice};
  if (options_.hooks.crashing_row)
    crash_if_asked(options_.hooks, options_.names.rows_of(step, slice));
  return options_.rows->of_slice(step, slice, reader_);
}

std::string trainer_state::work_in_hand() const {
  if (!in_hand_ || !options_.names.rows)
    return {};
  const auto [step, slice] = *in_hand_;
  return "step " + std::to_string(step) + ", slice " + std::to_string(slice) + ": " +
         options_.names.words(step, std::array{slice});
}

void trainer_state::take_local_steps(const trainer_order& order, trainer_result& result) {
  auto& pool = *options_.pool;
  training_->begin(order.parameters.values(), {pool.acquire(), pool.acquire(), pool.acquire()});
  // A copy: were this trainer lost half way, another would go on from the parameter server's.
  result.state = order.state.copy();
  for (auto step = order.first_step; step < order.first_step + order.step_count; ++step) {
    if (!options_.plan.slice_exists(step, order.member))
      continue;
    const work_name what{trace_kind::slice, step, order.member};
    const piece_of_work piece{options_.gauge.get(), self_->clock(), what, true};
    const traced_work work{options_.trace.get(), trace_kind::slice, step, order.member};
    result.finite = training_->step(rows_of(step, order.member), {step, step}, result.state);
    in_hand_.reset();
    if (!result.finite)
      break;
  }
  result.sums = training_->sums();
  const auto values = training_->parameters();
  if (order.member >= options_.first_flipped_member)
    flip_update(order.parameters.values(), options_.flip_factor, values.values());
  result.values = values;
  training_->let_go();
}

void trainer_state::train_clients(const trainer_order& order, trainer_result& result) {
  clients_->begin(order.first_step, order.attempt, order.positions, order.parameters);
  for (bool is_more = true; is_more;) {
    const work_name what{trace_kind::clients, order.first_step, order.member};
    const piece_of_work piece{options_.gauge.get(), self_->clock(), what, true};
    const traced_work work{options_.trace.get(), trace_kind::clients, order.first_step,
                           order.member};
    is_more = clients_->advance();
  }
  auto done = clients_->take();
  result.sums = done.sums;
  result.values = std::move(done.low);
  result.state = optimizer_state{std::vector<buffer>{std::move(done.high)}};
  result.clients = std::move(done.figures);
  status_.steps_executed += done.step_count - order.step_count; // the order's are added as always
}

void trainer_state::answer(const trainer_order& order, trainer_result result) {
  const traced_work work{options_.trace.get(), trace_kind::send, order.first_step, 0,
                         trace_flow{flow_content::result, {order.ticket, order.first_step}}};
  const auto& delay_of = options_.hooks.answer_delay;
  if (!delay_of)
    return self_->send(order.server, std::move(result));
  const auto delay = delay_of(order.trainer, order.first_step);
  result.computed += delay;
  self_->delayed_send(order.server, delay, std::move(result));
}

void trainer_state::on_evaluation(const evaluation_order& order) {
  evaluation result{order.term, order.version, order.chunks.begin, {}};
  for (auto chunk = order.chunks.begin; chunk < order.chunks.end; ++chunk) {
    const work_name what{trace_kind::evaluate, order.version, chunk};
    const piece_of_work piece{options_.gauge.get(), self_->clock(), what, false};
    const traced_work work{options_.trace.get(), trace_kind::evaluate, order.version, chunk};
    add_chunk(result, *options_.training.network, options_.rows->metrics(),
              order.parameters.values(), options_.rows->of_chunk(chunk, reader_), memory_);
  }
  self_->send(order.director, std::move(result));
}

trainer_actor::behavior_type trainer(self_pointer<trainer_actor, trainer_state> self,
                                     const trainer_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
