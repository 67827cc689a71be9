// The coordinators behind their messages, one message at a time: what comes twice, late, damaged,
// or never.

#include "actors/embed/coordinate_gradients.hpp"
#include "actors/embed/coordinate_parameters.hpp"
#include "actors/embed/online.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::coordinators_test {
namespace {

payload payload_of(const std::vector<float>& values) {
  const buffer storage{values.size()};
  std::ranges::copy(values, storage.values().begin());
  return {storage, 0, values.size()};
}

const_buffer zeros(size_t size) {
  return buffer{size};
}

model_listener_actor::behavior_type keep_models(model_listener_actor::pointer,
                                                std::vector<parameter_span>* models) {
  return {[models](const parameter_span& news) { models->push_back(news); }};
}

/// Messages are delivered when asked for, and time moves when told to.
class coordinators : public testing::Test, public test::testing_system {
protected:
  coordinators() : self_(std::make_unique<caf::scoped_actor>(*system_)) {}

  ~coordinators() override {
    for (const auto& handle : started_)
      caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    run();
  }

  void pass(milliseconds time) {
    scheduler_->advance_time(time);
    run();
  }

  template <class Handle>
  Handle kept(Handle handle) {
    started_.push_back(caf::actor_cast<caf::actor>(handle));
    run();
    return handle;
  }

  parameters_coordinator_actor merging(const parameters_coordinator_options& rule) {
    return kept(
      system_->spawn(coordinate_parameters, coordinate_parameters_options{rule, zeros(2)}));
  }

  gradients_coordinator_actor moving(const staleness_options& consistency, size_t trainers = 2) {
    coordinate_gradients_options options;
    options.initial = zeros(1);
    options.rule.gradients.optimizer.learning_rate = 1;
    options.rule.consistency = consistency;
    options.rule.trainer_count = trainers;
    return kept(system_->spawn(coordinate_gradients, options));
  }

  model_listener_actor listener() { return kept(system_->spawn(keep_models, &models_)); }

  /// Sends a request and delivers all messages; nothing when it is not answered yet.
  template <class Answer, class Handle, class... Arguments>
  std::optional<Answer> ask(const Handle& whom, const Arguments&... arguments) {
    auto handle = (*self_)->request(whom, std::chrono::minutes{60}, arguments...);
    run();
    std::optional<Answer> result;
    if (!(*self_)->has_next_message())
      return result;
    handle.receive([&](const Answer& answer) { result = answer; },
                   [](const caf::error&) { ADD_FAILURE() << "an error for an answer"; });
    return result;
  }

  merge_report hand_in(const parameters_coordinator_actor& main, const child_model& model) {
    return ask<merge_report>(main, model).value();
  }

  std::vector<float> main_model(const auto& main) {
    const auto values = ask<parameter_span>(main, atom::pull_v)->values.values();
    return {values.begin(), values.end()};
  }

  std::vector<parameter_span> models_; ///< what listeners were sent
  std::unique_ptr<caf::scoped_actor> self_;
  std::vector<caf::actor> started_;
};

staleness_options bounded(size_t staleness) {
  staleness_options options;
  options.mode = consistency_kind::bounded;
  options.staleness_max = staleness;
  return options;
}

TEST_F(coordinators, models_are_merged_at_the_threshold) {
  const auto main = merging({.threshold = 2});
  EXPECT_EQ(hand_in(main, {1, 1, payload_of({1, 2}), 10}).verdict, parameters_verdict::waits);
  EXPECT_EQ(main_model(main), (std::vector<float>{0, 0}));
  const auto last = hand_in(main, {2, 1, payload_of({3, 6}), 10});
  EXPECT_EQ(last, (merge_report{2, 1, parameters_verdict::merged, "", 1, 2}));
  EXPECT_EQ(main_model(main), (std::vector<float>{2, 4}));
}

TEST_F(coordinators, a_model_that_comes_twice_is_counted_once_and_answered_alike) {
  const auto main = merging({.threshold = 2});
  const child_model first{1, 1, payload_of({1, 2}), 10};
  const auto answer = hand_in(main, first);
  EXPECT_EQ(hand_in(main, first), answer);
  EXPECT_EQ(main_model(main), (std::vector<float>{0, 0}));
  EXPECT_EQ(hand_in(main, {1, 2, payload_of({3, 4}), 10}).verdict, parameters_verdict::merged);
}

TEST_F(coordinators, a_child_that_is_there_again_counts_its_models_from_one) {
  const auto main = merging({.threshold = 1});
  const auto first = listener();
  (*self_)->send(main, uint64_t{7}, first);
  hand_in(main, {7, 1, payload_of({1, 1}), 10});
  hand_in(main, {7, 2, payload_of({2, 2}), 10});
  caf::anon_send_exit(first, caf::exit_reason::kill);
  run();
  const auto unknown = hand_in(main, {7, 1, payload_of({3, 3}), 10});
  EXPECT_EQ(unknown.verdict, parameters_verdict::misfit) << "of which life is it?";
  EXPECT_NE(unknown.reason.find("says where it is"), std::string::npos);
  (*self_)->send(main, uint64_t{7}, first);
  EXPECT_EQ(hand_in(main, {7, 2, payload_of({3, 3}), 10}).round, 2u) << "it comes twice";
  (*self_)->send(main, uint64_t{7}, listener());
  EXPECT_EQ(hand_in(main, {7, 1, payload_of({3, 3}), 10}),
            (merge_report{7, 1, parameters_verdict::merged, "", 3, 1}));
  EXPECT_EQ(main_model(main), (std::vector<float>{3, 3}));
}

TEST_F(coordinators, a_round_of_distinct_children_does_not_wait_for_one_that_has_ended) {
  const auto main = merging({.trigger = round_trigger::distinct, .threshold = 2, .push = true});
  const auto child = listener();
  (*self_)->send(main, uint64_t{1}, listener());
  (*self_)->send(main, uint64_t{2}, child);
  EXPECT_EQ(hand_in(main, {1, 1, payload_of({1, 2}), 10}).verdict, parameters_verdict::waits);
  caf::anon_send_exit(child, caf::exit_reason::kill);
  run();
  ASSERT_EQ(models_.size(), 1u) << "merged, and sent to who is left";
  EXPECT_EQ(hand_in(main, {1, 2, payload_of({3, 4}), 10}).verdict, parameters_verdict::merged);
  EXPECT_EQ(main_model(main), (std::vector<float>{3, 4}));
}

TEST_F(coordinators, a_model_of_another_size_is_refused_with_the_reason) {
  const auto main = merging({.threshold = 1});
  const auto answer = hand_in(main, {1, 1, payload_of({1}), 10});
  EXPECT_EQ(answer.verdict, parameters_verdict::wrong_size);
  EXPECT_FALSE(answer.reason.empty());
  EXPECT_EQ(answer.round, 0u);
}

TEST_F(coordinators, children_that_say_where_they_are_get_the_main_model_until_they_end) {
  const auto main = merging({.threshold = 1, .push = true});
  const auto child = listener();
  (*self_)->send(main, uint64_t{7}, child);
  hand_in(main, {1, 1, payload_of({1, 2}), 10});
  ASSERT_EQ(models_.size(), 1u);
  EXPECT_EQ(models_[0].version, 1u);
  EXPECT_EQ(models_[0].values.values()[1], 2.0f);
  caf::anon_send_exit(child, caf::exit_reason::kill);
  run();
  hand_in(main, {1, 2, payload_of({1, 2}), 10});
  EXPECT_EQ(models_.size(), 1u);
}

TEST_F(coordinators, a_round_ends_when_its_time_is_over) {
  const auto main =
    merging({.trigger = round_trigger::time, .period = milliseconds{1000}, .push = true});
  (*self_)->send(main, uint64_t{7}, listener());
  EXPECT_EQ(hand_in(main, {1, 1, payload_of({1, 2}), 10}).verdict, parameters_verdict::waits);
  for (int k = 0; k < 18; ++k)
    pass(coordinator_tick_interval);
  EXPECT_EQ(models_.size(), 0u);
  for (int k = 0; k < 4; ++k)
    pass(coordinator_tick_interval);
  ASSERT_EQ(models_.size(), 1u);
  EXPECT_EQ(main_model(main), (std::vector<float>{1, 2}));
}

TEST_F(coordinators, stopping_merges_what_waits_and_refuses_what_comes) {
  const auto main = merging({.threshold = 5});
  hand_in(main, {1, 1, payload_of({1, 2}), 10});
  EXPECT_EQ(ask<merge_report>(main, atom::stop_v)->merged, 1u);
  EXPECT_EQ(main_model(main), (std::vector<float>{1, 2}));
  EXPECT_EQ(hand_in(main, {2, 1, payload_of({1, 2}), 10}).verdict, parameters_verdict::stopped);
}

TEST_F(coordinators, a_gradient_moves_the_main_model_and_closes_its_ticket) {
  const auto main = moving({});
  const auto work = ask<gradient_work>(main, atom::pull_v, uint64_t{0}).value();
  EXPECT_EQ(work.verdict, staleness_verdict::proceed);
  const gradient_offer offer{0, work.ticket, payload_of({4}), 2};
  const auto report = ask<gradient_report>(main, offer).value();
  EXPECT_EQ(report, (gradient_report{staleness_verdict::proceed, "", 0, 1}));
  EXPECT_EQ(main_model(main), std::vector<float>{-2});
  const auto twice = ask<gradient_report>(main, offer).value();
  EXPECT_EQ(twice.verdict, staleness_verdict::refuse);
  EXPECT_EQ(twice.reason, "this gradient was handed in already");
  EXPECT_EQ(main_model(main), std::vector<float>{-2});
}

TEST_F(coordinators, a_pull_that_comes_twice_gets_the_same_work) {
  const auto main = moving({});
  const auto work = ask<gradient_work>(main, atom::pull_v, uint64_t{0});
  EXPECT_EQ(ask<gradient_work>(main, atom::pull_v, uint64_t{0}), work);
}

TEST_F(coordinators, nobody_but_the_trainers_gets_work) {
  const auto main = moving({});
  const auto work = ask<gradient_work>(main, atom::pull_v, uint64_t{2}).value();
  EXPECT_EQ(work.verdict, staleness_verdict::refuse);
  EXPECT_EQ(work.reason, "no such trainer takes part");
}

TEST_F(coordinators, a_trainer_beyond_their_number_is_told_when_it_says_where_it_is) {
  const auto main = moving({});
  const auto told = [&](uint64_t trainer) {
    auto handle = (*self_)->request(main, std::chrono::minutes{60}, trainer, listener());
    run();
    std::string reason;
    handle.receive([] {}, [&](const caf::error& error) { reason = system_->render(error); });
    return reason;
  };
  EXPECT_EQ(told(1), "");
  EXPECT_NE(told(2).find("trainer 2 is none of the 2"), std::string::npos) << told(2);
}

TEST_F(coordinators, a_gradient_that_is_not_finite_is_refused_and_changes_nothing) {
  const auto main = moving({});
  const auto work = ask<gradient_work>(main, atom::pull_v, uint64_t{0}).value();
  const auto report =
    ask<gradient_report>(main, gradient_offer{0, work.ticket, payload_of({INFINITY}), 2}).value();
  EXPECT_EQ(report.verdict, staleness_verdict::refuse);
  EXPECT_FALSE(report.reason.empty());
  EXPECT_EQ(main_model(main), std::vector<float>{0});
}

TEST_F(coordinators, who_is_too_far_ahead_is_answered_when_the_others_have_come) {
  const auto main = moving(bounded(0));
  auto ahead = ask<gradient_work>(main, atom::pull_v, uint64_t{0}).value();
  const auto behind = ask<gradient_work>(main, atom::pull_v, uint64_t{1}).value();
  ask<gradient_report>(main, gradient_offer{0, ahead.ticket, payload_of({1}), 1});
  auto waiting = (*self_)->request(main, std::chrono::minutes{60}, atom::pull_v, uint64_t{0});
  run();
  EXPECT_FALSE((*self_)->has_next_message());
  (*self_)->send(main, gradient_offer{1, behind.ticket, payload_of({1}), 1});
  run();
  bool answered = false;
  waiting.receive(
    [&](const gradient_work& work) {
      answered = work.verdict == staleness_verdict::proceed && work.version == 2;
    },
    [](const caf::error&) {});
  EXPECT_TRUE(answered);
}

TEST_F(coordinators, nobody_waits_for_a_trainer_that_has_ended_until_it_is_there_again) {
  const auto main = moving(bounded(0));
  const auto peer = listener();
  (*self_)->send(main, uint64_t{1}, peer);
  const auto work = ask<gradient_work>(main, atom::pull_v, uint64_t{0}).value();
  ask<gradient_report>(main, gradient_offer{0, work.ticket, payload_of({1}), 1});
  auto waiting = (*self_)->request(main, std::chrono::minutes{60}, atom::pull_v, uint64_t{0});
  run();
  EXPECT_FALSE((*self_)->has_next_message());
  caf::anon_send_exit(peer, caf::exit_reason::kill);
  run();
  auto verdict = staleness_verdict::wait;
  waiting.receive([&](const gradient_work& next) { verdict = next.verdict; },
                  [](const caf::error&) {});
  EXPECT_EQ(verdict, staleness_verdict::proceed);
  EXPECT_EQ(ask<gradient_work>(main, atom::pull_v, uint64_t{1})->verdict,
            staleness_verdict::refuse);
  (*self_)->send(main, uint64_t{1}, listener());
  EXPECT_EQ(ask<gradient_work>(main, atom::pull_v, uint64_t{1})->verdict,
            staleness_verdict::proceed);
}

TEST_F(coordinators, options_that_do_not_fit_end_the_actor_with_the_reason) {
  const auto main =
    system_->spawn(coordinate_parameters, coordinate_parameters_options{{}, zeros(0)});
  (*self_)->monitor(main);
  run();
  std::string reason;
  (*self_)->receive([&](const caf::down_msg& down) { reason = system_->render(down.reason); },
                    caf::after(std::chrono::seconds{0}) >> [] {});
  EXPECT_NE(reason.find("parameters coordinator"), std::string::npos) << reason;
}

// The online learner behind its messages: order, verdicts, and parameters that others may pull.

constexpr std::chrono::seconds patience{10};

online_options line_options() {
  neural_network_options network;
  network.features = 1;
  network.outputs = 1;
  network.loss = loss_kind::squared;
  online_options options;
  options.network = std::make_shared<neural_network>(network);
  options.parameters = buffer{2}; // zeros
  options.rule.optimizer.learning_rate = 0.25;
  options.validation = online_rows{{0}, {}, {1}};
  return options;
}

class online_actors : public testing::Test {
protected:
  online_report learn(const online_actor& learner, float x, float y) {
    std::optional<online_report> result;
    self->request(learner, patience, online_batch{payload_of({x}), {}, payload_of({y})})
      .receive([&](const online_report& report) { result = report; },
               [](const caf::error&) { FAIL(); });
    return result.value_or(online_report{});
  }

  parameter_span pull(const online_actor& learner) {
    parameter_span result;
    self->request(learner, patience, atom::pull_v)
      .receive([&](const parameter_span& span) { result = span; },
               [](const caf::error&) { FAIL(); });
    return result;
  }

  test::real_system host{2};
  caf::scoped_actor self{*host.system};
};

TEST_F(online_actors, learn_batches_and_roll_bad_ones_back) {
  const auto learner = host.system->spawn(online, line_options());
  EXPECT_EQ(learn(learner, 0, 1).verdict, online_verdict::applied); // b becomes 0.5
  EXPECT_EQ(pull(learner).values.values()[1], 0.5f);
  const auto spoiled = learn(learner, 0, 1000);
  EXPECT_EQ(spoiled.verdict, online_verdict::loss_grew);
  EXPECT_EQ(spoiled.version, 1u);
  EXPECT_EQ(learn(learner, NAN, 1).verdict, online_verdict::not_finite);
  const auto after = pull(learner);
  EXPECT_EQ(after.values.values()[1], 0.5f);
  EXPECT_EQ(after.version, 1u);
  self->send_exit(learner, caf::exit_reason::user_shutdown);
}

TEST_F(online_actors, answer_batches_that_do_not_fit) {
  const auto learner = host.system->spawn(online, line_options());
  std::string reason;
  self->request(learner, patience, online_batch{payload_of({1}), {0}, {}})
    .receive([&](const online_report& report) { reason = report.reason; },
             [](const caf::error&) { FAIL(); });
  EXPECT_EQ(reason, "the batch does not fit the model: 0 targets for 1 rows of 1");
  self->send_exit(learner, caf::exit_reason::user_shutdown);
}

TEST_F(online_actors, answer_pulls_between_batches_and_refuse_more_than_may_wait) {
  auto options = line_options();
  options.rule.queue_max = 3;
  test::testing_system in_order;
  const auto learner = in_order.get().spawn(online, options);
  caf::scoped_actor sender{in_order.get()};
  for (int i = 0; i < 5; ++i)
    sender->send(learner, online_batch{payload_of({0}), {}, payload_of({1})});
  sender->send(learner, atom::pull_v);
  in_order.run();
  std::vector<std::string> answers;
  while (sender->has_next_message())
    sender->receive([&](const online_report& news) { answers.emplace_back(name_of(news.verdict)); },
                    [&](const parameter_span& news) {
                      answers.push_back("version " + std::to_string(news.version));
                    });
  EXPECT_EQ(answers, (std::vector<std::string>{"refused-full", "refused-full", "version 0",
                                               "applied", "applied", "applied"}));
  caf::anon_send_exit(learner, caf::exit_reason::user_shutdown);
  in_order.run();
}

TEST_F(online_actors, keep_a_snapshot_that_was_pulled) {
  const auto learner = host.system->spawn(online, line_options());
  const auto before = pull(learner);
  learn(learner, 0, 1);
  EXPECT_EQ(before.values.values()[1], 0.0f);
  EXPECT_NE(pull(learner).values.values()[1], 0.0f);
  self->send_exit(learner, caf::exit_reason::user_shutdown);
}

TEST_F(online_actors, end_with_a_reason_when_their_options_do_not_fit) {
  auto options = line_options();
  options.parameters = buffer{3};
  const auto learner = host.system->spawn(online, options);
  self->monitor(learner);
  std::string reason;
  self->receive([&](const caf::down_msg& down) { reason = host.system->render(down.reason); },
                caf::after(patience) >> [] {});
  EXPECT_NE(reason.find("the model has 2 parameters, got 3"), std::string::npos) << reason;
}

} // namespace
} // namespace troupe::coordinators_test
