// What replicas did and whose wait it was, for people and as JSON.
//
//   replica  results  last  by ms  most ms  waited ms  computed ms  network ms
//    left/0      100    88  412.0     12.1       31.5       1350.2        44.0
//   right/0      100    12    9.4      1.9      405.2        930.7        38.1
//
// says that the others waited 88 times for replica 0 of the process `left`, 0.4 s in all. What
// nobody has anything of, such as lags of gradients that all march in step, has no column.

#pragma once

#include "troupe/data/records/training_record.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The lags of class `index` of `class_count`, which double: "0", "1", "2-3", .., "64+".
std::string lag_class_name(size_t index, size_t class_count);

/// One line a replica below a line of titles; times in milliseconds. Processes are named where
/// there are several. Empty for nobody.
std::string trainer_table(std::span<const trainer_record> trainers);

/// A JSON array of objects, on one line; the keys are the fields' names.
std::string trainers_json(std::span<const trainer_record> trainers);

/// Reads what `trainers_json` wrote; a key that is missing keeps its default. Nothing for anything
/// else.
std::optional<std::vector<trainer_record>> read_trainers(std::string_view text);

} // namespace troupe
