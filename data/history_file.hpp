// history.csv: one line an epoch, for spreadsheets and plotting scripts.

#pragma once

#include "troupe/data/training_record.hpp"

#include <string>
#include <vector>

namespace troupe {

/// CSV with a header of the fields' names. A figure that was not measured is an empty cell; numbers
/// have the fewest digits that read back as the same double ("nan" and "inf" for what is not
/// finite).
std::string history_text(const std::vector<history_row>& rows);

} // namespace troupe
