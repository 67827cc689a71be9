#include "data/records/trace_file.hpp"

#include "data/text/failure.hpp"
#include "data/text/json_value.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view format_mark = "troupe trace 1";
/// Ends the first line: events follow, one a line.
constexpr std::string_view first_line_end = ",\"traceEvents\":[";
constexpr std::string_view last_line = "]}";
/// Times of a file are below: 31 years, to the microsecond exact as a double.
constexpr double microseconds_max = 1e15;
/// What clocks say is below: 73 years. Sums of it fit.
constexpr uint64_t clock_ns_max = uint64_t{1} << 61;
/// Of a line of an event. Ours have a few hundred, and what nests is written by recursion.
constexpr size_t event_bytes_max = 4096;

std::string text_of(const json& x) {
  return x.dump(-1, ' ', true, json::error_handler_t::replace);
}

// Microseconds with three decimals, as a number of any size.
std::string microseconds(uint64_t nanoseconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%" PRIu64 ".%03" PRIu64, nanoseconds / 1000,
                nanoseconds % 1000);
  return text.data();
}

std::string hex(uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, value);
  return text.data();
}

/// Lines of a file, with commas between the events.
class line_writer {
public:
  explicit line_writer(atomic_file file) : file_(std::move(file)) {}

  void begin(const json& about) {
    auto line = text_of({{"otherData", about}, {"displayTimeUnit", "ms"}});
    line.pop_back();
    put(line + std::string{first_line_end});
  }
  void event(std::string_view text) {
    put(is_first_ ? "\n" : ",\n");
    put(text);
    is_first_ = false;
  }
  void end() {
    put("\n" + std::string{last_line} + "\n");
    file_.append(pending_);
    file_.publish();
  }

private:
  void put(std::string_view text) {
    constexpr size_t pending_bytes = 64 << 10;
    pending_ += text;
    if (pending_.size() < pending_bytes)
      return;
    file_.append(pending_);
    pending_.clear();
  }

  atomic_file file_;
  std::string pending_;
  bool is_first_ = true;
};

// ---- Of one process ----

json about(const process_trace& x) {
  json tracks = json::array();
  for (const auto& track : x.tracks)
    tracks.push_back({{"actor", track.actor},
                      {"every", track.every},
                      {"recorded", track.records.size()},
                      {"dropped", track.dropped}});
  json clocks = json::object();
  for (const auto& clock : x.clocks)
    for (const auto& sample : clock.samples)
      clocks[clock.process].push_back({sample.at, sample.ahead, sample.error});
  return {{"format", format_mark},
          {"process", x.process},
          {"job", x.job},
          {"boot", x.boot},
          {"record_ns", x.record_ns},
          {"lanes", std::move(tracks)},
          {"clocks", std::move(clocks)}};
}

std::string metadata(const char* what, size_t thread, const json& args) {
  return text_of({{"ph", "M"}, {"name", what}, {"pid", 1}, {"tid", thread}, {"args", args}});
}

void write_record(line_writer& out, const trace_record& x, const trace_track& track,
                  size_t thread) {
  const auto tid = std::to_string(thread);
  const auto place = ",\"pid\":1,\"tid\":" + tid + ",\"ts\":" + microseconds(x.begin);
  std::string args = "{\"step\":" + std::to_string(x.step);
  if (const auto* object = trace_object_name(x.kind))
    args += std::string{",\""} + object + "\":" + std::to_string(x.object);
  const auto name = json(trace_words(x.kind, track)).dump();
  // Viewers leave out the flows of spans without a length.
  out.event("{\"ph\":\"X\",\"name\":" + name + place + ",\"dur\":" +
            microseconds(std::max<uint64_t>(x.length, 1)) + ",\"args\":" + args + "}}");
  if (x.flow == 0)
    return;
  const bool is_begin = x.kind == trace_kind::send;
  out.event(std::string{"{\"ph\":\""} + (is_begin ? "s" : "f\",\"bp\":\"e") +
            "\",\"cat\":\"flow\",\"name\":\"flow\",\"id\":\"" + hex(x.flow) + "\"" + place + "}");
}

// ---- Several ----

struct opened_trace {
  std::string path;
  std::ifstream lines;
  process_trace head; ///< without records
};

[[noreturn]] void refuse_trace(const std::string& path, const std::string& why,
                               const std::string& hint) {
  throw failure(failure_code::bad_data, why, path, hint);
}

[[noreturn]] void refuse_content(const std::string& path) {
  refuse_trace(path, "this is no timeline, or only a part of one",
               "give files that --trace has written");
}

clock_sample sample_of(const json& x, const std::string& path) {
  clock_sample result;
  read_value_of(x.at(0), result.at);
  result.ahead = x.at(1).get_ref<const json::number_integer_t&>();
  read_value_of(x.at(2), result.error);
  constexpr auto ahead_max = static_cast<int64_t>(clock_ns_max);
  if (result.at > clock_ns_max || result.error > clock_ns_max || result.ahead > ahead_max ||
      result.ahead < -ahead_max)
    refuse_content(path);
  return result;
}

opened_trace open_trace(const std::string& path) {
  opened_trace result{path, std::ifstream{path}, {}};
  if (!result.lines)
    throw failure(failure_code::missing_input, "there is no such file, or it cannot be read", path,
                  "give files that --trace has written");
  std::string line;
  std::getline(result.lines, line);
  if (!line.ends_with(first_line_end))
    refuse_content(path);
  line.resize(line.size() - first_line_end.size());
  try {
    const auto other = json::parse(line + "}").at("otherData");
    if (other.at("format") != format_mark)
      refuse_content(path);
    other.at("process").get_to(result.head.process);
    other.at("job").get_to(result.head.job);
    other.at("boot").get_to(result.head.boot);
    for (const auto& [process, samples] : other.at("clocks").items()) {
      auto& clock = result.head.clocks.emplace_back(process_clock{process, {}});
      for (const auto& sample : samples)
        clock.samples.push_back(sample_of(sample, path));
    }
  } catch (const json::exception&) {
    refuse_content(path);
  }
  return result;
}

/// What takes a process's times to the director's clock.
class clock_map {
public:
  clock_map() = default;
  explicit clock_map(std::vector<clock_sample> samples) : samples_(std::move(samples)) {
    std::ranges::sort(samples_, {}, own_time); // whoever wrote the file
  }

  /// Nanoseconds; between two samples the clocks drift evenly.
  uint64_t on_directors(uint64_t time) const {
    if (samples_.empty())
      return time;
    return static_cast<uint64_t>(std::max<int64_t>(static_cast<int64_t>(time) - ahead(time), 0));
  }
  uint64_t error() const {
    uint64_t result = 0;
    for (const auto& x : samples_)
      result = std::max(result, x.error);
    return result;
  }

private:
  static int64_t own_time(const clock_sample& x) { return static_cast<int64_t>(x.at) + x.ahead; }

  int64_t ahead(uint64_t time) const {
    const auto at = static_cast<int64_t>(time);
    const auto next = std::ranges::lower_bound(samples_, at, {}, own_time);
    if (next == samples_.begin())
      return next->ahead;
    if (next == samples_.end())
      return samples_.back().ahead;
    const auto& before = *std::prev(next);
    const auto share = static_cast<double>(at - own_time(before)) /
                       static_cast<double>(own_time(*next) - own_time(before));
    return before.ahead +
           static_cast<int64_t>(share * static_cast<double>(next->ahead - before.ahead));
  }

  std::vector<clock_sample> samples_;
};

/// The file whose clock the others are taken to: the one that knows how they stood.
const opened_trace& reference_of(const std::vector<opened_trace>& files) {
  const auto found =
    std::ranges::find_if(files, [](const opened_trace& x) { return !x.head.clocks.empty(); });
  return found != files.end() ? *found : files.front();
}

clock_map clock_of(const opened_trace& x, const opened_trace& reference) {
  const bool is_of_machine = !x.head.boot.empty() && x.head.boot == reference.head.boot;
  if (&x == &reference || is_of_machine)
    return {};
  const auto& clocks = reference.head.clocks;
  const auto found = std::ranges::find(clocks, x.head.process, &process_clock::process);
  if (found == clocks.end())
    refuse_trace(x.path,
                 "how the clock of " + x.head.process + " stood to that of " +
                   reference.head.process + " is not known",
                 "give the file of the director's process as well, of the same run");
  return clock_map{found->samples};
}

void require_one_run(const std::vector<opened_trace>& files) {
  std::set<std::string> names;
  for (const auto& x : files) {
    if (x.head.job != files.front().head.job)
      refuse_trace(x.path, "it is of another job than " + files.front().path,
                   "merge files of one run");
    if (!names.insert(x.head.process).second)
      refuse_trace(x.path, "it is of " + x.head.process + " as another file is",
                   "give one file of each process");
  }
}

/// When both ends of what went from one to another were.
class flow_table {
public:
  void note(const json& event, uint64_t time) {
    const auto kind = event.at("ph").get_ref<const std::string&>();
    if (kind != "s" && kind != "f")
      return;
    auto& ends = ends_[event.at("id").get<std::string>()];
    (kind == "s" ? ends.first : ends.second) = time;
  }
  void judge(trace_merge& out) const {
    for (const auto& [id, ends] : ends_) {
      if (ends.first == 0 || ends.second == 0)
        continue;
      ++out.flows;
      if (ends.second >= ends.first)
        continue;
      ++out.early;
      out.early_ns = std::max(out.early_ns, ends.first - ends.second);
    }
  }

private:
  std::map<std::string, std::pair<uint64_t, uint64_t>> ends_;
};

uint64_t copy_events(opened_trace& from, size_t process, const clock_map& clock, line_writer& out,
                     flow_table& flows) {
  uint64_t result = 0;
  for (std::string line; std::getline(from.lines, line); ++result) {
    if (line == last_line)
      return result;
    if (line.ends_with(','))
      line.pop_back();
    if (line.size() > event_bytes_max)
      refuse_content(from.path);
    try {
      auto event = json::parse(line);
      event["pid"] = process;
      if (const auto at = event.find("ts"); at != event.end()) {
        const auto microseconds_there = at->get<double>();
        if (!(microseconds_there >= 0 && microseconds_there < microseconds_max))
          refuse_content(from.path);
        const auto own = static_cast<uint64_t>(microseconds_there * 1000 + 0.5);
        const auto time = clock.on_directors(own);
        flows.note(event, time);
        *at = static_cast<double>(time) / 1000;
      }
      out.event(text_of(event));
    } catch (const json::exception&) {
      refuse_content(from.path);
    }
  }
  refuse_content(from.path); // its end is not there
}

} // namespace

void write_trace(atomic_file file, const process_trace& x) {
  line_writer out{std::move(file)};
  out.begin(about(x));
  out.event(metadata("process_name", 0, {{"name", x.process}}));
  for (size_t i = 0; i < x.tracks.size(); ++i) {
    const auto& track = x.tracks[i];
    const auto name = track.every == 1
                        ? track.actor
                        : track.actor + " (1 of " + std::to_string(track.every) + " steps)";
    out.event(metadata("thread_name", i + 1, {{"name", name}}));
    out.event(metadata("thread_sort_index", i + 1, {{"sort_index", i}}));
  }
  for (size_t i = 0; i < x.tracks.size(); ++i)
    for (const auto& record : x.tracks[i].records)
      write_record(out, record, x.tracks[i], i + 1);
  out.end();
}

trace_merge merge_traces(const std::vector<std::string>& files, const std::string& path) {
  std::vector<opened_trace> opened;
  for (const auto& file : files)
    opened.push_back(open_trace(file));
  require_one_run(opened);
  const auto& reference = reference_of(opened);
  std::vector<clock_map> clocks;
  for (const auto& x : opened)
    clocks.push_back(clock_of(x, reference));
  trace_merge result;
  flow_table flows;
  line_writer out{atomic_file{path}};
  out.begin({{"format", std::string{format_mark} + " merged"}, {"job", reference.head.job}});
  for (size_t i = 0; i < opened.size(); ++i)
    result.processes.push_back({opened[i].head.process,
                                copy_events(opened[i], i + 1, clocks[i], out, flows),
                                clocks[i].error()});
  out.end();
  flows.judge(result);
  return result;
}

} // namespace troupe
