#include "app/run/trace_output.hpp"

#include "app/run/signals.hpp"
#include "app/terminal/output.hpp"
#include "coordinators/job/private_job.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <utility>

#include <unistd.h>

namespace troupe {

namespace {

// "replica 0: 812 records, 1 of 8 steps, 12 older ones left out".
std::string lane_text(const trace_track& x) {
  auto result = fmt::format("{}: {} records", x.actor, x.records.size());
  if (x.every > 1)
    result += fmt::format(", 1 of {} steps", x.every);
  if (x.dropped > 0)
    result += fmt::format(", {} older ones left out", x.dropped);
  return result;
}

// Of a process that ended badly, now or before.
std::string recorder_line(const std::string& path) {
  return "recorder  " + path + " (what its actors did last: troupe trace show)\n";
}

} // namespace

trace_output::trace_output(const train_arguments& arguments, const job& x,
                           const std::string& process, const trace_role& role)
  : role_(role), exceptions_(std::uncaught_exceptions()) {
  if (arguments.flight != "off" && !is_private(x))
    flight_ = {arguments.flight, process, x.name, absolute_run_directory(x)};
  if (!arguments.trace.empty())
    file_.emplace(arguments.trace);
  if (!flight_.folder.empty()) {
    try {
      drop_old_flights(flight_.folder);
      trace_ = std::make_shared<run_recorder>(flight_, file_.has_value());
    } catch (const failure& error) {
      print_message("troupe: warning: no flight recorder is kept\n" + error_text(error));
    }
  }
  if (file_ && !trace_)
    trace_ = std::make_shared<run_recorder>();
}

trace_output::~trace_output() {
  try {
    if (file_)
      write_timeline();
  } catch (const failure& error) {
    print_message("troupe: warning: no timeline is written\n" + error_text(error));
  } catch (const std::exception& error) {
    print_message(std::string{"troupe: warning: no timeline is written: "} + error.what() + '\n');
  }
  try {
    if (trace_ && !trace_->path().empty())
      put_recorder_away();
  } catch (const std::exception& error) {
    print_message(std::string{"troupe: warning: the flight recorder stays in "} + trace_->path() +
                  ": " + error.what() + '\n');
  }
}

void trace_output::write_timeline() {
  const auto all = trace_->take();
  if (all.tracks.empty())
    return; // nothing was trained
  std::string text = role_.is_launched ? "" : "timeline  " + file_->path() + '\n';
  write_trace(std::move(*file_), all);
  for (const auto& track : all.tracks)
    if (track.every > 1 || track.dropped > 0)
      text += (text.empty() ? "timeline  " : "          ") + lane_text(track) + '\n';
  if (!text.empty())
    print_message(text);
}

void trace_output::put_recorder_away() {
  const bool ends_badly = std::uncaught_exceptions() > exceptions_ && stop_signal() == 0;
  trace_->let_go();
  if (!ends_badly || !trace_->has_records())
    unlink(trace_->path().c_str());
  else if (role_.has_run_directory)
    take_in_and_tell(flight_.folder, flight_.run_directory);
  else
    print_message(recorder_line(trace_->path()));
}

void trace_output::take_in() const {
  if (flight_.folder.empty())
    return;
  if (role_.has_run_directory)
    return take_in_and_tell(flight_.folder, flight_.run_directory);
  for (const auto& left : left_flights(flight_.folder))
    if (left.process == flight_.process && left.run_directory == flight_.run_directory)
      print_message(recorder_line(left.path));
}

void take_in_and_tell(const std::string& folder, const std::string& run_directory) {
  for (const auto& path : take_in_flights(folder, run_directory))
    print_message(recorder_line(path));
}

std::string absolute_run_directory(const job& x) {
  return std::filesystem::absolute(x.output.directory).lexically_normal().string();
}

std::string trace_merge_text(const trace_merge& x, const std::string& path) {
  constexpr double microsecond = 1000;
  std::string result;
  for (const auto& one : x.processes)
    result += one.clock_error == 0
                ? fmt::format("{}: {} events\n", one.process, one.events)
                : fmt::format("{}: {} events, its clock known within {:.1f} us\n", one.process,
                              one.events, static_cast<double>(one.clock_error) / microsecond);
  result += fmt::format("{} messages are seen at both ends", x.flows);
  if (x.early > 0)
    result += fmt::format("; {} of them seem to arrive before they were sent, by up to {:.1f} us",
                          x.early, static_cast<double>(x.early_ns) / microsecond);
  return result + "\ntimeline  " + path + '\n';
}

} // namespace troupe
