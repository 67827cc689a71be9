#include "models/kinds/option.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::option_test {
namespace {

struct mine {
  bool flag = true;
  size_t count = 3;
  int32_t shift = -2;
  double share = 0.5;
  std::string mode = "a";
  std::vector<size_t> sizes = {1, 2};
  std::vector<double> weights;
};

option_info share_in(option_range range) {
  return option("share", &mine::share, std::move(range), "").info;
}

TEST(option, the_default_is_that_of_the_struct) {
  EXPECT_EQ(option("flag", &mine::flag, anything(), "").info.fallback, option_value{true});
  EXPECT_EQ(option("count", &mine::count, anything(), "").info.fallback, option_value{int64_t{3}});
  EXPECT_EQ(option("shift", &mine::shift, anything(), "").info.fallback, option_value{int64_t{-2}});
  EXPECT_EQ(option("sizes", &mine::sizes, anything(), "").info.fallback,
            (option_value{std::vector<int64_t>{1, 2}}));
}

TEST(option, sets_and_gets_its_member) {
  const auto row = option("sizes", &mine::sizes, at_least(1), "");
  mine x;
  row.set(x, std::vector<int64_t>{4});
  EXPECT_EQ(x.sizes, std::vector<size_t>{4});
  EXPECT_EQ(row.get(x), (option_value{std::vector<int64_t>{4}}));
}

TEST(option, a_whole_number_is_one_for_a_double_too) {
  const auto taken = taken_value(share_in(within(0, 1)), int64_t{1});
  EXPECT_EQ(taken, option_value{1.0});
  EXPECT_FALSE(taken_value(option("count", &mine::count, anything(), "").info, 1.0));
  EXPECT_EQ(
    taken_value(option("weights", &mine::weights, anything(), "").info, std::vector<int64_t>{1, 2}),
    (option_value{std::vector<double>{1, 2}}));
}

TEST(option, bounds_hold_at_their_ends) {
  EXPECT_TRUE(taken_value(share_in(within(0, 1)), 1.0));
  EXPECT_FALSE(taken_value(share_in(from_to_below(0, 1)), 1.0));
  EXPECT_TRUE(taken_value(share_in(from_to_below(0, 1)), 0.0));
  EXPECT_FALSE(taken_value(share_in(above(0)), 0.0));
  EXPECT_FALSE(taken_value(share_in(at_least(0)), -1e-9));
  EXPECT_FALSE(taken_value(share_in(anything()), std::nan("")));
  EXPECT_FALSE(taken_value(share_in(anything()), std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(taken_value(option("weights", &mine::weights, at_least(0), "").info,
                           std::vector<double>{1, -1}));
}

TEST(option, a_number_that_the_member_cannot_hold_is_none) {
  const auto shift = option("shift", &mine::shift, anything(), "").info;
  EXPECT_TRUE(taken_value(shift, int64_t{2147483647}));
  EXPECT_FALSE(taken_value(shift, int64_t{2147483648}));
  EXPECT_FALSE(taken_value(option("count", &mine::count, anything(), "").info, int64_t{-1}));
}

TEST(option, texts_are_one_of_the_choices) {
  const auto mode = option("mode", &mine::mode, one_of({"a", "b"}), "").info;
  EXPECT_TRUE(taken_value(mode, std::string{"b"}));
  EXPECT_FALSE(taken_value(mode, std::string{"c"}));
}

TEST(option, a_default_out_of_range_and_a_name_that_is_none_are_refused) {
  EXPECT_THROW(share_in(above(1)), std::invalid_argument);
  EXPECT_THROW(option("Share", &mine::share, anything(), ""), std::invalid_argument);
  EXPECT_THROW(option("a.b", &mine::share, anything(), ""), std::invalid_argument);
  EXPECT_THROW(option("", &mine::share, anything(), ""), std::invalid_argument);
}

TEST(option, says_what_it_takes) {
  EXPECT_EQ(type_text(share_in(from_to_below(0, 1))), "number in [0, 1)");
  EXPECT_EQ(type_text(share_in(above(0))), "number > 0");
  EXPECT_EQ(type_text(option("count", &mine::count, within(1, 64), "").info),
            "integer from 1 to 64");
  EXPECT_EQ(type_text(option("count", &mine::count, anything(), "").info), "integer >= 0");
  EXPECT_EQ(type_text(option("shift", &mine::shift, anything(), "").info), "integer");
  EXPECT_EQ(type_text(option("mode", &mine::mode, one_of({"a", "b"}), "").info), "\"a\" | \"b\"");
  EXPECT_EQ(type_text(option("sizes", &mine::sizes, at_least(1), "").info),
            "list of integers >= 1");
}

TEST(option, values_are_written_for_files_and_for_identities) {
  EXPECT_EQ(option_text(1.0), "1.0");
  EXPECT_EQ(option_text(1e-8), "1e-08");
  EXPECT_EQ(option_text(0.1), "0.1");
  EXPECT_EQ(option_text(int64_t{-7}), "-7");
  EXPECT_EQ(option_text(std::string{"a\"b\nc"}), "\"a\\\"b\\u000ac\"");
  EXPECT_EQ(option_text(std::vector<double>{0.5, 2}), "[0.5, 2.0]");
  EXPECT_EQ(bits_text(1.0), "3ff0000000000000");
  EXPECT_EQ(bits_text(std::vector<double>{1, -0.0}), "[3ff0000000000000 8000000000000000]");
  EXPECT_EQ(options_text({"x", {{"b", true}, {"a", int64_t{1}}}}), "{\"a\": 1, \"b\": true}");
}

} // namespace
} // namespace troupe::option_test
