// What the page shows, on its way from the run to the server's thread: the newest status of a run,
// its curves (rows of the history, and a sample a second of loss and speed), federated rounds, and
// events in words. The feed asks the run for nothing, so visitors cost training nothing.
//
// A visitor asks for the status once a second. The status counts the changes of curves, rounds and events, so the
// visitor knows when to ask for them again. They come whole, never as differences, because all are bounded. Rounds
// and events drop their oldest entries. A full curve drops every other point and from then on takes half as many, so
// a run of weeks has a curve from its beginning on.

#pragma once

#include "data/records/training_record.hpp"
#include "models/base/names.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// The time of day as the page counts it: seconds since the epoch of UNIX.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Where the figures of a page come from.
enum class page_source : uint8_t {
  live,     ///< the process itself trains
  visits,   ///< a cluster's director is asked once a second
  finished, ///< the files of a run
};

template <>
struct name_table<page_source> {
  static constexpr std::array entries{named(page_source::live, "live"),
                                      named(page_source::visits, "visits"),
                                      named(page_source::finished, "finished")};
};

/// Points in order of their steps, at most `size_max`. Points with figures of test or validation rows are one kind,
/// all others the second. A full curve drops every other point of the larger kind, and from then on takes half as
/// many of that kind. So rare evaluations stay.
class thinned_points {
public:
  static constexpr size_t size_max = 4'096;

  /// Takes the place of all points from `step` on: a version that was left behind is done anew.
  void add(uint64_t step, nlohmann::json point);
  nlohmann::json points() const;

private:
  struct entry {
    uint64_t step;
    bool is_evaluated;
    nlohmann::json point;
  };
  std::vector<entry> entries_;
  std::array<uint64_t, 2> every_{1, 1}; ///< by kind, as is the next
  std::array<uint64_t, 2> count_{};
};

class page_feed {
public:
  static constexpr size_t events_max = 1'000;
  static constexpr size_t rounds_max = 1'000;

  page_feed(std::string job_name, page_source source);

  /// An object as `troupe status --json` prints it, that came `now` seconds after the epoch of UNIX.
  /// Takes a sample of it, and its newest row.
  void set_status(const std::string& status, double now);
  /// A row of the history that no status has.
  void add_row(const history_row& row);
  /// Federated rounds, in order. They take the place of all from the first of them on: a version that
  /// was left behind is done anew.
  void add_rounds(const std::vector<round_record>& rounds);
  /// A line for people.
  void add_event(const std::string& text, double now);
  /// Why the source does not answer; empty: it does again.
  void set_problem(std::string problem);

  /// The four answers, as JSON objects on one line.
  std::string status(double now) const;
  std::string curves() const;
  std::string events() const;
  std::string rounds() const;
  /// The status alone, as it was set; null before the first.
  nlohmann::json run() const;

private:
  struct event {
    double time;
    std::string text;
  };

  void take_sample(double now);
  void take_row();
  void note_changes(const nlohmann::json& before, double now);
  void add_event_locked(const std::string& text, double now);

  mutable std::mutex mutex_;
  std::string job_name_;
  page_source source_;
  nlohmann::json status_;
  double came_ = 0; ///< when the status did
  double bytes_per_second_ = 0;
  std::string problem_;
  nlohmann::json newest_row_; ///< that a status had
  thinned_points rows_;
  thinned_points samples_;
  uint64_t curves_changed_ = 0;
  std::deque<event> events_;
  uint64_t events_changed_ = 0;
  std::deque<round_record> rounds_;
  uint64_t rounds_changed_ = 0;
};

// ---- Of a run that has ended, or that another process trains: from the files of its folder ----

/// Whether there is a run in a folder, finished or not.
bool is_run_folder(const std::string& path);

/// Of its rounds.csv those up to `version`: where a run goes on from. None without such a file. Throws
/// failure(bad_data) when the file is none of ours.
std::vector<round_record> rounds_of_run(const std::string& path, uint64_t version);

/// Its curves, rounds, and its figures in the words of a status. Throws failure: missing_input when the
/// folder holds no run, bad_data when a file of it is none of ours.
std::shared_ptr<const page_feed> feed_of_run(const std::string& path);

} // namespace troupe
