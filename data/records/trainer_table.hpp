// What replicas did and whose wait it was, for people and as JSON.
//
//   replica  results  last  by ms  most ms  waited ms  computed ms  network ms
//    left/0      100    88  412.0     12.1       31.5       1350.2        44.0
//   right/0      100    12    9.4      1.9      405.2        930.7        38.1
//
// says that the others waited 88 times for replica 0 of the process `left`, 0.4 s in all. What
// nobody has anything of, such as lags of gradients that all march in step, has no column.

#pragma once

#include "data/records/training_record.hpp"
#include "data/text/json_value.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace troupe {

// Figures of a record: `each_trainer_figure(record, f)`, say, calls f with the key and the member of each, a line a
// figure. What writes, reads or shows such records gives it an f: those for JSON are here.

/// What becomes of a figure when there is none of it.
enum class none_is : uint8_t { shown, no_column, left_out };

template <class Value>
bool is_none(const Value& x) {
  if constexpr (requires { x.empty(); })
    return x.empty();
  else
    return !x;
}

/// Writes figures behind what `object` has.
template <class Json>
struct figures_into {
  Json& object;

  template <class Value>
  void operator()(const char* key, const Value& x, none_is when_none = none_is::shown,
                  const char* = nullptr) const {
    if (when_none != none_is::left_out || !is_none(x))
      object[key] = json_of<Json>(x);
  }
};

/// Reads those that are members; what is absent or null keeps its value. Throws nlohmann::json::exception.
template <class Json>
struct figures_from {
  const Json& object;

  template <class Value>
  void operator()(const char* key, Value&& x, none_is = none_is::shown,
                  const char* = nullptr) const {
    if constexpr (std::is_lvalue_reference_v<Value>)
      if (const auto value = object.value(key, Json()); !value.is_null())
        read_value_of(value, x);
  }
};

template <class Json>
figures_into(Json&) -> figures_into<Json>;
template <class Json>
figures_from(const Json&) -> figures_from<Json>;

/// The lags of class `index` of `class_count`, which double: "0", "1", "2-3", .., "64+".
std::string lag_class_name(size_t index, size_t class_count);

/// One line a replica below a line of titles; times in milliseconds. Processes are named where
/// there are several. Empty for nobody.
std::string trainer_table(std::span<const trainer_record> trainers);

/// Calls f with the key and member of each figure, with a title where there is a column.
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
