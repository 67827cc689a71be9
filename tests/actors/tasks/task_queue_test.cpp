// Tasks over a wire that loses, repeats, reorders and damages: the parameter server's queue and a trainer's,
// each with its exchange, and nothing between them but this test.

#include "actors/base/early_pieces.hpp"
#include "actors/tasks/task_queue.hpp"
#include "actors/tasks/work_queue.hpp"
#include "tests/support/payloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::task_queue_test {
namespace {

using namespace std::chrono_literals;

constexpr size_t size = 10;
constexpr uint64_t term = 3;
/// Pieces of four elements, 16 under way.
constexpr exchange_options small{256, 4};
const trainer_life left{"left", 7, 1};
const trainer_life right{"right", 8, 0};

using message =
  std::variant<task_header, result_header, sent_piece, sent_want, sent_credit, sent_stamp>;

const_buffer counted(float first) {
  return test::counting_from(first, size).storage();
}

/// Member 2 is to go on from step 40, with one tensor of state.
distant_task local_steps(const trainer_life& who = left, uint64_t round = 9) {
  trainer_task work;
  work.kind = task_kind::local_steps;
  work.trainer = 4;
  work.ticket = round;
  work.member = 2;
  work.first_step = 40;
  work.step_count = 5;
  work.parameters = counted(100);
  work.model = 6;
  work.state = optimizer_state{1, size};
  std::ranges::copy(counted(200).values(), work.state.slot(0).begin());
  return {who, work, std::nullopt};
}

distant_task gradient(uint64_t step) {
  trainer_task work;
  work.ticket = work.first_step = step;
  work.parameters = counted(100);
  work.model = 2 * step;
  return {left, work, std::nullopt};
}

distant_task evaluate(uint64_t version, const index_range& chunks) {
  return {left, std::nullopt,
          evaluation_task{{}, term, version, {2 * version, counted(100)}, chunks}};
}

/// What a trainer makes of a task: values and state of its own.
trainer_result answer_to(const work_queue::whole_task& task) {
  trainer_result result;
  result.ticket = task.ticket;
  result.values = counted(300);
  result.sums = {0.5, 6, 7, 0.25};
  result.computed = 8ns;
  if (task.header.kind == task_kind::local_steps) {
    result.state = optimizer_state{1, size};
    std::ranges::copy(counted(400).values(), result.state.slot(0).begin());
  }
  return result;
}

/// The parameter server's process and that of trainer `left`, which a link joins.
class task_queues : public testing::Test {
public:
  /// Exchanges send by this as by an actor.
  template <class T>
  void send(const tensor_actor&, T news) {
    under_way.emplace_back(std::move(news));
  }

protected:
  task_queues() {
    here->begin_term(term);
    there->begin_term(term);
    vectors.begin_term(term, {std::make_shared<buffer_pool>(size), {0, size}});
    server.begin_term(term, {});
    trainer.begin_term(term, {{{server_there, {0, size}}}, {}});
    here.open(here.id_of("left"), 1, {}, true);
    there.open(server_there, 1, {}, true);
  }

  task_header open(const distant_task& task) {
    auto given = task;
    ++opened;
    if (given.work)
      given.work->number = opened;
    const auto header = server.open(given, false, now);
    post(std::optional{header});
    return header;
  }
  /// Opens a task, which is begun.
  work_queue::whole_task begin(const distant_task& task) {
    open(task);
    run();
    return begun.at(begun.size() - 1);
  }
  void answer(const trainer_result& news) {
    if (const auto done = trainer.finish(news, now))
      post(std::optional{done->header});
  }

  /// What is under way arrives, in order, and all that comes of it.
  void run() {
    while (!under_way.empty()) {
      const auto next = under_way.front();
      under_way.erase(under_way.begin());
      std::visit([&](const auto& news) { deliver(test::over_a_wire(news)); }, next);
    }
  }
  void pass(milliseconds time) {
    now += time;
    for (const auto& [to, header] : server.due(now))
      if (to == "left")
        under_way.emplace_back(header);
    here->tick(now);
    there->tick(now);
    settle();
  }

  void deliver(const task_header& news) {
    post(trainer.offer(news, now));
    take(trainer.begin_whole(news.replica));
    early.offer(there, now, [this](const tensor_name& name) { return trainer.is_over(name); });
    settle();
  }
  void deliver(const result_header& news) {
    take(server.offer(news, now));
    settle();
  }
  template <class T>
  void deliver(const T& news) {
    auto& to = news.by.process == "here" ? there : here;
    if constexpr (std::is_same_v<T, sent_stamp>)
      to.on(news);
    else if constexpr (std::is_same_v<T, sent_piece>) {
      if (to.on(news, now) <= piece_verdict::early && &to == &there &&
          !trainer.is_over(news.what.of))
        early.keep(server_there, news.what);
    } else
      to.on(news, now);
    settle();
  }

  /// A header goes before its vectors.
  void post(const auto& header) {
    if (header)
      under_way.emplace_back(*header);
    settle();
  }
  void settle() {
    const auto see_to = [this]<class T>(const T& news) {
      if constexpr (std::is_same_v<T, tensor_arrived>) {
        if (news.complete && news.of.kind != tensor_kind::result)
          take(trainer.begin(news.of.kind, news.of.key));
        else if (news.complete)
          take(server.finish(news.of.key));
      }
    };
    here.settle(this, see_to);
    there.settle(this, see_to);
  }
  void take(const std::vector<work_queue::whole_task>& tasks) {
    std::ranges::copy(tasks, std::back_inserter(begun));
  }
  void take(const std::optional<task_queue::finished_task>& task) {
    if (task)
      finished.push_back(task->result);
  }

  /// The wire loses all of this kind that is under way.
  template <class T>
  void lose() {
    std::erase_if(under_way, [](const message& x) { return std::holds_alternative<T>(x); });
  }
  /// Tensors that are kept or arriving.
  static size_t held(const exchange_port& x) {
    return x->figures().tensors_kept + x->figures().tensors_arriving;
  }

  moment now{};
  exchange_port here{{"here"}, small}, there{{"left"}, small};
  peer_id server_there = there.id_of("here");
  task_vectors vectors{here};
  task_queue server{vectors};
  work_queue trainer{there, {std::make_shared<buffer_pool>(size), {0, size}}};
  uint64_t opened = 0;
  early_pieces early;
  std::vector<message> under_way;
  std::vector<work_queue::whole_task> begun;
  std::vector<trainer_result> finished;
};

bool same(const const_buffer& a, const const_buffer& b) {
  return std::ranges::equal(a.values(), b.values());
}

TEST_F(task_queues, bring_a_task_and_its_result_as_they_were_sent) {
  const auto header = open(local_steps());
  EXPECT_EQ(
    header,
    (task_header{term, 1, 1, false, 1, task_kind::local_steps, 4, 2, 40, 5, {}, 6, 1, {1}, 1}));
  run();
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].header, header);
  EXPECT_TRUE(same(begun[0].parameters, counted(100)));
  EXPECT_TRUE(same(begun[0].state.slots().at(0), counted(200)));
  answer(answer_to(begun[0]));
  run();
  ASSERT_EQ(finished.size(), 1u);
  const auto& result = finished[0];
  EXPECT_EQ(result.trainer, 4u);
  EXPECT_EQ(result.ticket, 9u) << "the parameter server's own number";
  EXPECT_TRUE(result.finite && result.member == 2 && result.first_step == 40);
  EXPECT_EQ(result.sums, (batch_sums{0.5, 6, 7, 0.25}));
  EXPECT_EQ(result.computed, 8ns);
  EXPECT_TRUE(same(result.values, counted(300)));
  EXPECT_TRUE(same(result.state.slots().at(0), counted(400)));
}

TEST_F(task_queues, bring_a_result_once) {
  const auto task = begin(local_steps());
  answer(answer_to(task));
  const auto news = under_way;
  run();
  under_way = news;
  run();
  EXPECT_EQ(finished.size(), 1u);
  EXPECT_TRUE(server.waits(now + 1h).empty());
  EXPECT_EQ(held(here), 1u) << "the newest model";
  EXPECT_FALSE(trainer.finish(answer_to(task), now)) << "nor is it sent twice";
}

TEST_F(task_queues, say_a_task_again_until_its_result_is_announced_and_begin_it_once) {
  const auto header = open(gradient(3));
  run();
  pass(150ms);
  EXPECT_TRUE(under_way.empty());
  pass(50ms);
  ASSERT_EQ(under_way.size(), 1u);
  EXPECT_EQ(std::get<task_header>(under_way[0]), header);
  run();
  answer(answer_to(begun.at(0)));
  lose<result_header>();
  run();
  EXPECT_EQ(held(here), 2u) << "the newest model, and the result that waits for its header";
  EXPECT_TRUE(finished.empty());
  pass(400ms);
  run();
  EXPECT_EQ(finished.size(), 1u);
  EXPECT_EQ(begun.size(), 1u);
}

TEST_F(task_queues, know_no_task_of_a_lost_trainer) {
  const auto task = begin(local_steps());
  open(gradient(5));
  lose<sent_piece>();
  EXPECT_EQ(server.open(local_steps(right), false, now).open, std::vector<uint64_t>{3});
  EXPECT_EQ(held(here), 4u) << "two models, and two members' states";
  server.keep_if([](const trainer_life& who) { return who == right; });
  EXPECT_EQ(held(here), 3u) << "the model of its task and the newest one, and the member's state";
  answer(answer_to(task));
  run();
  EXPECT_TRUE(finished.empty());
  EXPECT_EQ(server.waits(now + 1h),
            (std::vector<awaited>{{"right", "the model of member 2 from step 40 on"}}));
  begin(gradient(7));
  EXPECT_EQ(begun.size(), 2u);
  EXPECT_TRUE(there->awaited().empty()) << "void tasks are missed by nobody";
}

TEST_F(task_queues, ask_for_values_that_were_damaged) {
  const auto break_one = [&](const exchange_port& waiting, tensor_kind kind, uint64_t key) {
    for (auto& x : under_way)
      if (auto* piece = std::get_if<sent_piece>(&x); piece && piece->what.first_element == 4)
        *piece = test::over_a_wire(*piece, 1);
    under_way.push_back(under_way.front()); // the header, again
    run();
    ASSERT_EQ(waiting->awaited().size(), 1u);
    EXPECT_EQ(waiting->awaited()[0].what, (tensor_want{{kind, term, key}, {{4, 8}}}));
    EXPECT_TRUE(begun.empty() || finished.empty());
    pass(1s);
    EXPECT_EQ(std::holds_alternative<task_header>(under_way.at(0)), kind == tensor_kind::model);
    run();
  };
  open(gradient(3));
  break_one(there, tensor_kind::model, 6);
  ASSERT_EQ(begun.size(), 1u);
  answer(answer_to(begun[0]));
  break_one(here, tensor_kind::result, 1);
  EXPECT_EQ(finished.size(), 1u);
  pass(9s);
  EXPECT_TRUE(under_way.empty()) << "nobody misses anything";
}

TEST_F(task_queues, keep_a_result_until_it_is_missed_no_more) {
  answer(answer_to(begin(gradient(3))));
  lose<result_header>();
  run();
  begin(gradient(4));
  EXPECT_EQ(held(there), 2u) << "it is still open; and the newest model";
  for (const auto time : {200ms, 200ms}) {
    pass(time);
    run();
  }
  EXPECT_EQ(finished.size(), 1u);
  begin(gradient(5));
  EXPECT_EQ(held(there), 1u) << "the newest model";
}

TEST_F(task_queues, let_a_trainer_do_what_it_is_told_in_that_order) {
  open(evaluate(3, {2, 4}));
  lose<sent_piece>();
  open(gradient(4));
  run();
  EXPECT_TRUE(begun.empty()) << "the second is whole, the first is not";
  pass(200ms);
  run();
  ASSERT_EQ(begun.size(), 2u);
  EXPECT_TRUE(begun[0].header.evaluates);
  EXPECT_EQ(begun[0].header.chunks, (index_range{2, 4}));
  EXPECT_EQ(begun[1].header.first_step, 4u);
}

TEST_F(task_queues, send_a_model_to_a_process_once) {
  const auto model_bytes = [&] {
    return here->figures().bytes_sent[static_cast<size_t>(tensor_kind::model)];
  };
  for (uint64_t member = 0; member < 3; ++member)
    answer(answer_to(begin(local_steps(left, member + 1))));
  EXPECT_EQ(model_bytes(), size * sizeof(float)) << "three members began with it";
  begin(evaluate(3, {2, 4}));
  EXPECT_EQ(model_bytes(), size * sizeof(float)) << "it has that number";
  begin(gradient(4));
  EXPECT_EQ(model_bytes(), 2 * size * sizeof(float));
}

TEST_F(task_queues, take_pieces_that_overtake_their_header) {
  open(local_steps());
  std::ranges::reverse(under_way); // the header comes last
  run();
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_TRUE(same(begun[0].parameters, counted(100)));
  answer(answer_to(begun[0]));
  std::ranges::reverse(under_way);
  run();
  EXPECT_EQ(finished.size(), 1u);
  EXPECT_EQ(here->figures().resends + there->figures().resends, 0u);
}

TEST_F(task_queues, end_an_evaluation_with_a_header_alone) {
  begin(evaluate(3, {2, 4}));
  EXPECT_EQ(server.waits(now + 1h),
            (std::vector<awaited>{{"left", "the evaluation of version 3"}}));
  EXPECT_FALSE(trainer.finish(evaluation{term, 3, 0, {}})) << "of another trainer";
  post(trainer.finish(evaluation{term, 3, 2, {{}, {}}}));
  run();
  EXPECT_TRUE(finished.empty()) << "the director has the sums";
  EXPECT_TRUE(server.waits(now + 1h).empty());
}

TEST_F(task_queues, bring_what_is_not_finite_without_values) {
  auto news = answer_to(begin(local_steps()));
  news.finite = false;
  answer(news);
  EXPECT_EQ(held(there), 1u) << "the model";
  run();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_FALSE(finished[0].finite);
  EXPECT_FALSE(finished[0].values);
}

TEST_F(task_queues, take_no_header_of_another_term_nor_a_result_of_another_shape) {
  auto header = open(gradient(3));
  ++header.term;
  EXPECT_FALSE(trainer.offer(header, now));
  EXPECT_TRUE(there->awaited().empty());
  run();
  answer(answer_to(begun.at(0)));
  const auto good = std::get<result_header>(under_way.at(0));
  for (const bool is_of_another_term : {true, false}) {
    auto news = good;
    ++(is_of_another_term ? news.term : news.vector_count);
    EXPECT_FALSE(server.offer(news, now));
    EXPECT_TRUE(here->awaited().empty());
  }
  run();
  EXPECT_EQ(finished.size(), 1u);
}

// Whatever the wire does, each task is computed once and its result arrives once. Headers overtake
// each other here, as on no link.
TEST_F(task_queues, do_every_task_once_over_a_bad_wire) {
  std::mt19937 random{1};
  const auto chance = [&](unsigned of_ten) { return random() % 10 < of_ten; };
  const auto arrive = [&]<class T>(const T& news) {
    deliver(test::over_a_wire(news, std::is_same_v<T, sent_piece> && chance(2) ? 1 : 0));
  };
  size_t answered = 0;
  for (uint64_t round = 1; round <= 200; ++round) {
    for (uint64_t step = 0; step < 5; ++step)
      open(step % 2 ? gradient(step) : local_steps(left, step));
    for (int turn = 0; turn < 2000 && finished.size() < 5 * round; ++turn) {
      pass(50ms);
      std::ranges::shuffle(under_way, random);
      for (const auto& x : std::exchange(under_way, {})) {
        if (chance(3))
          continue; // lost
        if (chance(2))
          under_way.push_back(x); // comes again
        std::visit(arrive, x);
        while (answered < begun.size())
          answer(answer_to(begun[answered++]));
      }
    }
    ASSERT_EQ(finished.size(), 5 * round);
    ASSERT_EQ(begun.size(), 5 * round);
  }
  for (size_t i = 0; i < begun.size(); ++i)
    EXPECT_TRUE(same(begun[i].parameters, counted(100)) && same(finished[i].values, counted(300)));
}

} // namespace
} // namespace troupe::task_queue_test
