#include "coordinators/job/added_values.hpp"

#include "models/kinds/added_tables.hpp"

#include <gtest/gtest.h>

namespace troupe::added_values_test {
namespace {

struct slope {
  double below = 0;
};

std::vector<job_problem> problems_of(const job& x) {
  problem_list check;
  check_added_values(check, x);
  return check.found;
}

class added_values : public testing::Test {
protected:
  static void SetUpTestSuite() {
    activations().add<slope>(
      "leaky", {3, ""}, {option("below", &slope::below, within(0, 1), "")}, [](const slope& x) {
        const auto below = static_cast<float>(x.below);
        return own_activation{each_value([below](float v) { return v > 0 ? v : below * v; },
                                         [below](float v) { return v > 0 ? 1.0f : below; })};
      });
  }
  static activation_kind leaky(double below) {
    return activations().value({"leaky", {{"below", below}}});
  }
};

TEST_F(added_values, one_kind_has_one_set_of_options_in_a_model) {
  job x;
  x.model.activation = std::vector{leaky(0.25), activation_kind::relu, leaky(0.25)};
  EXPECT_TRUE(problems_of(x).empty());
  x.model.activation = std::vector{leaky(0.25), leaky(0.5)};
  ASSERT_FALSE(problems_of(x).empty()) << "its file would be read with the first alone";
  EXPECT_EQ(problems_of(x).front().key, "model.activation");
}

TEST_F(added_values, options_beside_a_value_become_part_of_it) {
  job x;
  x.model.activation = leaky(0.25);
  settle_added_values(x);
  EXPECT_EQ(x.model.activation.of(0), leaky(0.25)) << "nothing stands beside it";
  x.model.added.options["below"] = 0.5;
  settle_added_values(x);
  settle_added_values(x);
  EXPECT_EQ(x.model.activation.of(0), leaky(0.5));
  const auto named = added_values_of(x);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(probe_line(named[0].table, *named[0].kind, "77"), "activation leaky 3 = 77");
  x.model.added.options["above"] = 0.5;
  EXPECT_EQ(problems_of(x).front().key, "model.above");
}

} // namespace
} // namespace troupe::added_values_test
