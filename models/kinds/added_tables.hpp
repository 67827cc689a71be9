// The tables of kinds that an application adds to the library's enumerations.
//
//   troupe::schedules().add("saw", {1, "down from 1, again and again"},
//                           {[](uint64_t step, uint64_t steps) { return 1 - double(step % steps) / steps; }});
//   job.optimizer.schedule.kind = troupe::schedules().value({"saw", {}});
//
// They are the process's; also of threads that come and go. What is added: own_loss.hpp, own_activation.hpp,
// schedule.hpp, merge_rule.hpp, result_rule.hpp.

#pragma once

#include "models/kinds/added_kinds.hpp"
#include "models/losses/loss.hpp"
#include "models/merging/merge_rule.hpp"
#include "models/network/activation.hpp"
#include "models/training/result_rule.hpp"
#include "models/training/schedule.hpp"

namespace troupe {

using loss_table = added_kinds<loss_kind, own_loss>;
using activation_table = added_kinds<activation_kind, own_activation>;
using schedule_table = added_kinds<schedule_kind, own_schedule>;
using merge_table = added_kinds<merge_rule, own_merge>;
using result_table = added_kinds<result_rule, own_result_rule>;

loss_table& losses();
activation_table& activations();
schedule_table& schedules();
merge_table& merge_rules();
result_table& result_rules();

} // namespace troupe
