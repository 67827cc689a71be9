// Who runs out of memory all the same is told by name, with what the plan had counted on. And a run
// ends with the code of what its part met: damaged data are no defect of the program.

#include "actors/base/guard.hpp"
#include "actors/run/job_data.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

namespace troupe::memory_shortage_test {

namespace {

using thrower_actor = caf::typed_actor<caf::reacts_to<std::string>>;

struct thrower_state {
  thrower_actor::behavior_type make_behavior() {
    return {[](const std::string& what) {
      if (what == "no memory")
        throw std::bad_alloc();
      if (what == "damage")
        throw failure(failure_code::bad_data, "chunk 7 is damaged", "rows", "make it anew");
      throw std::runtime_error(what);
    }};
  }

  std::string work_in_hand() const { return work; }

  std::string work;
};

thrower_actor::behavior_type thrower(self_pointer<thrower_actor, thrower_state> self,
                                     const std::string& work) {
  guard(self);
  self->state.work = work;
  return self->state.make_behavior();
}

/// What an actor's end says after it threw.
failure end_of_thrower(const std::string& what, const std::string& work = {}) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  const auto actor = self->spawn<caf::monitored>(thrower, work);
  self->send(actor, what);
  caf::error why;
  self->receive([&](const caf::down_msg& news) { why = news.reason; });
  return loss_failure(system, why);
}

} // namespace

TEST(memory_shortage, an_actor_without_memory_ends_the_run_as_a_job_that_is_too_large) {
  EXPECT_EQ(end_of_thrower("no memory").code(), failure_code::bad_job);
  EXPECT_EQ(end_of_thrower("no memory").reason(), "there is not enough memory");
  EXPECT_EQ(end_of_thrower("something else").code(), failure_code::internal);
  EXPECT_EQ(end_of_thrower("something else").reason(), "something else");
}

TEST(memory_shortage, an_actor_that_meets_damaged_data_ends_the_run_with_their_code_and_all_words) {
  const auto told = end_of_thrower("damage", "step 3");
  EXPECT_EQ(told.code(), failure_code::bad_data);
  EXPECT_EQ(told.reason(), "rows: chunk 7 is damaged, at step 3; make it anew");
}

TEST(memory_shortage, the_plan_s_figure_is_told_and_other_failures_are_left_alone) {
  const data_shape shape{100, 0, 4, 3, true, {30, 30, 40}};
  job x;
  x.model.hidden = {8};
  const auto resolved = resolve(x, shape, 1);
  const auto told = with_plan(
    {failure_code::bad_job, "shard 0 was lost: there is not enough memory"}, resolved, shape);
  EXPECT_EQ(told.code(), failure_code::bad_job);
  EXPECT_TRUE(told.reason().starts_with(
    "shard 0 was lost: there is not enough memory; the plan counts on about "))
    << told.reason();
  EXPECT_FALSE(told.hint().empty());
  EXPECT_EQ(with_plan({failure_code::internal, "a defect"}, resolved, shape).reason(), "a defect");
}

} // namespace troupe::memory_shortage_test
