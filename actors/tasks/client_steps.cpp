#include "actors/tasks/client_steps.hpp"

#include "data/text/checksum.hpp"
#include "models/base/random.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Keeps the step numbers of different rounds apart: they are the key of dropout.
constexpr uint64_t steps_apart = uint64_t{1} << 32;

} // namespace

client_steps::client_steps(const client_steps_options& options)
  : options_(options),
    training_(options.training),
    state_(options.training.rule->slot_count(), options.training.network->layout().size()) {}

void client_steps::begin(uint64_t round, std::span<const float> start,
                         const local_training_memory& memory) {
  round_ = round;
  const auto words = random_sequence{options_.seed, random_purpose::client_shuffle, round}.block(0);
  shuffle_seed_ = uint64_t{words[1]} << 32 | words[0];
  training_.begin(start, memory);
}

bool client_steps::train(std::span<const uint32_t> rows, uint32_t key,
                         const std::function<bool()>& stop_requested) {
  training_.begin_again();
  for (size_t i = 0; i < state_.slot_count(); ++i)
    std::ranges::fill(state_.slot(i), 0.0f);
  const auto& schedule = options_.schedule;
  const auto visit_steps = schedule.steps_of_visit(rows.size());
  const auto step_count = schedule.steps_of(rows.size());
  auto order = rows;
  for (uint64_t step = 0; step < step_count; ++step) {
    if (stop_requested && stop_requested())
      return false;
    if (visit_steps > 1 && step % visit_steps == 0)
      order = order_of(key, rows, step / visit_steps);
    const auto part = schedule.rows_of_step(rows.size(), step);
    auto batch = options_.rows->gather(order.subspan(part.begin, part.size()), reader_);
    batch.seed = options_.seed;
    batch.step = round_ * steps_apart + step;
    if (!training_.step(batch, {step, round_}, state_))
      return false;
  }
  return true;
}

std::span<const uint32_t> client_steps::order_of(uint32_t key, std::span<const uint32_t> rows,
                                                 uint64_t visit) {
  const random_sequence sequence{shuffle_seed_, random_purpose::client_shuffle,
                                 uint64_t{key} << 32 | (visit & 0xffffffff)};
  const auto places = random_permutation(sequence, static_cast<uint32_t>(rows.size()));
  order_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    order_[i] = rows[places[i]];
  return order_;
}

uint64_t client_key_of(const std::string& name) {
  return short_checksum_of(std::as_bytes(std::span{name}));
}

} // namespace troupe
