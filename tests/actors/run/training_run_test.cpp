#include "actors/protocol/status_messages.hpp"
#include "actors/run/training_run.hpp"
#include "tests/support/training.hpp"

#include <caf/event_based_actor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

struct message_of_application {
  int value = 0;
};
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, message_of_application& x) {
  return f(x.value);
}

CAF_BEGIN_TYPE_ID_BLOCK(messages_of_application, troupe::first_free_type_id)
CAF_ADD_TYPE_ID(messages_of_application, (message_of_application))
CAF_END_TYPE_ID_BLOCK(messages_of_application)

static_assert(caf::id_block::troupe_runs::end <= troupe::first_free_type_id);

namespace troupe::training_run_test {
namespace {

constexpr std::chrono::seconds hang{120};

job endless_job() {
  auto x = test::small_job();
  x.training.epochs = 1'000'000;
  return x;
}

/// The end of a run that `self` observes; it gets `news` of each progress before.
training_end end_of(
  caf::scoped_actor& self, const std::function<void()>& news = [] {}) {
  std::optional<training_end> result;
  while (!result)
    self->receive([&](const training_progress&) { news(); },
                  [&](const training_end& x) { result = x; },
                  caf::after(hang) >> [] { throw std::runtime_error{"no end"}; });
  return *result;
}

TEST(training_run, messages_of_the_application_go_beside_those_of_a_run) {
  caf::actor_system_config config;
  configure(config);
  config.add_message_types<caf::id_block::messages_of_application>();
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  self->send(self, message_of_application{7});
  const auto run = start_training(system, test::small_job(), caf::actor_cast<caf::actor>(self));
  int value = 0;
  bool is_over = false;
  while (!is_over)
    self->receive([](const training_progress&) {},
                  [&](const message_of_application& x) { value = x.value; },
                  [&](const training_end& end) { is_over = end.result != nullptr; });
  EXPECT_EQ(value, 7);
  self->wait_for(run);
}

TEST(training_run, its_observer_gets_what_train_returns) {
  test::real_system host{2};
  caf::scoped_actor self{*host.system};
  const auto run =
    start_training(*host.system, test::small_job(), caf::actor_cast<caf::actor>(self));
  int told = 0;
  const auto end = end_of(self, [&] { ++told; });
  ASSERT_TRUE(end.result) << end.problem->what();
  EXPECT_GE(told, 3) << "of three epochs";
  EXPECT_EQ(test::values_of(end.result->parameters),
            test::values_of(test::train_on(2, test::small_job()).parameters));
  self->wait_for(run);
}

TEST(training_run, an_actor_starts_it_in_a_handler_and_stops_it) {
  test::real_system host{1}; // the run needs the thread on which the handler is
  std::atomic<int> results{0};
  const auto owner = host.system->spawn([&results](caf::event_based_actor* self) -> caf::behavior {
    const auto run = start_training(self->system(), endless_job(), self);
    self->request(run, hang, atom::status_v).then([](const training_status&) {});
    return {[self, run](const training_progress& news) {
              if (news.version > 0)
                self->send(run, atom::stop_v);
            },
            [self, &results](const training_end& end) {
              results = end.result && end.result->summary.stopped_by == "interrupt" ? 1 : -1;
              self->quit();
            }};
  });
  caf::scoped_actor {
    *host.system
    } -> wait_for(owner);
  EXPECT_EQ(results, 1);
}

TEST(training_run, a_stop_reaches_it_while_an_actor_of_the_application_computes) {
  test::real_system host{2};
  std::atomic<bool> is_over{false};
  const auto busy = host.system->spawn([&is_over](caf::event_based_actor*) -> caf::behavior {
    return {[&is_over](atom::tick) {
      while (!is_over)
        ; // a handler that does not return
    }};
  });
  caf::anon_send(busy, atom::tick_v);
  caf::scoped_actor self{*host.system};
  const auto run = start_training(*host.system, endless_job(), caf::actor_cast<caf::actor>(self));
  const auto end = end_of(self, [&] { self->send(run, atom::stop_v); });
  EXPECT_TRUE(end.result);
  is_over = true;
}

TEST(training_run, an_exit_message_stops_it_without_an_observer) {
  test::real_system host{2};
  std::atomic<int> heard{0};
  train_options options;
  options.on_progress = [&](const training_progress&) { ++heard; };
  options.stop_requested = [] { return false; };
  const auto run = start_training(*host.system, endless_job(), nullptr, {}, options);
  while (heard == 0)
    std::this_thread::yield();
  caf::scoped_actor self{*host.system};
  self->send_exit(run, caf::exit_reason::user_shutdown);
  self->wait_for(run);
}

TEST(training_run, its_own_callback_stops_it_too) {
  test::real_system host{2};
  std::atomic<bool> stops{false};
  train_options options;
  options.stop_requested = [&] { return stops.load(); };
  caf::scoped_actor self{*host.system};
  const auto data = load_data(endless_job());
  start_training(*host.system, endless_job(), caf::actor_cast<caf::actor>(self), data, options);
  const auto end = end_of(self, [&] { stops = true; });
  ASSERT_TRUE(end.result);
  EXPECT_EQ(end.result->data, data);
}

TEST(training_run, what_cannot_be_trained_is_a_problem) {
  test::real_system host{2};
  caf::scoped_actor self{*host.system};
  auto x = test::small_job();
  x.training.freeze = {"no such tensor"};
  start_training(*host.system, x, caf::actor_cast<caf::actor>(self));
  auto end = end_of(self);
  ASSERT_TRUE(end.problem);
  EXPECT_EQ(end.problem->code(), failure_code::bad_job);
  EXPECT_FALSE(end.result);
  x.data.synthetic = synthetic_kind::none;
  x.data.file = "/nowhere.csv";
  start_training(*host.system, x, caf::actor_cast<caf::actor>(self));
  end = end_of(self);
  ASSERT_TRUE(end.problem);
  EXPECT_EQ(end.problem->code(), failure_code::missing_input);
}

TEST(training_run, two_runs_go_on_at_once_and_tell_their_status) {
  test::real_system host{2};
  caf::scoped_actor self{*host.system}, other{*host.system};
  const auto a = start_training(*host.system, endless_job(), caf::actor_cast<caf::actor>(self));
  const auto b =
    start_training(*host.system, test::small_job(), caf::actor_cast<caf::actor>(other));
  EXPECT_TRUE(end_of(other).result);
  uint64_t version = 0;
  while (version == 0)
    self->request(a, hang, atom::status_v)
      .receive([&](const training_status& x) { version = x.version; },
               [](const caf::error& why) { throw std::runtime_error{to_string(why)}; });
  self->send(a, atom::stop_v);
  EXPECT_TRUE(end_of(self).result);
  self->wait_for(a, b);
}

} // namespace
} // namespace troupe::training_run_test
