// Schedules of the learning rate that an application adds: the table of their kinds.
//
//   troupe::schedules().add("saw", {1, "down from 1, again and again"},
//                           {[](uint64_t step, uint64_t steps) { return 1 - double(step % steps) / steps; }});

#pragma once

#include "models/kinds/added_kinds.hpp"
#include "models/training/schedule.hpp"

namespace troupe {

using schedule_table = added_kinds<schedule_kind, own_schedule>;

/// The process's; also of threads that come and go.
schedule_table& schedules();

} // namespace troupe
