// A trainer's queue, apart from what comes of its tasks (task_queue_test.cpp): headers that no
// parameter server of the run sends, and trainers that have ended. The run: two epochs of three steps, four
// members, whose optimizer keeps two tensors of state; three chunks to evaluate.

#include "actors/tasks/task_queue.hpp"
#include "actors/tasks/work_queue.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::work_queue_test {
namespace {

constexpr auto huge = ~uint64_t{0};
using change = std::function<void(task_header&)>;

task_bounds bounds() {
  return {{.row_count = 30, .batch_size = 10, .slice_count = 4, .epoch_count = 2, .step_limit = 5},
          {.test = 300, .validation = 100},
          2};
}

task_header gradient() {
  task_header result;
  result.model = 8;
  return result;
}

task_header local_steps() {
  task_header result;
  result.kind = task_kind::local_steps;
  result.model = 8;
  result.vector_count = 2;
  return result;
}

task_header evaluation_header() {
  task_header result;
  result.evaluates = true;
  result.model = 8;
  result.chunks = {0, 3};
  return result;
}

bool is_possible_with(task_header news, const change& apply) {
  apply(news);
  return is_possible(news, bounds());
}

TEST(work_queue, tasks_up_to_the_bounds_are_possible) {
  EXPECT_TRUE(is_possible_with(gradient(), [](auto& x) { x.first_step = 4; }));
  EXPECT_TRUE(is_possible_with(gradient(), [](auto& x) { x.member = 3; }));
  EXPECT_TRUE(is_possible_with(local_steps(), [](auto& x) { x.step_count = 3; }));
  EXPECT_TRUE(is_possible_with(local_steps(), [](auto& x) { x.first_step = 3, x.step_count = 2; }));
  EXPECT_TRUE(is_possible_with(evaluation_header(), [](auto& x) { x.first_step = 5; }));
}

TEST(work_queue, steps_beyond_the_run_are_impossible) {
  for (const auto& header : {gradient(), local_steps()})
    for (const auto step : {uint64_t{5}, huge})
      EXPECT_FALSE(is_possible_with(header, [=](auto& x) { x.first_step = step; })) << step;
  EXPECT_FALSE(is_possible_with(evaluation_header(), [](auto& x) { x.first_step = 6; }));
}

TEST(work_queue, more_steps_than_an_epoch_or_the_run_has_left_are_impossible) {
  const auto steps = [](uint64_t first, uint64_t count) {
    return is_possible_with(local_steps(),
                            [=](auto& x) { x.first_step = first, x.step_count = count; });
  };
  for (const auto count : {uint64_t{0}, uint64_t{4}, huge})
    EXPECT_FALSE(steps(0, count)) << count;
  EXPECT_FALSE(steps(1, 3)) << "into the next epoch";
  EXPECT_FALSE(steps(3, 3)) << "the run ends before the epoch";
  EXPECT_FALSE(is_possible_with(gradient(), [](auto& x) { x.step_count = 2; }));
}

TEST(work_queue, members_that_are_not_there_are_impossible) {
  for (const auto& header : {gradient(), local_steps()})
    for (const auto member : {uint64_t{4}, huge})
      EXPECT_FALSE(is_possible_with(header, [=](auto& x) { x.member = member; })) << member;
}

TEST(work_queue, chunks_that_are_not_there_are_impossible) {
  const std::vector<index_range> impossible{{0, 4}, {3, 4}, {2, 2}, {2, 1}, {0, huge}, {huge, 1}};
  for (const auto& chunks : impossible)
    EXPECT_FALSE(is_possible_with(evaluation_header(), [&](auto& x) { x.chunks = chunks; }))
      << chunks.begin << ' ' << chunks.end;
}

// Memory is taken for what a header announces, and an optimizer counts on its state.
TEST(work_queue, every_task_has_the_vectors_of_its_work) {
  for (const auto count : {uint64_t{1}, uint64_t{3}, huge})
    for (const auto& header : {gradient(), local_steps(), evaluation_header()})
      EXPECT_FALSE(is_possible_with(header, [=](auto& x) { x.vector_count = count; })) << count;
  EXPECT_FALSE(is_possible_with(gradient(), [](auto& x) { x.vector_count = 2; }));
  EXPECT_FALSE(is_possible_with(local_steps(), [](auto& x) { x.vector_count = 0; }));
  for (const auto& header : {gradient(), local_steps(), evaluation_header()})
    EXPECT_FALSE(is_possible_with(header, [=](auto& x) { x.model.reset(); }));
  auto elastic = bounds(); // members begin with models of their own, the first of their vectors
  elastic.own_start = true;
  auto own = local_steps();
  EXPECT_FALSE(is_possible(own, elastic));
  own.model.reset();
  EXPECT_FALSE(is_possible(own, elastic));
  own.vector_count = 3;
  EXPECT_TRUE(is_possible(own, elastic));
  EXPECT_TRUE(is_possible(gradient(), elastic));
}

TEST(work_queue, a_trainer_that_has_ended_gives_its_tasks_back) {
  const moment now{};
  const auto pool = std::make_shared<buffer_pool>(10);
  exchange_port exchange;
  exchange->begin_term(1);
  work_queue queue{exchange, {pool, {0, 10}}};
  const auto server = exchange.id_of("server");
  queue.begin_term(1, {{{server, {0, 10}}}, {}});
  const auto told = [&](uint64_t number, uint64_t replica) {
    task_header news;
    news.term = 1;
    news.number = news.last = number;
    news.replica = replica;
    news.task = number;
    news.model = number;
    for (uint64_t k = 1; k <= number; ++k)
      news.open.push_back(k);
    return queue.offer(news, now);
  };
  EXPECT_FALSE(told(1, 0) || told(2, 1) || told(3, 0));
  trainer_result finished;
  finished.ticket = queue.begin(tensor_kind::model, 1).at(0).ticket;
  finished.values = pool->acquire();
  queue.finish(finished, now);
  const auto lost = queue.lose(0);
  ASSERT_EQ(lost.size(), 1u) << "the first task has its result, the second one is another's";
  EXPECT_TRUE(lost[0].is_lost);
  EXPECT_EQ(lost[0].term, 1u);
  EXPECT_EQ(lost[0].number, 3u);
  EXPECT_EQ(told(3, 0), lost[0]) << "the header was lost";
  EXPECT_EQ(told(4, 0)->number, 4u) << "the parameter server had not heard of it";
  EXPECT_FALSE(told(5, 1)) << "another trainer's";
  EXPECT_EQ(told(1, 0), std::nullopt) << "a late header";
  for (const auto& [from, question] : exchange->awaited())
    EXPECT_TRUE(question.of.key != 3 && question.of.key != 4) << "nothing is missed of these";
  EXPECT_EQ(exchange->figures().tensors_kept, 1u) << "the result";
}

TEST(work_queue, a_dropped_task_that_has_not_begun_makes_way) {
  const moment now{};
  const auto pool = std::make_shared<buffer_pool>(10);
  exchange_port exchange;
  exchange->begin_term(1);
  work_queue queue{exchange, {pool, {0, 10}}};
  queue.begin_term(1, {{{exchange.id_of("server"), {0, 10}}}, {}});
  const auto told = [&](uint64_t number, std::vector<uint64_t> open, bool is_dropped) {
    task_header news;
    news.term = 1;
    news.number = number;
    news.last = 2;
    news.task = news.model.emplace(number);
    news.open = std::move(open);
    news.is_dropped = is_dropped;
    return queue.offer(news, now);
  };
  EXPECT_FALSE(told(1, {1, 2}, false) || told(2, {1, 2}, false));
  EXPECT_TRUE(queue.begin(tensor_kind::model, 2).empty()) << "the first one is first";
  const auto answer = told(1, {1, 2}, true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, (result_header{1, 1, {}, false, 0, 0}));
  EXPECT_EQ(told(1, {1, 2}, true), answer) << "it was lost";
  const auto next = queue.begin_whole(0);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].header.number, 2u);
  EXPECT_FALSE(told(2, {2}, true)) << "it has begun, and will be answered";
  for (const auto& [from, question] : exchange->awaited())
    EXPECT_NE(question.of.key, 1u) << "nobody has it any more";
}

// Numbers begin anew with each term, and a trainer may still be at a task of the one before.
TEST(work_queue, what_comes_of_a_task_of_an_earlier_term_is_of_no_task) {
  const moment now{};
  const auto pool = std::make_shared<buffer_pool>(10);
  exchange_port exchange;
  work_queue queue{exchange, {pool, {0, 10}}};
  const auto server = exchange.id_of("server");
  const auto ordered_in = [&](uint64_t term) {
    exchange->begin_term(term);
    queue.begin_term(term, {{{server, {0, 10}}}, {}});
    task_header news;
    news.term = term;
    news.number = news.last = news.task = 1;
    news.open = {1};
    news.model = 1;
    EXPECT_FALSE(queue.offer(news, now));
    trainer_result result;
    result.ticket = queue.begin(tensor_kind::model, 1).at(0).ticket;
    result.values = pool->acquire();
    return result;
  };
  const auto earlier = ordered_in(1);
  const auto current = ordered_in(2);
  EXPECT_FALSE(queue.finish(earlier, now));
  const auto header = queue.finish(current, now);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->header.number, 1u);
  EXPECT_EQ(header->header.term, 2u);
  EXPECT_FALSE(queue.finish(current, now)) << "once";
}

TEST(work_queue, only_a_lost_trainers_header_of_an_open_task_says_who_is_lost) {
  const moment now{};
  exchange_port exchange;
  exchange->begin_term(1);
  task_vectors vectors{exchange};
  vectors.begin_term(1, {std::make_shared<buffer_pool>(10), {0, 10}});
  task_queue server{vectors};
  server.begin_term(1, {});
  const trainer_life who{"left", 7, 1};
  server.open({who, std::nullopt, evaluation_task{{}, 1, 3, {6, buffer{10}}, {0, 1}}}, false, now);
  result_header news{1, 1, {}, true, 0, 0, true};
  EXPECT_EQ(server.lost_by(news), who);
  EXPECT_FALSE(server.offer(news, now));
  EXPECT_EQ(exchange->figures().tensors_kept, 1u) << "a task that was given back is not done";
  news.is_lost = false;
  EXPECT_FALSE(server.lost_by(news));
  news = {2, 1, {}, true, 0, 0, true};
  EXPECT_FALSE(server.lost_by(news)) << "of another term";
  news = {1, 2, {}, true, 0, 0, true};
  EXPECT_FALSE(server.lost_by(news)) << "of no task";
}

} // namespace
} // namespace troupe::work_queue_test
