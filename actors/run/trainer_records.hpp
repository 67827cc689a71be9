// Each replica's work and waits, in the form of the summary file.

#pragma once

#include "actors/protocol/messages.hpp"

#include <vector>

namespace troupe {

std::vector<trainer_record> records_of(const trainer_figures& figures);

} // namespace troupe
