#include "troupe/coordinators/run/seam_waits.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::seam_waits_test {

namespace {

const replica_name front{"a", 0};
const replica_name middle{"a", 1};
const replica_name back{"b", 0};

const trainer_statistics& of(const std::vector<named_statistics>& figures,
                             const replica_name& who) {
  for (const auto& one : figures)
    if (one.who == who)
      return one.figures;
  throw std::out_of_range(who.process);
}

} // namespace

TEST(seam_waits, blame_whom_others_stood_idle_for) {
  seam_waits of_back;
  of_back.computed = milliseconds{10};
  of_back.add(middle, milliseconds{30});
  of_back.add(middle, milliseconds{50});
  seam_waits of_middle;
  of_middle.add(front, milliseconds{80});
  std::vector<named_statistics> figures{{back, {}}}; // the shard of the book heard of it alone
  figures.front().figures.network = milliseconds{99};
  figures.front().figures.computed = milliseconds{1};
  count_waits(figures,
              {{front, 7, {milliseconds{90}, {}}}, {middle, 7, of_middle}, {back, 6, of_back}});
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(of(figures, front).last_by, milliseconds{80});
  EXPECT_EQ(of(figures, front).last_count, 1u);
  EXPECT_EQ(of(figures, front).waited, milliseconds{0});
  EXPECT_EQ(of(figures, front).computed, milliseconds{90});
  EXPECT_EQ(of(figures, front).result_count, 7u);
  EXPECT_EQ(of(figures, middle).last_by, milliseconds{80}) << "all of it handed on";
  EXPECT_EQ(of(figures, middle).last_by_max, milliseconds{50});
  EXPECT_EQ(of(figures, middle).last_count, 2u);
  EXPECT_EQ(of(figures, middle).waited, milliseconds{80});
  EXPECT_EQ(of(figures, back).waited, milliseconds{80});
  EXPECT_EQ(of(figures, back).computed, milliseconds{10}) << "by its own clock";
  EXPECT_EQ(of(figures, back).network, milliseconds{0}) << "seen from outside waits are in it";
  EXPECT_EQ(of(figures, back).result_count, 6u);
}

TEST(seam_waits, waits_for_who_is_gone_are_nobodys) {
  seam_waits waits;
  waits.add(front, milliseconds{30});
  std::vector<named_statistics> figures;
  count_waits(figures, {{back, 1, waits}});
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(of(figures, back).waited, milliseconds{30});
}

} // namespace troupe::seam_waits_test
