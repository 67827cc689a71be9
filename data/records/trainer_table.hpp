// What replicas did and whose wait it was, for people and as JSON.
//
//   replica  results  last  by ms  most ms  waited ms  computed ms  network ms
//    left/0      100    88  412.0     12.1       31.5       1350.2        44.0
//   right/0      100    12    9.4      1.9      405.2        930.7        38.1
//
// says that the others waited 88 times for replica 0 of the process `left`, 0.4 s in all. What
// nobody has anything of, such as lags of gradients that all march in step, has no column.

#pragma once

#include "data/records/figure.hpp"
#include "data/records/training_record.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace troupe {

/// The lags of class `index` of `class_count`, which double: "0", "1", "2-3", .., "64+".
std::string lag_class_name(size_t index, size_t class_count);

/// One line a replica below a line of titles; times in milliseconds. Processes are named where
/// there are several. Empty for nobody.
std::string trainer_table(std::span<const trainer_record> trainers);

/// Calls f with the key and member of each figure (figure.hpp), with a title where there is a column.
template <class Trainer, class Function>
void each_trainer_figure(Trainer& x, Function f) {
  constexpr auto shown = none_is::shown, rare = none_is::no_column;
  f("process", x.process);
  f("partition", x.partition, none_is::left_out);
  f("replica", x.replica);
  f("results", x.results, shown, "results");
  f("applied", x.applied, rare, "applied");
  f("discarded", x.discarded, rare, "discarded");
  f("refused", x.refused, rare, "refused");
  f("lost", x.lost, rare, "lost");
  f("last_count", x.last_count, shown, "last");
  f("last_by_ms", x.last_by_ms, shown, "by ms");
  f("last_by_max_ms", x.last_by_max_ms, shown, "most ms");
  f("waited_ms", x.waited_ms, shown, "waited ms");
  f("computed_ms", x.computed_ms, shown, "computed ms");
  f("network_ms", x.network_ms, shown, "network ms");
  f("lags", x.lags);
}

/// An object; the keys are the fields' names.
template <class Json>
void to_json(Json& object, const trainer_record& x) {
  each_trainer_figure(x, figures_into{object});
}

/// Reads it; a key that is missing keeps its default. Throws nlohmann::json::exception.
template <class Json>
void read_value_of(const Json& from, trainer_record& out) {
  each_trainer_figure(out, figures_from{from});
}

} // namespace troupe
