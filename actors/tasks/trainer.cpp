#include "actors/tasks/trainer.hpp"

#include "data/text/checksum.hpp"
#include "models/math/lanes.hpp"
#include "models/merging/robust.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace troupe {

trainer_actor::behavior_type trainer_state::make_behavior(const trainer_options& options) {
  options_ = options;
  training_.emplace(options.training);
  if (options.clients)
    clients_.emplace(
      client_work_options{options.clients, options.rows->train(), options.training, options.pool});
  return {
    [this](atom::status) { return status_; },
    [this](const trainer_task& task) { on_task(task); },
    [this](const evaluation_task& task) { on_evaluation(task); },
  };
}

void trainer_state::on_task(const trainer_task& task) {
  if (task.kind == task_kind::clients && options_.clients->gathers())
    return gather(task);
  const auto begin = self_->clock().now();
  auto result = compute(task);
  status_.sample_count += result.sums.sample_count;
  status_.steps_executed += task.step_count;
  status_.version = task.first_step + task.step_count;
  result.computed = self_->clock().now() - begin;
  answer(task, std::move(result));
}

trainer_result trainer_state::compute(const trainer_task& task) {
  trainer_result result;
  result.trainer = task.trainer;
  result.ticket = task.ticket;
  result.member = task.member;
  result.first_step = task.first_step;
  switch (task.kind) {
  case task_kind::gradient: {
    const work_name what{trace_kind::slice, task.first_step, task.member};
    const piece_of_work piece{options_.gauge.get(), self_->clock(), what, true};
    const traced_work work{options_.trace.get(), trace_kind::slice, task.first_step, task.member};
    const auto gradient = options_.pool->acquire();
    result.sums = options_.training.network->gradient(
      task.parameters.values(), rows_of(task.first_step, task.member), gradient.values(), memory_);
    in_hand_.reset();
    result.finite = all_finite(gradient.values().data(), gradient.size());
    result.values = gradient;
    break;
  }
  case task_kind::local_steps:
    take_local_steps(task, result);
    break;
  case task_kind::clients:
    train_clients(task, result);
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

void trainer_state::take_local_steps(const trainer_task& task, trainer_result& result) {
  auto& pool = *options_.pool;
  training_->begin(task.parameters.values(), {pool.acquire(), pool.acquire(), pool.acquire()});
  // A copy: if this trainer is lost half way, another begins from the parameter server's state.
  result.state = task.state.copy();
  for (auto step = task.first_step; step < task.first_step + task.step_count; ++step) {
    if (!options_.plan.slice_exists(step, task.member))
      continue;
    const work_name what{trace_kind::slice, step, task.member};
    const piece_of_work piece{options_.gauge.get(), self_->clock(), what, true};
    const traced_work work{options_.trace.get(), trace_kind::slice, step, task.member};
    result.finite = training_->step(rows_of(step, task.member), {step, step}, result.state);
    in_hand_.reset();
    if (!result.finite)
      break;
  }
  result.sums = training_->sums();
  const auto values = training_->parameters();
  if (task.member >= options_.first_flipped_member && result.finite) {
    flip_update(task.parameters.values(), options_.flip_factor, values.values());
    result.finite = all_finite(values.values().data(), values.size());
  }
  result.values = values;
  training_->let_go();
}

void trainer_state::train_clients(const trainer_task& task, trainer_result& result) {
  clients_->begin(task.first_step, task.attempt, task.positions, task.parameters);
  for (bool is_more = true; is_more;) {
    const work_name what{trace_kind::clients, task.first_step, task.member};
    const piece_of_work piece{options_.gauge.get(), self_->clock(), what, true};
    const traced_work work{options_.trace.get(), trace_kind::clients, task.first_step, task.member};
    is_more = clients_->advance();
  }
  auto done = clients_->take();
  result.sums = done.sums;
  result.values = std::move(done.low);
  result.state = optimizer_state{std::vector<buffer>{std::move(done.high)}};
  result.clients = std::move(done.figures);
  status_.steps_executed += done.step_count - task.step_count; // the caller adds the task's own
}

void trainer_state::gather(const trainer_task& task) const {
  trainer_result result;
  result.trainer = task.trainer;
  result.ticket = task.ticket;
  result.member = task.member;
  result.first_step = task.first_step;
  const auto answer = [result, server = task.server,
                       pool = options_.pool](const gathered_round& all) mutable {
    const auto group = result.member;
    const buffer low = pool->acquire(), high = pool->acquire();
    if (group < all.groups.size()) {
      split_words(all.groups[group].words(), low.values(), high.values());
      result.sums.correct_count = all.correct_counts[group];
      const auto mine = group_positions(*all.who, all.groups.size(), group);
      result.clients.assign(all.figures.begin() + static_cast<ptrdiff_t>(mine.begin),
                            all.figures.begin() + static_cast<ptrdiff_t>(mine.end));
    } else {
      std::ranges::fill(low.values(), 0.0f);
      std::ranges::fill(high.values(), 0.0f);
    }
    result.values = low;
    result.state = optimizer_state{std::vector<buffer>{high}};
    caf::anon_send(server, std::move(result));
  };
  options_.clients->gather(task.first_step, task.attempt, task.parameters, answer);
}

void trainer_state::answer(const trainer_task& task, trainer_result result) {
  const traced_work work{options_.trace.get(), trace_kind::send, task.first_step, 0,
                         trace_flow{flow_content::result, {task.ticket, task.first_step}}};
  const auto& delay_of = options_.hooks.answer_delay;
  if (!delay_of)
    return self_->send(task.server, std::move(result));
  const auto delay = delay_of(task.trainer, task.first_step);
  result.computed += delay;
  self_->delayed_send(task.server, delay, std::move(result));
}

void trainer_state::on_evaluation(const evaluation_task& task) {
  evaluation result{task.term, task.version, task.chunks.begin, {}};
  for (auto chunk = task.chunks.begin; chunk < task.chunks.end; ++chunk) {
    const work_name what{trace_kind::evaluate, task.version, chunk};
    const piece_of_work piece{options_.gauge.get(), self_->clock(), what, false};
    const traced_work work{options_.trace.get(), trace_kind::evaluate, task.version, chunk};
    add_chunk(result, *options_.training.network, options_.rows->metrics(),
              task.model.values.values(), options_.rows->of_chunk(chunk, reader_), memory_);
  }
  self_->send(task.director, std::move(result));
}

trainer_actor::behavior_type trainer(self_pointer<trainer_actor, trainer_state> self,
                                     const trainer_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

namespace {

/// Clients, and values of theirs, that `advance` trains in one call: some 0.1 ms. The work watch
/// sees pieces of that length.
constexpr size_t clients_at_once = 64;
constexpr uint64_t values_at_once = 1'000'000;

/// Clients and their rows lie scattered in memory, so `ask_ahead` prefetches for clients this many
/// places ahead. One place is too late; four exceed the loads that a core keeps outstanding.
constexpr size_t places_ahead = 2;

} // namespace

client_work::client_work(const client_work_options& options)
  : options_(options),
    steps_({options.rows, options.training, options.clients->options().cohort.schedule,
            options.clients->options().cohort.seed}),
    sum_(options.clients->bounds(), options.training.network->layout().size()) {}

void client_work::begin(uint64_t round, uint64_t attempt, const index_range& positions,
                        const const_buffer& parameters) {
  cohort_ = options_.clients->cohort_at(round, attempt);
  if (positions.end > cohort_->counted.size())
    throw std::invalid_argument("client work: the cohort has no such positions");
  positions_ = positions;
  parameters_ = parameters;
  memory_ = {options_.pool->acquire(), options_.pool->acquire(), options_.pool->acquire()};
  steps_.begin(round, parameters_.values(), memory_);
  sum_.clear();
  done_ = {};
  done_.figures.reserve(positions.size());
}

bool client_work::advance() {
  uint64_t values = 0;
  for (size_t i = 0; i < clients_at_once && values < values_at_once && !positions_.empty(); ++i) {
    const auto client = cohort_->counted[positions_.begin];
    ++positions_.begin;
    ask_ahead();
    train(positions_.begin - 1);
    values += (options_.clients->rows().row_count(client) + 1) * parameters_.size();
  }
  return !positions_.empty();
}

// A client's rows need three dependent loads, one for each stage: the offset of their numbers, the
// numbers, the rows.
void client_work::ask_ahead() const {
  const auto& clients = options_.clients->rows();
  const auto& counted = cohort_->counted;
  const auto at_stage = [&](size_t stage) -> const uint32_t* {
    const auto place = positions_.begin + stage * places_ahead - 1;
    return place < positions_.end ? &counted[place] : nullptr;
  };
  if (const auto* client = at_stage(3))
    __builtin_prefetch(&clients.offsets[*client]);
  if (const auto* client = at_stage(2))
    __builtin_prefetch(&clients.rows[clients.offsets[*client]]);
  if (const auto* client = at_stage(1))
    options_.rows->expect(clients.of(*client));
}

// What a recorded client handed in says whether it is computed again.
void client_work::train(size_t position) {
  const auto client = cohort_->counted[position];
  const auto* recorded = cohort_->named.empty() ? nullptr : &cohort_->named[position];
  const auto& federated = options_.clients->options();
  const auto rows = options_.clients->rows().of(client);
  const auto start = parameters_.values();
  const auto key = recorded ? static_cast<uint32_t>(client_key_of(recorded->name)) : client;
  const bool is_finite = steps_.train(rows, key);
  const auto values = steps_.parameters().values();
  if (client >= federated.first_flipped)
    flip_update(start, federated.flip_factor, values);
  if (federated.privacy)
    return add_clipped(start, values);
  const auto size = measure_update(start, values);
  const bool differs = recorded && (rows.size() != recorded->rows ||
                                    sha256_hex(std::as_bytes(values)) != recorded->update);
  const auto verdict = differs     ? update_verdict::not_as_recorded
                       : is_finite ? sum_.add(start, values, federated.weight_of(rows.size()), size)
                                   : update_verdict::not_finite;
  const auto& sums = steps_.sums();
  done_.figures.push_back(
    {static_cast<float>(sums.loss_sum / static_cast<double>(sums.sample_count)),
     static_cast<float>(size.norm), verdict});
  done_.step_count += federated.cohort.schedule.steps_of(rows.size());
  if (verdict != update_verdict::counted)
    return;
  done_.sums.sample_count += sums.sample_count;
  done_.sums.correct_count += sums.correct_count;
}

// An update that is not finite has no norm to clip by: the sum refuses it.
void client_work::add_clipped(std::span<const float> start, std::span<const float> values) {
  const auto& rule = *options_.clients->options().privacy;
  const auto size = measure_update(start, values);
  sum_.add(start, values, 1, size, clip_factor(size.norm, rule.clip_norm));
  done_.figures.emplace_back();
}

client_work::done client_work::take() {
  steps_.let_go();
  done_.low = std::exchange(memory_.there, {});
  done_.high = std::exchange(memory_.gradient, {});
  split_words(sum_.words(), done_.low.values(), done_.high.values());
  memory_ = {};
  return std::move(done_);
}

} // namespace troupe
