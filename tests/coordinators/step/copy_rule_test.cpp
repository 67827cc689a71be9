// Which versions an owner copies, and which one waits for the copy before.

#include "coordinators/step/copy_rule.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace troupe::copy_rule_test {
namespace {

std::vector<uint64_t> copied_up_to(uint64_t last, copy_rule rule, uint64_t first = 0) {
  std::vector<uint64_t> result;
  for (uint64_t version = first; version <= last; ++version)
    if (rule.is_due(version)) {
      EXPECT_TRUE(rule.may_copy());
      rule.on_copied(version);
      EXPECT_FALSE(rule.is_due(version));
      EXPECT_FALSE(rule.on_saved(version));
      result.push_back(version);
    }
  return result;
}

TEST(copy_rule, each_so_many_steps_and_what_a_term_begins_with_but_the_initial_parameters) {
  EXPECT_EQ(copied_up_to(10, {0, 3}), (std::vector<uint64_t>{3, 6, 9}));
  EXPECT_EQ(copied_up_to(10, {4, 3}, 4), (std::vector<uint64_t>{4, 6, 9}));
  EXPECT_EQ(copied_up_to(10, {0, 0}), (std::vector<uint64_t>{}));
  EXPECT_EQ(copied_up_to(10, copy_rule{}), (std::vector<uint64_t>{}));
}

TEST(copy_rule, one_waits_for_the_copy_before) {
  copy_rule rule{0, 1};
  EXPECT_TRUE(rule.may_copy());
  rule.on_copied(1);
  EXPECT_FALSE(rule.waits());
  EXPECT_FALSE(rule.may_copy());
  EXPECT_TRUE(rule.waits());
  EXPECT_FALSE(rule.on_saved(2));
  EXPECT_TRUE(rule.waits());
  EXPECT_TRUE(rule.on_saved(1));
  EXPECT_FALSE(rule.waits());
  EXPECT_FALSE(rule.on_saved(1)) << "said again";
  EXPECT_TRUE(rule.may_copy());
}

} // namespace
} // namespace troupe::copy_rule_test
