#include "troupe/coordinators/modes/piece_losses.hpp"

#include <gtest/gtest.h>

namespace troupe::piece_losses_test {

using advice = piece_losses::advice;

namespace {

moment at(int64_t ms) {
  return moment{} + milliseconds{ms};
}

} // namespace

TEST(piece_losses, a_piece_is_given_out_so_often_and_then_left_out) {
  piece_losses x{{2, milliseconds{1000}}};
  x.on_lost(7, {"here", 0}, 0, at(0));
  EXPECT_EQ(x.of(7, at(0)), advice::give);
  x.on_lost(7, {"here", 1}, 0, at(1));
  EXPECT_EQ(x.of(7, at(1)), advice::leave_out);
  EXPECT_EQ(x.of(8, at(1)), advice::give);
  x.forget(7);
  EXPECT_EQ(x.of(7, at(2)), advice::give);
}

TEST(piece_losses, of_other_processes_the_end_waits_for_those_who_may_come_back) {
  piece_losses x{{2, milliseconds{1000}}};
  x.on_lost(7, {"left", 0}, 11, at(0));
  x.on_lost(7, {"right", 0}, 12, at(500));
  EXPECT_EQ(x.of(7, at(1'400)), advice::wait);
  EXPECT_EQ(x.of(7, at(1'500)), advice::leave_out);
  x.on_joined({"left", 0}, 13); // started again: it had died
  EXPECT_EQ(x.of(7, at(1'500)), advice::leave_out);
  x.on_joined({"left", 0}, 11);
  EXPECT_EQ(x.of(7, at(1'500)), advice::give);
}

TEST(piece_losses, without_attempts_nothing_is_left_out) {
  piece_losses x;
  for (int i = 0; i < 100; ++i)
    x.on_lost(7, {"here", 0}, 0, at(i));
  EXPECT_EQ(x.of(7, at(100)), advice::give);
}

} // namespace troupe::piece_losses_test
