// A trainer's desk, apart from what comes of its orders (order_desk_test.cpp): sheets that no
// keeper of the run sends, and trainers that have ended. The run: two epochs of three steps, four
// members, whose optimizer keeps two tensors of state; three chunks to evaluate.

#include "actors/orders/work_desk.hpp"

#include "actors/orders/order_desk.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::work_desk_test {

namespace {

constexpr auto huge = ~uint64_t{0};
using change = std::function<void(order_sheet&)>;

order_bounds bounds() {
  return {{.row_count = 30, .batch_size = 10, .slice_count = 4, .epoch_count = 2, .step_limit = 5},
          {.test = 300, .validation = 100},
          2};
}

order_sheet gradient() {
  return {};
}

order_sheet local_steps() {
  order_sheet result;
  result.task = trainer_task::local_steps;
  result.vector_count = 3;
  return result;
}

order_sheet evaluation_sheet() {
  order_sheet result;
  result.evaluates = true;
  result.chunks = {0, 3};
  return result;
}

bool is_possible_with(order_sheet news, const change& apply) {
  apply(news);
  return is_possible(news, bounds());
}

} // namespace

TEST(work_desk, orders_up_to_the_bounds_are_possible) {
  EXPECT_TRUE(is_possible_with(gradient(), [](auto& x) { x.first_step = 4; }));
  EXPECT_TRUE(is_possible_with(gradient(), [](auto& x) { x.member = 3; }));
  EXPECT_TRUE(is_possible_with(local_steps(), [](auto& x) { x.step_count = 3; }));
  EXPECT_TRUE(is_possible_with(local_steps(), [](auto& x) {
    x.first_step = 3;
    x.step_count = 2;
  }));
  EXPECT_TRUE(is_possible_with(evaluation_sheet(), [](auto& x) { x.first_step = 5; }));
}

TEST(work_desk, steps_beyond_the_run_are_impossible) {
  for (const auto& sheet : {gradient(), local_steps()})
    for (const auto step : {uint64_t{5}, huge})
      EXPECT_FALSE(is_possible_with(sheet, [=](auto& x) { x.first_step = step; })) << step;
  EXPECT_FALSE(is_possible_with(evaluation_sheet(), [](auto& x) { x.first_step = 6; }));
}

TEST(work_desk, more_steps_than_an_epoch_or_the_run_has_left_are_impossible) {
  const auto steps = [](uint64_t first, uint64_t count) {
    return is_possible_with(local_steps(), [=](auto& x) {
      x.first_step = first;
      x.step_count = count;
    });
  };
  for (const auto count : {uint64_t{0}, uint64_t{4}, huge})
    EXPECT_FALSE(steps(0, count)) << count;
  EXPECT_FALSE(steps(1, 3)) << "into the next epoch";
  EXPECT_FALSE(steps(3, 3)) << "the run ends before the epoch";
  EXPECT_FALSE(is_possible_with(gradient(), [](auto& x) { x.step_count = 2; }));
}

TEST(work_desk, members_that_are_not_there_are_impossible) {
  for (const auto& sheet : {gradient(), local_steps()})
    for (const auto member : {uint64_t{4}, huge})
      EXPECT_FALSE(is_possible_with(sheet, [=](auto& x) { x.member = member; })) << member;
}

TEST(work_desk, chunks_that_are_not_there_are_impossible) {
  const std::vector<index_range> impossible{{0, 4}, {3, 4}, {2, 2}, {2, 1}, {0, huge}, {huge, 1}};
  for (const auto& chunks : impossible)
    EXPECT_FALSE(is_possible_with(evaluation_sheet(), [&](auto& x) { x.chunks = chunks; }))
      << chunks.begin << ' ' << chunks.end;
}

// Memory is taken for what a sheet announces, and an optimizer counts on its state.
TEST(work_desk, every_order_has_the_vectors_of_its_work) {
  for (const auto count : {uint64_t{0}, uint64_t{2}, uint64_t{4}, huge})
    for (const auto& sheet : {gradient(), local_steps(), evaluation_sheet()})
      EXPECT_FALSE(is_possible_with(sheet, [=](auto& x) { x.vector_count = count; })) << count;
  EXPECT_FALSE(is_possible_with(gradient(), [](auto& x) { x.vector_count = 3; }));
  EXPECT_FALSE(is_possible_with(local_steps(), [](auto& x) { x.vector_count = 1; }));
  EXPECT_FALSE(is_possible_with(evaluation_sheet(), [](auto& x) { x.vector_count = 3; }));
}

TEST(work_desk, a_trainer_that_has_ended_gives_its_orders_back) {
  const moment now{};
  const auto pool = std::make_shared<buffer_pool>(10);
  exchange_port exchange;
  exchange->begin_term(1);
  work_desk desk{exchange, {pool, 10}};
  desk.begin_term(1);
  const auto keeper = exchange.id_of("keeper");
  const auto told = [&](uint64_t number, uint64_t replica) {
    order_sheet news;
    news.term = 1;
    news.number = news.last = number;
    news.replica = replica;
    news.vector_count = 1;
    for (uint64_t k = 1; k <= number; ++k)
      news.open.push_back(k);
    return desk.offer(news, keeper, now);
  };
  EXPECT_FALSE(told(1, 0) || told(2, 1) || told(3, 0));
  trainer_result finished;
  finished.ticket = desk.begin(1).at(0).ticket;
  finished.values = pool->acquire();
  desk.finish(finished, keeper, now);
  const auto lost = desk.lose(0);
  ASSERT_EQ(lost.size(), 1u) << "the first order has its result, the second one is another's";
  EXPECT_TRUE(lost[0].is_lost);
  EXPECT_EQ(lost[0].term, 1u);
  EXPECT_EQ(lost[0].number, 3u);
  EXPECT_EQ(told(3, 0), lost[0]) << "the sheet was lost";
  EXPECT_EQ(told(4, 0)->number, 4u) << "the keeper had not heard of it";
  EXPECT_FALSE(told(5, 1)) << "another trainer's";
  EXPECT_EQ(told(1, 0), std::nullopt) << "a late sheet";
  for (const auto& [from, question] : exchange->awaited())
    EXPECT_TRUE(question.of.key != 3 && question.of.key != 4) << "nothing is missed of these";
  EXPECT_EQ(exchange->figures().tensors_kept, 1u) << "the result";
}

// Numbers begin anew with each term, and a trainer may still be at an order of the one before.
TEST(work_desk, what_comes_of_an_order_of_an_earlier_term_is_of_no_order) {
  const moment now{};
  const auto pool = std::make_shared<buffer_pool>(10);
  exchange_port exchange;
  work_desk desk{exchange, {pool, 10}};
  const auto keeper = exchange.id_of("keeper");
  const auto ordered_in = [&](uint64_t term) {
    exchange->begin_term(term);
    desk.begin_term(term);
    order_sheet news;
    news.term = term;
    news.number = news.last = 1;
    news.open = {1};
    EXPECT_FALSE(desk.offer(news, keeper, now));
    trainer_result result;
    result.ticket = desk.begin(1).at(0).ticket;
    result.values = pool->acquire();
    return result;
  };
  const auto earlier = ordered_in(1);
  const auto current = ordered_in(2);
  EXPECT_FALSE(desk.finish(earlier, keeper, now));
  const auto sheet = desk.finish(current, keeper, now);
  ASSERT_TRUE(sheet);
  EXPECT_EQ(sheet->number, 1u);
  EXPECT_EQ(sheet->term, 2u);
  EXPECT_FALSE(desk.finish(current, keeper, now)) << "once";
}

TEST(work_desk, only_a_lost_trainers_sheet_of_an_open_order_says_who_is_lost) {
  const moment now{};
  exchange_port exchange;
  exchange->begin_term(1);
  order_desk keeper{exchange, {std::make_shared<buffer_pool>(10), 10}};
  keeper.begin_term(1);
  const trainer_life who{"left", 7, 1};
  keeper.open({who, std::nullopt, evaluation_order{{}, 1, 3, buffer{10}, {0, 1}}}, now);
  result_sheet news{1, 1, {}, true, 0, 0, true};
  EXPECT_EQ(keeper.lost_by(news), who);
  EXPECT_FALSE(keeper.offer(news, now));
  EXPECT_EQ(exchange->figures().tensors_kept, 1u) << "an order that was given back is not done";
  news.is_lost = false;
  EXPECT_FALSE(keeper.lost_by(news));
  news = {2, 1, {}, true, 0, 0, true};
  EXPECT_FALSE(keeper.lost_by(news)) << "of another term";
  news = {1, 2, {}, true, 0, 0, true};
  EXPECT_FALSE(keeper.lost_by(news)) << "of no order";
}

} // namespace troupe::work_desk_test
