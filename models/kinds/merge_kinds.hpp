// Merge rules that an application adds: the table of their kinds.

#pragma once

#include "models/kinds/added_kinds.hpp"
#include "models/merging/merge_rule.hpp"

namespace troupe {

using merge_table = added_kinds<merge_rule, own_merge>;

/// The process's; also of threads that come and go.
merge_table& merge_rules();

} // namespace troupe
