// Whom the parameter server's queue says it waits for, and for how many owners of spans a result waits: work under way
// is no news, work that is late is.

#include "actors/tasks/task_queue.hpp"
#include "tests/support/payloads.hpp"

#include <gtest/gtest.h>

namespace troupe::task_waits_test {
namespace {

using namespace std::chrono_literals;

constexpr size_t size = 10;
const trainer_life left{"left", 7, 1};
const trainer_life right{"right", 8, 0};
const trainer_life first_of_left{"left", 7, 0};
using waits = std::vector<awaited>;

class task_waits : public testing::Test {
protected:
  task_waits() {
    exchange->begin_term(1);
    vectors.begin_term(1, {std::make_shared<buffer_pool>(size), {0, size}});
    queue.begin_term(1, {});
  }

  void task(uint64_t step, const trainer_life& who = first_of_left) {
    trainer_task work;
    work.first_step = step;
    work.number = ++opened;
    work.parameters = test::counting_from(0, size).storage();
    queue.open({who, work, std::nullopt}, false, now);
  }
  void announce(uint64_t number) { queue.offer(result_header{1, number, {}, true, 0, 1}, now); }
  /// Values of a result, from the first on.
  void bring(uint64_t number, size_t count = size) {
    const tensor_piece news{
      {tensor_kind::result, 1, number}, 0, test::counting_from(0, count), {}, {}};
    EXPECT_EQ(exchange->on_piece(exchange.id_of("left"), news, now), piece_verdict::accepted);
    queue.hear(number, now);
    EXPECT_TRUE(count < size || queue.finish(number));
  }
  waits in(std::chrono::nanoseconds time) const { return queue.waits(now + time); }

  exchange_port exchange;
  task_vectors vectors{exchange};
  task_queue queue{vectors};
  uint64_t opened = 0;
  moment now{};
};

// Other owners forget what was dropped, and never say that they have it.
TEST_F(task_waits, a_result_counts_once_all_owners_have_it_and_a_dropped_one_at_once) {
  queue.begin_term(1, {{3, "owner"}});
  task(1);
  task(2);
  announce(1);
  const tensor_piece news{{tensor_kind::result, 1, 1}, 0, test::counting_from(0, size), {}, {}};
  exchange->on_piece(exchange.id_of("left"), news, now);
  EXPECT_FALSE(queue.finish(1)) << "the other owner lacks it";
  EXPECT_EQ(in(2s), (waits{{"owner", "values of the gradient of step 1"},
                           {"left", "the gradient of step 2"}}));
  EXPECT_TRUE(queue.on_progress({1, 4, 9, {1}}, now).empty()) << "no owner";
  EXPECT_TRUE(queue.on_progress({2, 3, 9, {1}}, now).empty()) << "another term's";
  const auto whole = queue.on_progress({1, 3, 9, {1, 7}}, now);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].result.values.size(), size);
  EXPECT_FALSE(queue.drop(2)) << "its trainer is at it still";
  const auto dropped = queue.offer(result_header{1, 2, {}, true, 0, 1}, now);
  ASSERT_TRUE(dropped);
  EXPECT_FALSE(dropped->result.values) << "nothing of it is needed";
}

// What other owners have forgotten can never be begun: its trainer is told, and answers.
TEST_F(task_waits, dropped_tasks_and_evaluations_are_answered_without_vectors) {
  queue.begin_term(1, {{3, "owner"}});
  task(1);
  evaluation_task shares;
  shares.version = 7;
  shares.model.values = test::counting_from(0, size).storage();
  for (const auto& who : {first_of_left, right})
    queue.open({who, std::nullopt, shares}, false, now);
  EXPECT_FALSE(queue.drop(1));
  EXPECT_FALSE(queue.drop(evaluation_of(7)));
  const auto headers = queue.due(now + 200ms);
  ASSERT_EQ(headers.size(), 3u);
  for (const auto& [to, header] : headers)
    EXPECT_TRUE(header.is_dropped);
  EXPECT_TRUE(queue.offer(result_header{1, 1, {}, false, 0, 0}, now));
  for (const uint64_t number : {2, 3})
    EXPECT_FALSE(queue.offer(result_header{1, number, {}, false, 0, 0}, now));
  EXPECT_TRUE(queue.due(now + 10s).empty());
}

TEST_F(task_waits, name_nothing_that_is_under_way) {
  task(3);
  EXPECT_EQ(in(1999ms), waits{});
  EXPECT_EQ(in(2s), (waits{{"left", "the gradient of step 3"}}));
}

TEST_F(task_waits, are_patient_with_a_trainer_that_was_always_slow) {
  task(3);
  now += 10s;
  announce(1);
  bring(1);
  task(4);
  task(5, right);
  EXPECT_EQ(in(2s), (waits{{"right", "the gradient of step 5"}})) << "of this one nothing is known";
  EXPECT_EQ(in(29'999ms).size(), 1u);
  EXPECT_EQ(in(30s).size(), 2u);
}

TEST_F(task_waits, forget_a_long_absence_after_a_while) {
  task(3);
  now += 60s;
  announce(1);
  bring(1);
  for (uint64_t number = 2; number < 45; ++number) {
    task(number);
    now += 10ms;
    announce(number);
    bring(number);
  }
  task(45);
  EXPECT_EQ(in(2s).size(), 1u);
}

TEST_F(task_waits, are_for_another_life_as_for_a_stranger) {
  task(3);
  now += 60s;
  announce(1);
  queue.keep_if([](const trainer_life&) { return false; });
  task(4);
  EXPECT_EQ(in(2s).size(), 1u);
}

TEST_F(task_waits, name_what_was_announced_and_does_not_come) {
  task(3);
  now += 10s;
  announce(1);
  EXPECT_EQ(in(1999ms), waits{});
  now += 1s;
  bring(1, 4);
  EXPECT_EQ(in(1999ms), waits{}) << "some of it came just now";
  EXPECT_EQ(in(2s), (waits{{"left", "values of the gradient of step 3"}}));
}

} // namespace
} // namespace troupe::task_waits_test
