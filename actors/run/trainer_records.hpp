// What each replica did, as files and people read it.

#pragma once

#include "actors/protocol/messages.hpp"

#include <vector>

namespace troupe {

std::vector<trainer_record> records_of(const trainer_figures& figures);

} // namespace troupe
