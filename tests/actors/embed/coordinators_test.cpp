// The coordinator behind its messages, one message at a time: what comes twice, late, damaged, or never. Then replicas
// with rows of their own.

#include "actors/embed/coordinator.hpp"
#include "actors/embed/member_replica.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/payloads.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <cmath>
#include <random>

namespace troupe::coordinators_test {
namespace {

payload payload_of(const std::vector<float>& values) {
  const buffer storage{values.size()};
  std::ranges::copy(values, storage.values().begin());
  return {storage, 0, values.size()};
}

model_listener_actor::behavior_type keep_models(model_listener_actor::pointer,
                                                std::vector<parameter_span>* models) {
  return {[models](const parameter_span& news) { models->push_back(news); }};
}

coordinator_options moving(const staleness_options& consistency = {}) {
  asynchronous_options rule;
  rule.gradients.optimizer.learning_rate = 1;
  rule.consistency = consistency;
  coordinator_options options;
  options.members.rule = rule;
  options.initial = buffer{1}; // zeros
  return options;
}

staleness_options bounded(size_t staleness) {
  staleness_options options;
  options.mode = consistency_kind::bounded;
  options.staleness_max = staleness;
  return options;
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

  coordinator_actor spawned(const coordinator_options& options) {
    return kept(system_->spawn(coordinate, options));
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
                   [&](const caf::error& why) { problem_ = system_->render(why); });
    return result;
  }

  membership join(const coordinator_actor& main, const std::string& name, const auto& who) {
    return ask<membership>(main, atom::join_v, name, caf::actor_cast<caf::actor>(who)).value();
  }
  member_work pull(const coordinator_actor& main, const membership& who) {
    return ask<member_work>(main, atom::pull_v, who).value();
  }
  update_report hand_in(const coordinator_actor& main, const membership& who, float value) {
    return ask<update_report>(main,
                              member_update{who, pull(main, who).ticket, payload_of({value}), 1})
      .value();
  }
  float main_model(const coordinator_actor& main) {
    return ask<parameter_span>(main, atom::pull_v)->values.values()[0];
  }

  std::vector<parameter_span> models_; ///< what listeners were sent
  std::unique_ptr<caf::scoped_actor> self_;
  std::vector<caf::actor> started_;
  std::string problem_; ///< of the last question
};

TEST_F(coordinators, a_member_joins_and_its_gradient_moves_the_main_model) {
  const auto main = spawned(moving());
  const auto who = join(main, "a", listener());
  const auto work = pull(main, who);
  EXPECT_EQ(work.verdict, work_verdict::go);
  const member_update update{who, work.ticket, payload_of({4}), 2};
  const auto report = ask<update_report>(main, update);
  EXPECT_EQ(report, (update_report{member_verdict::applied, "", 0, 1}));
  EXPECT_EQ(ask<update_report>(main, update), report) << "it came twice";
  EXPECT_EQ(main_model(main), -2);
}

TEST_F(coordinators, a_member_without_a_name_and_one_too_many_are_refused) {
  auto options = moving();
  options.members.members_max = 1;
  const auto main = spawned(options);
  const auto who = caf::actor_cast<caf::actor>(listener());
  EXPECT_FALSE(ask<membership>(main, atom::join_v, std::string{}, who));
  EXPECT_FALSE(ask<membership>(main, atom::join_v, std::string{"a"}, caf::actor{}));
  join(main, "a", who);
  EXPECT_FALSE(ask<membership>(main, atom::join_v, std::string{"b"}, who));
  EXPECT_NE(problem_.find("members_max"), std::string::npos) << problem_;
}

TEST_F(coordinators, a_pull_that_waits_is_answered_when_others_have_come_or_in_time) {
  const auto main = spawned(moving(bounded(0)));
  const auto peer = listener();
  const auto a = join(main, "a", listener()), b = join(main, "b", peer);
  /// The answer that comes after `then`, and none before.
  const auto answer_after = [&](const auto& then) {
    auto waiting = (*self_)->request(main, std::chrono::minutes{60}, atom::pull_v, a);
    run();
    EXPECT_FALSE((*self_)->has_next_message());
    then();
    run();
    member_work result;
    if (!(*self_)->has_next_message()) {
      ADD_FAILURE() << "no answer";
      return result;
    }
    waiting.receive([&](const member_work& work) { result = work; }, [](const caf::error&) {});
    return result;
  };
  hand_in(main, a, 1);
  const auto late = answer_after([&] { pass(milliseconds{1'100}); });
  EXPECT_EQ(late.verdict, work_verdict::wait);
  EXPECT_EQ(late.reason, "another trainer is too far behind");
  const auto ticket = pull(main, b).ticket;
  EXPECT_EQ(answer_after([&] {
              caf::anon_send(main, member_update{b, ticket, payload_of({1}), 1});
            }).verdict,
            work_verdict::go);
  hand_in(main, a, 1);
  EXPECT_EQ(answer_after([&] { caf::anon_send_exit(peer, caf::exit_reason::kill); }).verdict,
            work_verdict::go)
    << "nobody waits for who has ended";
  EXPECT_EQ(pull(main, b).verdict, work_verdict::join_again);
}

TEST_F(coordinators, watchers_get_the_model_at_once_and_as_it_moves_until_they_end) {
  auto options = moving();
  options.publish_every = 2;
  const auto main = spawned(options);
  const auto watcher = listener();
  (*self_)->send(main, atom::watch_v, watcher);
  const auto who = join(main, "a", listener());
  for (int i = 0; i < 4; ++i)
    hand_in(main, who, 1);
  std::vector<uint64_t> versions;
  for (const auto& one : models_)
    versions.push_back(one.version);
  EXPECT_EQ(versions, (std::vector<uint64_t>{0, 2, 4}));
  EXPECT_EQ(models_.back().values.values()[0], -4);
  caf::anon_send_exit(watcher, caf::exit_reason::kill);
  run();
  hand_in(main, who, 1);
  hand_in(main, who, 1);
  EXPECT_EQ(models_.size(), 3u);
}

/// Notes what it is sent, and answers at a tick.
struct slow_listener {
  std::vector<caf::response_promise> promises;
  static inline const char* name = "slow-listener";
};

caf::behavior take_slowly(caf::stateful_actor<slow_listener>* self,
                          std::vector<uint64_t>* versions) {
  return {[=](const parameter_span& model) {
            versions->push_back(model.version);
            self->state.promises.push_back(self->make_response_promise());
            return self->state.promises.back();
          },
          [=](atom::tick) {
            for (auto& one : std::exchange(self->state.promises, {}))
              one.deliver(caf::unit);
          }};
}

TEST_F(coordinators, a_slow_watcher_has_one_model_under_way_and_then_gets_the_newest) {
  const auto main = spawned(moving());
  std::vector<uint64_t> versions;
  const auto watcher = kept(system_->spawn(take_slowly, &versions));
  (*self_)->send(main, atom::watch_v, caf::actor_cast<model_listener_actor>(watcher));
  (*self_)->send(main, atom::watch_v, model_listener_actor{});
  const auto who = join(main, "a", listener());
  const auto answer = [&] {
    caf::anon_send(watcher, atom::tick_v);
    run();
    return versions;
  };
  for (int i = 0; i < 5; ++i)
    hand_in(main, who, 1);
  EXPECT_EQ(versions, std::vector<uint64_t>{0});
  EXPECT_EQ(answer(), (std::vector<uint64_t>{0, 5}));
  EXPECT_EQ(answer(), (std::vector<uint64_t>{0, 5})) << "there is nothing newer";
}

TEST_F(coordinators, a_name_is_one_living_actors) {
  const auto main = spawned(moving());
  const auto first = listener();
  const auto who = join(main, "a", first);
  EXPECT_NE(join(main, "a", first).life, who.life) << "the same one, again";
  EXPECT_FALSE(
    ask<membership>(main, atom::join_v, std::string{"a"}, caf::actor_cast<caf::actor>(listener())));
  EXPECT_NE(problem_.find("name-in-use"), std::string::npos) << problem_;
  caf::anon_send_exit(first, caf::exit_reason::kill);
  run();
  join(main, "a", listener());
}

TEST_F(coordinators, a_stop_tells_that_its_checkpoint_could_not_be_written) {
  auto folder = std::make_unique<temporary_folder>();
  auto options = moving();
  options.store = std::make_shared<checkpoint_store>(posix_disk(), folder->path());
  const auto main = spawned(options);
  hand_in(main, join(main, "a", listener()), 1);
  folder.reset();
  EXPECT_FALSE(ask<uint64_t>(main, atom::stop_v));
  EXPECT_NE(problem_.find("refused"), std::string::npos) << problem_;
}

TEST_F(coordinators, stopping_merges_what_waits_and_ends_the_work) {
  coordinator_options options;
  options.members.rule = parameters_coordinator_options{.threshold = 5};
  options.initial = buffer{1};
  const auto main = spawned(options);
  const auto who = join(main, "a", listener());
  EXPECT_EQ(hand_in(main, who, 3).verdict, member_verdict::held);
  auto stop = (*self_)->request(main, std::chrono::minutes{60}, atom::stop_v);
  run();
  EXPECT_FALSE((*self_)->has_next_message()) << "a member does not know yet";
  caf::anon_send(main, atom::pull_v, who);
  run();
  EXPECT_FALSE((*self_)->has_next_message()) << "the answer may be lost";
  caf::anon_send(main, atom::pull_v, who);
  run();
  uint64_t version = 0;
  stop.receive([&](uint64_t last) { version = last; }, [](const caf::error&) {});
  EXPECT_EQ(version, 1u);
  EXPECT_EQ(main_model(main), 3);
  EXPECT_EQ(pull(main, who).verdict, work_verdict::over);
  join(main, "b", listener());
  EXPECT_FALSE(ask<uint64_t>(main, atom::stop_v)) << "nor does this one";
  pass(milliseconds{31'000});
  EXPECT_TRUE((*self_)->has_next_message()) << "but nobody waits for ever";
}

TEST_F(coordinators, a_damaged_update_may_come_again) {
  const auto main = spawned(moving());
  const auto who = join(main, "a", listener());
  member_update update{who, pull(main, who).ticket, test::over_a_wire(payload_of({1}), 1), 1};
  const auto report = ask<update_report>(main, update);
  EXPECT_EQ(report->verdict, member_verdict::refused);
  EXPECT_EQ(report->reason, "the update was damaged on its way");
  update.values = payload_of({1});
  EXPECT_EQ(ask<update_report>(main, update)->verdict, member_verdict::applied);
}

// A stranger's messages have any content, near what is right or far from it. Each is answered, an honest member's
// gradients count once each, and no others but those that come with a ticket of their own.
TEST_F(coordinators, messages_of_any_content_harm_nobody) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random{seed};
    const auto below = [&](uint32_t count) { return random() % count; };
    const auto main = spawned(moving());
    const auto honest = join(main, "honest", listener());
    float expected = 0;
    uint64_t answers = 0, questions = 0;
    for (int i = 0; i < 60; ++i) {
      membership who{below(4), below(2) ? honest.life : random(), below(2) == 0, below(3)};
      if (below(3) == 0)
        who.member = honest.member + below(2);
      const bool is_hers = who.member == honest.member && who.life == honest.life;
      ++questions;
      switch (below(5)) {
      case 0: {
        std::string name(below(2) ? below(200) : below(70'000), static_cast<char>(below(256)));
        const auto got =
          ask<membership>(main, atom::join_v, name, below(4) ? started_[below(2)] : caf::actor{});
        answers += got || !problem_.empty();
        break;
      }
      case 1:
        answers += ask<member_work>(main, atom::pull_v, who).has_value();
        break;
      case 2: {
        const float odd[] = {std::nanf(""), INFINITY, 1e38f, 1};
        const auto report = ask<update_report>(
          main, member_update{who, is_hers ? 0 : random(),
                              payload_of(std::vector<float>(below(4), odd[below(4)])),
                              below(2) ? random() : 0});
        answers += report.has_value();
        EXPECT_FALSE(report && report->verdict == member_verdict::applied) << seed;
        break;
      }
      case 3:
        (*self_)->send(main, atom::tick_v);
        (*self_)->send(main, atom::watch_v, model_listener_actor{});
        run();
        ++answers;
        break;
      case 4:
        EXPECT_EQ(hand_in(main, honest, 1).verdict, member_verdict::applied) << seed;
        --expected;
        ++answers;
        break;
      }
      problem_.clear();
    }
    EXPECT_EQ(answers, questions) << seed << ": silence";
    EXPECT_EQ(main_model(main), expected) << seed;
  }
}

TEST_F(coordinators, go_on_from_their_checkpoint_after_a_new_start) {
  const temporary_folder folder;
  auto options = moving();
  std::get<asynchronous_options>(options.members.rule).gradients.optimizer.momentum = 0.5;
  options.store = std::make_shared<checkpoint_store>(posix_disk(), folder.path());
  options.checkpoint_every = 2;
  float expected = 0;
  {
    const auto main = spawned(options);
    const auto who = join(main, "a", listener());
    for (int i = 0; i < 3; ++i) // the third is not saved
      hand_in(main, who, 1);
    caf::anon_send_exit(main, caf::exit_reason::kill);
    run();
  }
  const auto main = spawned(options);
  EXPECT_EQ(main_model(main), -2.5f) << "1, then 1 and a half of 1";
  const auto who = join(main, "a", listener());
  hand_in(main, who, 1);
  expected = -2.5f - 1 - 0.75f;
  EXPECT_EQ(main_model(main), expected);
  EXPECT_EQ(ask<uint64_t>(main, atom::save_v), 3u);
  options.name = "another";
  const auto other = system_->spawn(coordinate, options);
  (*self_)->monitor(other);
  run();
  std::string reason;
  (*self_)->receive([&](const caf::down_msg& down) { reason = system_->render(down.reason); },
                    caf::after(std::chrono::seconds{0}) >> [] {});
  EXPECT_NE(reason.find("checkpoint"), std::string::npos) << reason;
  EXPECT_FALSE(ask<uint64_t>(spawned(moving()), atom::save_v));
  EXPECT_NE(problem_.find("coordinator_options::store"), std::string::npos) << problem_;
}

TEST_F(coordinators, options_that_do_not_fit_end_the_actor_with_the_reason) {
  auto options = moving();
  options.initial = {};
  const auto main = system_->spawn(coordinate, options);
  (*self_)->monitor(main);
  run();
  std::string reason;
  (*self_)->receive([&](const caf::down_msg& down) { reason = system_->render(down.reason); },
                    caf::after(std::chrono::seconds{0}) >> [] {});
  EXPECT_NE(reason.find("member coordinator"), std::string::npos) << reason;
}

// Replicas with rows of their own: y = 3 x + 1 on different x.

replica_of_rows on_line(const coordinator_actor& main, const std::string& name, float from) {
  auto rows = std::make_shared<dataset>();
  rows->row_count = 16;
  rows->feature_count = 1;
  rows->target_count = 1;
  for (size_t i = 0; i < rows->row_count; ++i) {
    rows->features.push_back(from + static_cast<float>(i) / 16);
    rows->targets.push_back(3 * rows->features.back() + 1);
  }
  neural_network_options shape;
  shape.features = shape.outputs = 1;
  shape.loss = loss_kind::squared;
  replica_of_rows result;
  result.coordinator = main;
  result.name = name;
  result.network = std::make_shared<neural_network>(shape);
  result.rows = std::make_shared<rows_in_memory>(std::move(rows));
  result.batch_size = 4;
  result.local_steps = 3;
  result.optimizer.learning_rate = 0.2;
  return result;
}

class replicas_of_rows : public testing::TestWithParam<bool> {
protected:
  coordinator_options options() const {
    coordinator_options result;
    result.initial = buffer{2};
    result.members.members_min = 2;
    if (GetParam()) {
      asynchronous_options rule;
      rule.gradients.optimizer.learning_rate = 0.2;
      result.members.rule = rule;
    } else {
      result.members.rule =
        parameters_coordinator_options{.trigger = round_trigger::distinct, .threshold = 2};
    }
    return result;
  }

  parameter_span model_of(const coordinator_actor& main) {
    parameter_span result;
    self->request(main, std::chrono::seconds{30}, atom::pull_v)
      .receive([&](const parameter_span& model) { result = model; },
               [](const caf::error&) { FAIL(); });
    return result;
  }

  void expect_learned(const coordinator_actor& main) {
    for (int i = 0; i < 3'000; ++i) {
      const auto model = model_of(main);
      const auto values = model.values.values();
      if (std::abs(values[0] - 3) < 0.01f && std::abs(values[1] - 1) < 0.01f)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    FAIL() << "not learned";
  }

  test::real_system host{2};
  caf::scoped_actor self{*host.system};
};

INSTANTIATE_TEST_SUITE_P(of_gradients_and_models, replicas_of_rows, testing::Bool());

TEST_P(replicas_of_rows, learn_together_and_go_on_when_one_ends_and_comes_back) {
  const auto main = host.system->spawn(coordinate, options());
  const auto left = host.system->spawn(replicate, on_line(main, "left", -1));
  auto right = host.system->spawn(replicate, on_line(main, "right", 0));
  expect_learned(main);
  self->send_exit(right, caf::exit_reason::kill);
  const auto before = model_of(main).version;
  while (model_of(main).version < before + 10)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  right = host.system->spawn(replicate, on_line(main, "right", 0));
  expect_learned(main);
  self->request(main, std::chrono::seconds{30}, atom::stop_v)
    .receive([&](uint64_t version) { EXPECT_EQ(version, model_of(main).version); },
             [](const caf::error&) { FAIL(); });
  self->wait_for(left, right);
  self->send_exit(main, caf::exit_reason::user_shutdown);
}

TEST_P(replicas_of_rows, of_which_no_update_counts_end_with_the_reason) {
  const auto main = host.system->spawn(coordinate, options());
  const auto left = host.system->spawn(replicate, on_line(main, "left", -1));
  const auto one = host.system->spawn(replicate, on_line(main, "right", NAN));
  self->monitor(one);
  std::string reason;
  self->receive([&](const caf::down_msg& down) { reason = host.system->render(down.reason); },
                caf::after(std::chrono::seconds{60}) >> [] {});
  const std::string wanted = GetParam() ? "refused 5 updates in a row: " : "right: ";
  EXPECT_NE(reason.find(wanted), std::string::npos) << reason;
  EXPECT_NE(reason.find("not finite"), std::string::npos) << reason;
  self->send_exit(left, caf::exit_reason::kill);
  self->send_exit(main, caf::exit_reason::user_shutdown);
}

TEST_P(replicas_of_rows, of_another_network_end_with_the_reason) {
  auto other = options();
  other.initial = buffer{3};
  const auto main = host.system->spawn(coordinate, other);
  const auto one = host.system->spawn(replicate, on_line(main, "left", -1));
  self->monitor(one);
  std::string reason;
  self->receive([&](const caf::down_msg& down) { reason = host.system->render(down.reason); },
                caf::after(std::chrono::seconds{30}) >> [] {});
  EXPECT_NE(reason.find("has 3 parameters, this replica's 2"), std::string::npos) << reason;
  self->send_exit(main, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace troupe::coordinators_test
