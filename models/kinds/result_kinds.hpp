// Rules of results that an application adds: the table of their kinds.

#pragma once

#include "models/kinds/added_kinds.hpp"
#include "models/training/result_rule.hpp"

namespace troupe {

using result_table = added_kinds<result_rule, own_result_rule>;

/// The process's; also of threads that come and go.
result_table& result_rules();

} // namespace troupe
