// events.jsonl: every decision and fault of a run with its reason, one JSON object a line, as it
// happens. For people who ask afterwards why a run took so long, and for programs that watch it.
//
//   {"number":7,"time":"2026-01-31T12:00:00.123Z","seconds":8.25,"kind":"view","version":412,"text":"..."}
//
// A file that has grown to `event_bytes_max` becomes events.jsonl.1, that one events.jsonl.2, and so
// on up to .3; what was .3 is gone. Numbers go on: a gap is what was left out.

#pragma once

#include "data/records/training_record.hpp"
#include "models/base/names.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// What happens in a run: a decision or a fault, when, and why.

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

inline constexpr std::string_view event_file_name = "events.jsonl";

/// Some 40,000 lines; four times as much is kept.
inline constexpr size_t event_bytes_max = size_t{8} << 20;

/// How many older files are kept.
inline constexpr size_t event_files_kept = 3;

/// Of one kind within a second, and of rows, which history.csv has all of, within a minute: they would hide the news.
inline constexpr size_t events_a_second_max = 20;

/// When an event happened. The first counts since the process began to write, and cannot go back.
struct event_time {
  std::chrono::duration<double> since_begin{};
  std::chrono::system_clock::time_point clock{};
};

/// The event as its line, with the break at its end. `row` is that of an event of that kind.
std::string event_line(uint64_t number, const event_time& when, const run_event& event,
                       const history_row* row = nullptr);

/// What people were told of a run, and when in seconds after the epoch of UNIX.
struct parsed_event {
  double time = 0;
  std::string text;
};

/// Of the file at `path` and of those that were moved away from there, oldest first, without rows and what was left
/// out. Lines that are none are passed over.
std::vector<parsed_event> read_parsed_events(const std::string& path);

/// The names of the fields of a line, with their meanings, as docs/events.md has them.
std::string event_fields_markdown();

/// Appends events of one process's life to what is there. Each is one write; nothing is forced to
/// the disk.
class event_writer {
public:
  /// Goes on behind the last number that stands in the file at `path`. Throws failure(io_error).
  explicit event_writer(std::string path, size_t bytes_max = event_bytes_max);

  /// Throws failure(io_error).
  void add(const run_event& event, const event_time& when, const history_row* row = nullptr);

private:
  // How many of a kind came within the second that began then.
  struct pace {
    std::chrono::duration<double> begin{};
    size_t count = 0;
  };

  bool is_too_many(event_kind kind, const event_time& when);
  void append(const run_event& event, const event_time& when, const history_row* row);
  void rotate() const;

  std::string path_;
  size_t bytes_max_;
  uint64_t last_number_ = 0;
  std::map<event_kind, pace> paces_;
};

} // namespace troupe
