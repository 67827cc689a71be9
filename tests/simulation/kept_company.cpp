#include "tests/simulation/kept_company.hpp"

#include "actors/protocol/write_messages.hpp"
#include "coordinators/job/training_modes.hpp"
#include "tests/simulation/listener.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <stdexcept>

namespace troupe::simulation {

kept_company::kept_company(world& here, const cluster_job& what, const kept_options& options)
  : world_(here), home_(here.add_machine("home")) {
  company_options for_company;
  for_company.director_detached = false;
  for_company.shard_count = 1;
  for_company.hooks.answer_delay = options.takes;
  for_company.hooks.on_trainer = options.on_trainer;
  for_company.hooks.clients_of_order = options.clients_of_order;
  world_.act_on(home_, [&] {
    company_ = std::make_unique<company>(world_.system(), what.resolved, what.data, for_company);
  });
  for (const auto& actor : company_->replicas())
    trainers_.push_back({actor});
  for (size_t i = 0; i < options.step_times.size(); ++i) {
    const auto machine = world_.add_machine("replica " + std::to_string(i));
    world_.move(caf::actor_cast<caf::strong_actor_ptr>(company_->replicas().at(i)), machine);
    world_.slow_down(machine, options.step_times[i]);
  }
  if (options.extra_count > 0) {
    process_options for_extras;
    for_extras.self = {"extras", 1, options.extra_count, 1};
    for_extras.wired = false;
    for_extras.hooks = for_company.hooks;
    world_.act_on(home_, [&] {
      extras_ = std::make_unique<process>(world_.system(), what.resolved, what.data, for_extras);
      caf::anon_send_exit(extras_->node(), caf::exit_reason::kill);
      caf::anon_send_exit(extras_->actors().server, caf::exit_reason::kill);
    });
    for (const auto& actor : extras_->actors().workers)
      trainers_.push_back({actor, true, false});
  }
  observer_ = make_listener(world_.system(), [this](const caf::message& content) {
    if (content.match_elements<training_finished>())
      finished_ = content.get_as<training_finished>(0);
  });
  caf::anon_send(company_->director(), atom::watch_v, caf::actor_cast<observer_actor>(observer_));
  caf::anon_send(company_->director(), atom::begin_v);
}

kept_company::~kept_company() {
  extras_.reset();
  company_.reset();
}

void kept_company::kill(size_t trainer) {
  trainers_[trainer].lives = false;
  caf::anon_send_exit(trainers_[trainer].actor, caf::exit_reason::kill);
}

void kept_company::name(size_t trainer, bool named) {
  trainers_[trainer].named = named;
  view news;
  news.term = 1;
  news.number = ++view_number_;
  news.director = caf::actor_cast<reports_actor>(company_->node());
  news.relay = caf::actor_cast<relay_actor>(company_->node());
  for (const auto& x : trainers_)
    if (x.named)
      news.trainers.push_back({caf::actor_cast<order_taker_actor>(x.actor)});
  caf::anon_send(company_->server(), news);
}

void kept_company::stop() {
  caf::anon_send(company_->director(), atom::stop_v);
}

template <class Answer, class Handle, class... Question>
Answer kept_company::ask(const Handle& whom, const Question&... question) {
  Answer result;
  caf::scoped_actor self{world_.system()};
  auto answer = self->request(whom, std::chrono::minutes{60}, question...);
  world_.drain();
  answer.receive([&](const Answer& x) { result = x; }, [](const caf::error&) {});
  return result;
}

std::vector<float> kept_company::pull_parameters() {
  const auto result = ask<trained_model>(company_->director(), atom::pull_v);
  const auto values = result.parameters.values();
  return {values.begin(), values.end()};
}

trainer_figures kept_company::figures() {
  return ask<trainer_figures>(company_->server(), atom::figures_v);
}

namespace {

/// Rows that a replica computes before others hear of it.
size_t rows_at_a_time(const job& resolved) {
  const auto& training = resolved.training;
  if (!has_server(training))
    return training.batch_size / *training.replicas;
  if (training.strategy == strategy_kind::parameters)
    return training.batch_size / *training.members * *training.local_steps;
  return training.batch_size;
}

kept_options options_of(const job& resolved, const std::vector<duration>& row_times) {
  std::vector<duration> times;
  for (const auto each : row_times)
    times.push_back(each * rows_at_a_time(resolved));
  kept_options options;
  if (has_server(resolved.training))
    options.takes = [times](uint64_t place, uint64_t) { return times.at(place); };
  else
    options.step_times = times;
  return options;
}

} // namespace

timed_run train_timed(caf::actor_system& system, const job& x,
                      const std::vector<duration>& row_times) {
  const auto prepared = prepare(x);
  world here{system, 1};
  kept_company run{here, prepared, options_of(prepared.resolved, row_times)};
  here.run([&] { return run.finished().has_value(); }, here.now() + std::chrono::hours{1});
  if (!run.finished() || run.finished()->failed)
    throw std::runtime_error("training does not end well");
  return {*run.finished(),
          has_server(prepared.resolved.training) ? run.figures() : trainer_figures{}};
}

} // namespace troupe::simulation
