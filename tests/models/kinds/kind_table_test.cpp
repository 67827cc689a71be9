#include "models/kinds/model_kinds.hpp"
#include "models/kinds/optimizer_kinds.hpp"
#include "models/kinds/option.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/segments/segment_chain.hpp"
#include "tests/support/wave.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::kind_table_test {
namespace {

struct thing {
  int made_of = 0;
};
struct thing_options {
  size_t count = 2;
  double share = 0.25;
};
using table = kind_table<thing, int>;

void add(table& x, const std::string& name, kind_info info = {}) {
  x.add<thing_options>(name, std::move(info),
                       {option("count", &thing_options::count, within(1, 9), "how many"),
                        option("share", &thing_options::share, within(0, 1), "of it")},
                       [](const thing_options& options, const int& input) {
                         return std::make_unique<thing>(
                           thing{static_cast<int>(options.count) * input});
                       });
}

TEST(kind_table, makes_what_was_added_with_the_options_of_the_job) {
  table x{"thing", {"old"}};
  add(x, "mine");
  EXPECT_EQ(x.make({"mine", {}}, 10)->made_of, 20);
  EXPECT_EQ(x.make({"mine", {{"count", int64_t{3}}}}, 10)->made_of, 30);
}

TEST(kind_table, a_job_in_code_names_options_by_their_struct) {
  table x{"thing", {}};
  add(x, "mine");
  const auto mine = x.of("mine", thing_options{.count = 4});
  EXPECT_EQ(mine, (component{"mine", {{"count", int64_t{4}}, {"share", 0.25}}}));
  EXPECT_EQ(x.make(mine, 10)->made_of, 40);
  EXPECT_THROW(x.of("mine", wave_options{}), std::invalid_argument);
  EXPECT_THROW(x.of("theirs", thing_options{}), std::invalid_argument);
}

TEST(kind_table, a_name_is_added_once) {
  table x{"thing", {"old"}};
  add(x, "mine");
  EXPECT_THROW(add(x, "mine"), std::invalid_argument);
  EXPECT_THROW(add(x, "old"), std::invalid_argument);
  EXPECT_THROW(add(x, "Mine"), std::invalid_argument);
  EXPECT_THROW(add(x, "a b"), std::invalid_argument);
  EXPECT_THROW(add(x, ""), std::invalid_argument);
  EXPECT_THROW(add(x, std::string(65, 'a')), std::invalid_argument);
  EXPECT_THROW(add(x, "other", {0, ""}), std::invalid_argument);
  EXPECT_EQ(x.names(), std::vector<std::string>{"mine"});
}

TEST(kind_table, two_options_have_two_names) {
  table x{"thing", {}};
  const auto row = option("count", &thing_options::count, anything(), "");
  EXPECT_THROW(
    x.add<thing_options>("mine", {}, {row, row}, [](const auto&, const int&) { return nullptr; }),
    std::invalid_argument);
}

TEST(kind_table, says_all_that_is_wrong_with_options) {
  table x{"thing", {}};
  add(x, "mine");
  const auto found =
    x.problems({"mine", {{"count", int64_t{10}}, {"extra", true}, {"share", int64_t{1}}}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "count");
  EXPECT_EQ(found[0].why, "expected integer from 1 to 9, got 10");
  EXPECT_EQ(found[1].why, "mine takes no extra");
  EXPECT_THROW(x.make({"mine", {{"extra", true}}}, 1), std::invalid_argument);
}

TEST(kind_table, a_kind_that_nobody_added_is_named_with_those_there_are) {
  table x{"thing", {"old"}};
  add(x, "mine");
  const auto found = x.problems({"theirs", {}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].why, "this program has no thing of kind 'theirs'; it has old, mine");
  EXPECT_THROW(x.make({"theirs", {}}, 1), std::invalid_argument);
}

TEST(kind_table, an_identity_has_the_version_and_every_option) {
  table x{"thing", {}};
  add(x, "mine", {3, ""});
  EXPECT_EQ(identity_lines("thing", x.at("mine"), {"mine", {{"share", int64_t{1}}}}),
            "thing.kind = mine 3\nthing.mine.count = 2\nthing.mine.share = 3ff0000000000000\n");
}

TEST(own_model, is_one_segment_that_nobody_shares) {
  add_wave();
  const auto x = make_own_model({"wave", {{"harmonics", int64_t{2}}}}, {1, 1, loss_kind::squared});
  EXPECT_EQ(x->layout().size(), 5u);
  EXPECT_EQ(x->chain().size(), 1u);
  EXPECT_EQ(x->chain().part_count(), 1u);
  EXPECT_EQ(x->chain().tile(0, 0), (index_range{0, 5}));
  EXPECT_FALSE(x->chain().reads_sparse());
}

TEST(own_model, can_be_copied) {
  const wave first{{}, {1, 1, loss_kind::squared}};
  EXPECT_EQ(first.chain().size(), 1u);
  const wave second = first;
  EXPECT_EQ(second.chain().tile(0, 0), (index_range{0, 3}));
  EXPECT_EQ(second.layout(), first.layout());
}

TEST(own_model, that_does_not_fit_is_refused) {
  models().add<wave_options>("one-feature", {}, {}, [](const wave_options& x, const model_input&) {
    return std::make_unique<wave>(x, model_input{1, 1, loss_kind::squared});
  });
  EXPECT_NO_THROW(make_own_model({"one-feature", {}}, {1, 1, loss_kind::squared}));
  EXPECT_THROW(make_own_model({"one-feature", {}}, {2, 1, loss_kind::squared}), std::logic_error);
  EXPECT_THROW(make_own_model({"one-feature", {}}, {1, 1, loss_kind::absolute}), std::logic_error);
}

struct step_options {
  double beta1 = 0.5;
};

// p' = p - beta1 a g
class shortened : public optimizer {
public:
  shortened(const step_options& x, const optimizer_options& common)
    : optimizer(common), share_(static_cast<float>(x.beta1)) {}
  size_t slot_count() const override { return 0; }
  void update(const update_step& step, const update_piece& x,
              const optimizer_state&) const override {
    for (size_t i = 0; i < x.count; ++i)
      x.next[i] =
        x.parameters[i] - share_ * step.learning_rate * step.gradient_factor * x.gradient_sum[i];
  }

private:
  float share_;
};

TEST(own_optimizer, has_the_rate_and_the_constants_of_the_job) {
  optimizers().add<step_options>(
    "shortened", {}, {option("beta1", &step_options::beta1, within(0, 1), "share")},
    [](const auto& x, const auto& common) { return std::make_unique<shortened>(x, common); });
  optimizer_options options;
  options.own.kind = "shortened";
  options.learning_rate = 0.1;
  const auto next = [&] {
    const auto rule = make_optimizer(options);
    const float gradient = 8, before = 1;
    float after = 0;
    rule->update(rule->begin_step(0, 2, direction::descent), {&gradient, &before, &after, 0, 1},
                 {});
    return after;
  };
  EXPECT_FLOAT_EQ(next(), 1 - 0.5f * 0.1f * 4);
  options.beta1 = 0.25;
  EXPECT_FLOAT_EQ(next(), 1 - 0.25f * 0.1f * 4);
  EXPECT_EQ(with_kind_defaults(options).own.options.at("beta1"), option_value{0.25});
  options.beta1.reset();
  EXPECT_EQ(with_kind_defaults(options).beta1, 0.5);
}

TEST(own_optimizer, that_forgets_the_rate_is_refused) {
  optimizers().add<step_options>("forgetful", {}, {}, [](const auto& x, const optimizer_options&) {
    return std::make_unique<shortened>(x, optimizer_options{});
  });
  optimizer_options options;
  options.own.kind = "forgetful";
  options.learning_rate = 0.5;
  EXPECT_THROW(make_optimizer(options), std::logic_error);
}

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
} // namespace troupe::kind_table_test
