// The online learner behind its messages: order, verdicts, and parameters that others may pull.

#include "actors/embed/online.hpp"

#include "models/network/neural_network.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::online_test {
namespace {

payload payload_of(const std::vector<float>& values) {
  const buffer storage{values.size()};
  std::ranges::copy(values, storage.values().begin());
  return {storage, 0, values.size()};
}

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
} // namespace troupe::online_test
