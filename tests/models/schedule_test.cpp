#include "troupe/models/schedule.hpp"

#include "troupe/tests/support/reference.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

schedule_options options_of(const nlohmann::json& x) {
  schedule_options options;
  options.kind = *from_name<schedule_kind>(x.at("kind").get<std::string>());
  options.steps = x.value("steps", options.steps);
  options.factor = x.value("factor", options.factor);
  options.minimum = x.value("minimum", options.minimum);
  options.start = x.value("start", options.start);
  if (x.contains("then"))
    options.then.push_back(options_of(x.at("then")));
  return options;
}

} // namespace

TEST(schedule, factors_match_pytorch) {
  const auto reference = test::load_reference("schedules.json");
  ASSERT_GE(reference.size(), 6u);
  for (const auto& [name, entry] : reference.items()) {
    const auto options = options_of(entry.at("options"));
    const auto factors = test::flat<double>(entry.at("factors"));
    ASSERT_EQ(factors.size(), 21u);
    for (size_t t = 0; t < factors.size(); ++t)
      EXPECT_NEAR(schedule_factor(options, t), factors[t], 2e-9) << name << ' ' << t;
  }
}

TEST(schedule, cosine_takes_hand_worked_values_and_stays_at_its_minimum) {
  schedule_options options{schedule_kind::cosine, 4};
  options.minimum = 0.2;
  EXPECT_EQ(schedule_factor(options, 0), 1);
  EXPECT_NEAR(schedule_factor(options, 2), 0.6, 1e-12);
  EXPECT_NEAR(schedule_factor(options, 4), 0.2, 1e-12);
  EXPECT_NEAR(schedule_factor(options, 1000), 0.2, 1e-12);
}

TEST(schedule, warmup_hands_over_to_the_schedule_that_follows) {
  schedule_options options{schedule_kind::warmup, 4};
  options.start = 0.2;
  options.then.push_back({schedule_kind::step, 2, 0.5});
  EXPECT_NEAR(schedule_factor(options, 0), 0.2, 1e-15);
  EXPECT_NEAR(schedule_factor(options, 3), 0.8, 1e-15);
  EXPECT_EQ(schedule_factor(options, 4), 1);
  EXPECT_EQ(schedule_factor(options, 6), 0.5);
  options.then.clear();
  EXPECT_EQ(schedule_factor(options, 6), 1);
}

TEST(schedule, options_out_of_range_are_refused) {
  const auto refused = [](schedule_options options) {
    EXPECT_THROW(schedule_factor(options, 1), std::invalid_argument);
  };
  refused({schedule_kind::step, 0});
  refused({schedule_kind::step, 1, 0});
  refused({schedule_kind::step, 1, 1.5});
  refused({schedule_kind::cosine, 1, 0.1, -0.1});
  refused({schedule_kind::cosine, 1, 0.1, 1.1});
  refused({schedule_kind::warmup, 1, 0.1, 0, -1});
  refused({schedule_kind::warmup, 1, 0.1, 0, 0, {{}, {}}});
}

} // namespace troupe
