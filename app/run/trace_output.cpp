#include "troupe/app/run/trace_output.hpp"

#include "troupe/app/run/signals.hpp"
#include "troupe/app/terminal/output.hpp"
#include "troupe/coordinators/job/private_job.hpp"
#include "troupe/data/run_folder/flight_files.hpp"
#include "troupe/data/text/failure.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <utility>

#include <unistd.h>

namespace troupe {

namespace {

// "replica 0: 812 records, 1 of 8 steps, 12 older ones left out".
std::string lane_text(const trace_lane& x) {
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

trace_wish trace_wish_of(const train_arguments& arguments, const job& x, const std::string& process,
                         const trace_role& role) {
  trace_wish result{arguments.trace, {}, role};
  if (arguments.flight != "off" && !is_private(x))
    result.flight = {arguments.flight, process, x.name, absolute_run_directory(x)};
  return result;
}

trace_output::trace_output(trace_wish wish)
  : wish_(std::move(wish)), exceptions_(std::uncaught_exceptions()) {
  if (!wish_.timeline.empty())
    file_.emplace(wish_.timeline);
  if (!wish_.flight.folder.empty()) {
    try {
      drop_old_flights(wish_.flight.folder);
      recorder_ = std::make_shared<flight_recorder>(wish_.flight);
    } catch (const failure& error) {
      print_message("troupe: warning: no flight recorder is kept\n" + error_text(error));
    }
  }
  if (file_ || recorder_)
    trace_ = std::make_shared<run_trace>(file_.has_value(), recorder_);
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
    if (recorder_)
      put_recorder_away();
  } catch (const std::exception& error) {
    print_message(std::string{"troupe: warning: the flight recorder stays in "} +
                  recorder_->path() + ": " + error.what() + '\n');
  }
}

void trace_output::write_timeline() {
  const auto all = trace_->take();
  if (all.lanes.empty())
    return; // nothing was trained
  write_trace(std::move(*file_), all);
  std::string text = wish_.role.is_launched ? "" : "timeline  " + wish_.timeline + '\n';
  for (const auto& lane : all.lanes)
    if (lane.every > 1 || lane.dropped > 0)
      text += (text.empty() ? "timeline  " : "          ") + lane_text(lane) + '\n';
  if (!text.empty())
    print_message(text);
}

void trace_output::put_recorder_away() {
  const bool ends_badly = std::uncaught_exceptions() > exceptions_ && stop_signal() == 0;
  recorder_->let_go();
  if (!ends_badly || !recorder_->has_records())
    unlink(recorder_->path().c_str());
  else if (wish_.role.has_run_directory)
    take_in_and_tell(wish_.flight.folder, wish_.flight.run_directory);
  else
    print_message(recorder_line(recorder_->path()));
}

void trace_output::take_in() const {
  const auto& own = wish_.flight;
  if (own.folder.empty())
    return;
  if (wish_.role.has_run_directory)
    return take_in_and_tell(own.folder, own.run_directory);
  for (const auto& left : left_flights(own.folder))
    if (left.process == own.process && left.run_directory == own.run_directory)
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
