#include "app/run/flight_report.hpp"

#include "app/terminal/figures_text.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <fstream>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

double seconds(uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

// At most the year 9999, whatever the file says.
std::string date(uint64_t unix_ms) {
  constexpr uint64_t second_max = 253'402'300'799;
  const auto time = static_cast<std::time_t>(std::min(unix_ms / 1000, second_max));
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

bool is_under_way(const trace_record& x) {
  return x.length == trace_record::no_end && has_end(x.kind);
}

std::string record_text(const trace_record& x, const trace_track& track) {
  auto what = trace_words(x.kind, track);
  if (const auto* object = trace_object_name(x.kind); object && what != object)
    what += fmt::format(" {} {}", object, x.object);
  else if (object)
    what += fmt::format(" {}", x.object);
  what += fmt::format(", step {}", x.step);
  if (is_under_way(x))
    what += ", not ended";
  else if (x.length > 0 && x.length != trace_record::no_end)
    what += fmt::format(", for {:.1f} s", seconds(x.length));
  return fmt::format("{:>10.1f} s  {}\n", seconds(x.begin), what);
}

std::string lane_text(const trace_track& x, size_t records_max) {
  std::string result = fmt::format("\n{}: {} records", x.actor, x.dropped + x.records.size());
  if (x.records.empty())
    return result + '\n';
  const auto count = std::min(records_max, x.records.size());
  result += fmt::format(", the newest {} of {} kept\n", count, x.records.size());
  for (size_t i = 0; i < count; ++i)
    result += record_text(x.records[x.records.size() - 1 - i], x);
  return result;
}

json lane_json(const trace_track& x) {
  auto records = json::array();
  for (auto record = x.records.rbegin(); record != x.records.rend(); ++record) {
    json one{{"what", trace_words(record->kind, x)}, {"step", record->step}};
    if (const auto* object = trace_object_name(record->kind))
      one[object] = record->object;
    one["begin_seconds"] = seconds(record->begin);
    const bool ended = record->length != trace_record::no_end;
    one["end_seconds"] = ended ? json(seconds(record->begin + record->length)) : json();
    one["under_way"] = is_under_way(*record);
    records.push_back(std::move(one));
  }
  return {{"actor", x.actor},
          {"recorded", x.dropped + x.records.size()},
          {"records", std::move(records)}};
}

std::string printable_lines(std::string text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    result += printable_text(std::string_view{text}.substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  return result;
}

} // namespace

flight_log load_flight(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::string bytes(flight_file_bytes, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (in.bad() || !in.is_open() || (in.gcount() == 0 && !in.eof()))
    throw failure(failure_code::missing_input, "there is no such file, or it cannot be read", path,
                  "give a .flight file, or flight-NODE.bin of a run directory");
  bytes.resize(static_cast<size_t>(in.gcount()));
  return read_flight(std::as_bytes(std::span{bytes}), path);
}

std::string flight_report(const flight_log& x, size_t records_max) {
  auto result = fmt::format(
    "process   {} ({}) of job {}\nrun       {}\nbegan     {}\nlast sign {:.1f} s later\n",
    x.process, x.process_id, x.job, x.run_directory, date(x.begin_unix_ms),
    seconds(x.last_sign_ns));
  if (x.is_cut)
    result += "the file is cut or damaged: what is missing were other actors\n";
  if (x.actors_left_out > 0)
    result += fmt::format("{} actors had no room in it\n", x.actors_left_out);
  for (const auto& track : x.tracks)
    result += lane_text(track, records_max);
  return printable_lines(std::move(result));
}

std::string flight_json(const flight_log& x) {
  auto actors = json::array();
  for (const auto& track : x.tracks)
    actors.push_back(lane_json(track));
  const json object{{"process", x.process},
                    {"process_id", x.process_id},
                    {"job", x.job},
                    {"job_sha256", x.job_sha256},
                    {"run_directory", x.run_directory},
                    {"began", date(x.begin_unix_ms)},
                    {"last_sign_seconds", seconds(x.last_sign_ns)},
                    {"is_cut", x.is_cut},
                    {"actors_left_out", x.actors_left_out},
                    {"actors", std::move(actors)}};
  return one_line(object);
}

} // namespace troupe
