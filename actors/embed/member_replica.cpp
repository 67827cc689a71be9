#include "actors/embed/member_replica.hpp"

#include "data/text/checksum.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

constexpr milliseconds first_delay{100}, longest_delay{2'000};

/// Nobody would notice a replica of which no update counts.
constexpr uint64_t refusals_max = 5;

void require(bool holds, const char* what) {
  if (!holds)
    throw std::invalid_argument(std::string{"replica: "} + what);
}

} // namespace

member_replica_actor::behavior_type
member_replica_state::make_behavior(const replica_of_rows& options) {
  options_ = options;
  require(options.coordinator && options.network && options.rows,
          "it needs a coordinator, a network and rows");
  const auto row_count = options.rows->row_count();
  require(row_count > 0, "it has no rows");
  require(options.local_steps > 0, "local_steps must be at least 1");
  if (options_.batch_size == 0)
    options_.batch_size = row_count;
  options_.batch_size = std::min(options_.batch_size, row_count);
  order_.emplace(options.seed ^ short_checksum_of(std::as_bytes(std::span{options.name})),
                 row_count, options_.batch_size < row_count);
  self_->monitor(options.coordinator);
  self_->set_down_handler([this](const caf::down_msg& news) { self_->quit(news.reason); });
  self_->send(self_, atom::tick_v);
  return {[this](atom::tick) { on_tick(); }};
}

// Others could make it ask several questions at a time.
void member_replica_state::on_tick() {
  if (self_->current_sender() == caf::actor_cast<caf::strong_actor_ptr>(self_))
    go_on();
}

void member_replica_state::go_on() {
  const auto& main = options_.coordinator;
  const auto unanswered = [this](const caf::error& why) {
    if (why == protocol_error::refused)
      self_->quit(why);
    else
      ask_again_later();
  };
  if (!place_)
    self_
      ->request(main, options_.timeout, atom::join_v, options_.name,
                caf::actor_cast<caf::actor>(self_))
      .then(
        [this](const membership& place) {
          if (place.parameter_count != options_.network->layout().size())
            throw failure(failure_code::bad_job,
                          "the main model has " + std::to_string(place.parameter_count) +
                            " parameters, this replica's " +
                            std::to_string(options_.network->layout().size()),
                          options_.name, "give all the same network");
          place_ = place;
          go_on();
        },
        unanswered);
  else
    self_->request(main, options_.timeout, atom::pull_v, *place_)
      .then([this](const member_work& work) { on_work(work); }, unanswered);
}

void member_replica_state::ask_again_later() {
  delay_ = std::clamp(2 * delay_, first_delay, longest_delay);
  self_->delayed_send(self_, delay_, atom::tick_v);
}

void member_replica_state::on_work(const member_work& work) {
  switch (work.verdict) {
  case work_verdict::over:
    return self_->quit();
  case work_verdict::join_again:
    place_.reset();
    return ask_again_later();
  case work_verdict::wait:
    return self_->send(self_, atom::tick_v);
  case work_verdict::go:
    if (!work.parameters.intact() || work.parameters.size() != place_->parameter_count)
      return ask_again_later(); // it gets the same work again
    delay_ = {};
    return send(update_of(work));
  }
}

// The next question goes right behind the update: whoever does not answer the one does not answer the other.
void member_replica_state::send(const member_update& update) {
  self_->request(options_.coordinator, options_.timeout, update)
    .then([this](const update_report& report) { on_report(report); }, [](const caf::error&) {});
  go_on();
}

void member_replica_state::on_report(const update_report& report) {
  refused_in_row_ = report.verdict == member_verdict::refused ? refused_in_row_ + 1 : 0;
  if (refused_in_row_ == refusals_max)
    throw failure(failure_code::bad_data,
                  "the coordinator refused " + std::to_string(refusals_max) +
                    " updates in a row: " + report.reason,
                  options_.name,
                  "look for values in its rows that are not finite, or far from others'");
}

batch member_replica_state::next_batch() {
  const auto rows = options_.rows->row_count();
  const auto steps = (rows + options_.batch_size - 1) / options_.batch_size;
  const auto begin = static_cast<size_t>(step_ % steps) * options_.batch_size;
  const auto count = std::min(options_.batch_size, rows - begin);
  const auto order = order_->of(step_ / steps);
  auto result = order ? options_.rows->gather(std::span{*order}.subspan(begin, count), reader_)
                      : options_.rows->range(begin, count, reader_);
  result.seed = options_.seed; // of dropout
  result.step = step_++;
  return result;
}

member_update member_replica_state::update_of(const member_work& work) {
  const auto& network = *options_.network;
  const buffer values{work.parameters.size()};
  member_update result{*place_, work.ticket, {}, 0};
  if (place_->sends_gradients) {
    result.sample_count =
      network.gradient(work.parameters.values(), next_batch(), values.values(), memory_)
        .sample_count;
    result.values = payload{values, 0, values.size()};
    return result;
  }
  gradients_coordinator trained{
    {.optimizer = options_.optimizer, .layout = network.layout(), .frozen = network.frozen()}};
  trained.set_parameters(work.parameters.values());
  trained.start();
  for (size_t i = 0; i < options_.local_steps; ++i) {
    const auto sums =
      network.gradient(trained.parameters().values(), next_batch(), values.values(), memory_);
    const auto verdict = trained.add_gradients(values.values(), sums.sample_count);
    if (verdict != gradient_verdict::applied)
      throw failure(failure_code::bad_data, name_of(verdict), options_.name,
                    "look for values in its rows that are not finite, or lower the learning rate");
    result.sample_count += sums.sample_count;
  }
  const auto model = trained.parameters();
  result.values = payload{model, 0, model.size()};
  return result;
}

member_replica_actor::behavior_type
replicate(self_pointer<member_replica_actor, member_replica_state> self,
          const replica_of_rows& options) {
  guard(self);
  return self->state.make_behavior(options);
}

replica_of_rows replica_of_job(const job& resolved, const coordinator_actor& main,
                               const std::string& name, std::shared_ptr<const model> network,
                               std::shared_ptr<const row_source> rows) {
  replica_of_rows result;
  result.coordinator = main;
  result.name = name;
  result.network = std::move(network);
  result.rows = std::move(rows);
  result.batch_size = resolved.training.batch_size;
  result.seed = resolved.seed;
  result.local_steps = resolved.training.local_steps.value_or(1);
  result.optimizer = resolved.optimizer;
  return result;
}

} // namespace troupe
