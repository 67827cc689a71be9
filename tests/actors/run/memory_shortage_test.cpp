// Who runs out of memory all the same is told by name, with what the plan had counted on.

#include "troupe/actors/base/guard.hpp"
#include "troupe/actors/run/job_data.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace troupe {

namespace {

using thrower_actor = caf::typed_actor<caf::reacts_to<bool>>;

struct thrower_state {
  thrower_actor::behavior_type make_behavior() {
    return {[](bool lacks_memory) {
      if (lacks_memory)
        throw std::bad_alloc();
      throw std::runtime_error("something else");
    }};
  }
};

thrower_actor::behavior_type thrower(self_pointer<thrower_actor, thrower_state> self) {
  guard(self);
  return self->state.make_behavior();
}

/// What an actor's end says after it threw.
failure end_of_thrower(bool lacks_memory) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  const auto actor = self->spawn<caf::monitored>(thrower);
  self->send(actor, lacks_memory);
  std::string why;
  self->receive([&](const caf::down_msg& news) { why = reason_text(system, news.reason); });
  return loss_failure(why);
}

} // namespace

TEST(memory_shortage, an_actor_without_memory_ends_the_run_as_a_job_that_is_too_large) {
  EXPECT_EQ(end_of_thrower(true).code(), failure_code::bad_job);
  EXPECT_EQ(end_of_thrower(true).reason(), "there is not enough memory");
  EXPECT_EQ(end_of_thrower(false).code(), failure_code::internal);
  EXPECT_EQ(end_of_thrower(false).reason(), "something else");
}

TEST(memory_shortage, the_plan_s_figure_is_told_and_other_failures_are_left_alone) {
  const data_shape shape{100, 0, 4, 3, true, {30, 30, 40}};
  job x;
  x.model.hidden = {8};
  const auto resolved = resolve(x, shape, 1);
  const auto told =
    with_plan(loss_failure("shard 0 was lost: there is not enough memory"), resolved, shape);
  EXPECT_EQ(told.code(), failure_code::bad_job);
  EXPECT_TRUE(told.reason().starts_with(
    "shard 0 was lost: there is not enough memory; the plan counts on about "))
    << told.reason();
  EXPECT_FALSE(told.hint().empty());
  EXPECT_EQ(with_plan(loss_failure("a defect"), resolved, shape).reason(), "a defect");
}

} // namespace troupe
