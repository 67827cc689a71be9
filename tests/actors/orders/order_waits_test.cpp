// Whom the keeper's desk says it waits for: work under way is no news, work that is late is.

#include "troupe/actors/orders/order_desk.hpp"
#include "troupe/tests/support/payloads.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;

constexpr size_t size = 10;
const trainer_life left{"left", 7, 0};
const trainer_life right{"right", 8, 0};
using waits = std::vector<awaited>;

class order_waits : public testing::Test {
protected:
  void order(uint64_t step, const trainer_life& who = left) {
    trainer_order work;
    work.first_step = step;
    work.parameters = test::counting_from(0, size).storage();
    desk.open({who, work, std::nullopt}, now);
  }
  void announce(uint64_t number) { desk.offer(result_sheet{1, number, {}, true, 0, 1}, now); }
  void bring(uint64_t number, size_t first, size_t count) {
    desk.offer(parcel_piece{1, true, number, 0, first, test::counting_from(0, count), {}}, now);
  }
  waits in(std::chrono::nanoseconds time) const { return desk.waits(now + time); }

  order_desk desk{1, std::make_shared<buffer_pool>(size)};
  moment now{};
};

} // namespace

TEST_F(order_waits, name_nothing_that_is_under_way) {
  order(3);
  EXPECT_EQ(in(1999ms), waits{});
  EXPECT_EQ(in(2s), (waits{{"left", "the gradient of step 3"}}));
}

TEST_F(order_waits, are_patient_with_a_trainer_that_was_always_slow) {
  order(3);
  now += 10s;
  announce(1);
  bring(1, 0, size);
  order(4);
  order(5, right);
  EXPECT_EQ(in(2s), (waits{{"right", "the gradient of step 5"}})) << "of this one nothing is known";
  EXPECT_EQ(in(29'999ms).size(), 1u);
  EXPECT_EQ(in(30s).size(), 2u);
}

TEST_F(order_waits, forget_a_long_absence_after_a_while) {
  order(3);
  now += 60s;
  announce(1);
  bring(1, 0, size);
  for (uint64_t number = 2; number < 45; ++number) {
    order(number);
    now += 10ms;
    announce(number);
    bring(number, 0, size);
  }
  order(45);
  EXPECT_EQ(in(2s).size(), 1u);
}

TEST_F(order_waits, are_for_another_life_as_for_a_stranger) {
  order(3);
  now += 60s;
  announce(1);
  desk.keep_if([](const trainer_life&) { return false; });
  order(4);
  EXPECT_EQ(in(2s).size(), 1u);
}

TEST_F(order_waits, name_what_was_announced_and_does_not_come) {
  order(3);
  now += 10s;
  announce(1);
  now += 1s;
  bring(1, 0, 4);
  EXPECT_EQ(in(1999ms), waits{}) << "some of it came just now";
  EXPECT_EQ(in(2s), (waits{{"left", "values of the gradient of step 3"}}));
}

} // namespace troupe
