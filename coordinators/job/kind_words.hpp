// What the kinds of an application compute, in words that processes compare before they train together.

#pragma once

#include "troupe/coordinators/job/resolve.hpp"

#include <string>

namespace troupe {

/// A line for each metric of a resolved job, and each kind that is the application's own, as in
/// "optimizer lion 1 = 9f3a0c11d2e4b587": name, version and probe (models/kinds/probe.hpp). Empty when
/// it has none.
std::string kind_words(const job& resolved, const data_shape& shape);

} // namespace troupe
