// Work that is given out once, and again only when whoever had it is lost.

#include "troupe/coordinators/modes/work_book.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>

namespace troupe {

TEST(work_book, pieces_are_begun_in_order) {
  work_book x{2};
  EXPECT_EQ(x.take(0), 0u);
  EXPECT_EQ(x.take(1), 1u);
  EXPECT_FALSE(x.is_free(0));
  EXPECT_TRUE(x.finish(0, 0));
  EXPECT_TRUE(x.is_free(0));
  EXPECT_EQ(x.take(0), 2u);
  EXPECT_EQ(x.begun_count(), 3u);
}

TEST(work_book, what_a_lost_one_had_is_taken_before_anything_new) {
  work_book x{3};
  for (size_t seat = 0; seat < 3; ++seat)
    x.take(seat);
  EXPECT_FALSE(x.has_returned());
  EXPECT_TRUE(x.lose(1));
  EXPECT_TRUE(x.lose(0));
  EXPECT_TRUE(x.has_returned());
  EXPECT_EQ(x.living_count(), 1u);
  x.finish(2, 2);
  EXPECT_EQ(x.take(2), 0u);
  x.finish(2, 0);
  EXPECT_EQ(x.take(2), 1u);
  EXPECT_FALSE(x.has_returned());
  x.finish(2, 1);
  EXPECT_EQ(x.take(2), 3u);
}

TEST(work_book, a_result_counts_from_whoever_has_the_piece) {
  work_book x{2};
  x.take(0);
  EXPECT_FALSE(x.finish(1, 0)) << "another's";
  EXPECT_FALSE(x.finish(9, 0)) << "nobody's";
  x.lose(0);
  EXPECT_FALSE(x.finish(0, 0)) << "a lost one's";
  EXPECT_EQ(x.take(1), 0u);
  EXPECT_TRUE(x.finish(1, 0));
  EXPECT_FALSE(x.finish(1, 0)) << "twice";
}

TEST(work_book, an_empty_seat_gets_nothing_until_somebody_comes) {
  work_book x{2};
  x.lose(0);
  EXPECT_FALSE(x.lose(0));
  EXPECT_FALSE(x.lose(5));
  EXPECT_FALSE(x.is_free(0));
  EXPECT_FALSE(x.is_free(5));
  EXPECT_THROW(x.take(0), std::logic_error);
  EXPECT_EQ(x.join(), 0u);
  EXPECT_TRUE(x.is_free(0));
  EXPECT_EQ(x.join(), 2u);
  EXPECT_EQ(x.seat_count(), 3u);
  EXPECT_EQ(x.living_count(), 3u);
}

TEST(work_book, starts_anew_only_when_all_is_done) {
  work_book x{2};
  x.take(0);
  EXPECT_THROW(x.start_anew(), std::logic_error);
  x.lose(0);
  EXPECT_THROW(x.start_anew(), std::logic_error);
  x.take(1);
  x.finish(1, 0);
  x.start_anew();
  EXPECT_EQ(x.take(1), 0u);
}

TEST(work_book, every_piece_is_finished_once_whatever_happens) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    std::mt19937_64 random{seed};
    work_book x{1 + random() % 4};
    std::map<uint64_t, int> done;
    std::vector<std::pair<size_t, uint64_t>> given; // also to those who are lost by now
    while (done.size() < 20) {
      const auto seat = random() % x.seat_count();
      const auto what = random() % 8;
      if (what == 0 && x.living_count() > 1)
        x.lose(seat);
      else if (what == 1 && x.seat_count() < 6)
        x.join();
      else if (what < 5 && x.is_free(seat) && (x.has_returned() || x.begun_count() < 20))
        given.emplace_back(seat, x.take(seat));
      else if (!given.empty())
        if (const auto [who, piece] = given[random() % given.size()]; x.finish(who, piece))
          ++done[piece];
    }
    for (const auto& [piece, count] : done)
      ASSERT_EQ(count, 1) << "piece " << piece << ", seed " << seed;
  }
}

} // namespace troupe
