#include "troupe/app/run/trace_output.hpp"

#include "troupe/app/terminal/output.hpp"
#include "troupe/data/text/failure.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

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

} // namespace

trace_output::trace_output(const std::string& path) : path_(path) {
  if (path_.empty())
    return;
  file_.emplace(path_);
  trace_ = std::make_shared<run_trace>();
}

trace_output::~trace_output() {
  if (!file_)
    return;
  try {
    const auto all = trace_->take();
    if (all.lanes.empty())
      return; // nothing was trained
    write_trace(std::move(*file_), all);
    std::string text = "timeline  " + path_ + '\n';
    for (const auto& lane : all.lanes)
      if (lane.every > 1 || lane.dropped > 0)
        text += "          " + lane_text(lane) + '\n';
    print_message(text);
  } catch (const failure& error) {
    print_message("troupe: warning: no timeline is written\n" + error_text(error));
  } catch (const std::exception& error) {
    print_message(std::string{"troupe: warning: no timeline is written: "} + error.what() + '\n');
  }
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
