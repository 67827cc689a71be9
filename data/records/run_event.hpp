// What happens in a run: a decision or a fault, when, and why. One line each in events.jsonl
// (data/records/event_file.hpp).

#pragma once

#include "troupe/models/base/names.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// A closed list; its table is below.
enum class event_kind : uint8_t { begin, resume, row, news, left_out, end, failed };

template <>
struct name_table<event_kind> {
  static constexpr std::array entries{
    named(event_kind::begin, "begin"),       named(event_kind::resume, "resume"),
    named(event_kind::row, "row"),           named(event_kind::news, "news"),
    named(event_kind::left_out, "left-out"), named(event_kind::end, "end"),
    named(event_kind::failed, "failed"),
  };
};

/// What each kind tells, for people: in the order of the names.
inline constexpr std::array<std::string_view, name_table<event_kind>::entries.size()>
  event_meanings{
    "training begins, from nothing",
    "training goes on from a checkpoint",
    "a row of the history; `row` has its figures",
    "anything else that people are told: who takes part and why that changed, who is waited for, "
    "why training stops",
    "events of one kind came too fast: how many are missing",
    "the run has ended, by which rule",
    "the run has ended badly, and why",
  };

struct run_event {
  event_kind kind = event_kind::news;
  uint64_t version = 0; ///< steps done, as far as was known
  std::string text;     ///< a sentence, with its reason

  friend bool operator==(const run_event&, const run_event&) = default;
};

} // namespace troupe
