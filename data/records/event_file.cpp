#include "data/records/event_file.hpp"

#include "data/disk/open_file.hpp"
#include "data/records/history_figures.hpp"
#include "data/text/failure.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

/// One field of a line.
struct event_field {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array event_fields{
  event_field{"number", "counts up over all lives of the run; a gap is what was left out"},
  event_field{"time", "when it was written down, in UTC"},
  event_field{"seconds", "since this process began to write"},
  event_field{"kind", "one of the kinds below"},
  event_field{"version", "steps done, as far as was known"},
  event_field{"text", "what happened and why, as people were told"},
  event_field{"row", "of a `row`: its figures, named as in history.csv; null: not measured"},
};

std::string utc_text(std::chrono::system_clock::time_point when) {
  using std::chrono::floor, std::chrono::milliseconds, std::chrono::seconds;
  const auto whole = floor<seconds>(when);
  const auto thousandths = floor<milliseconds>(when - whole).count();
  const std::time_t count = whole.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&count, &parts);
  std::array<char, 32> text{};
  const auto size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const auto digits = std::to_string(1000 + thousandths).substr(1);
  return std::string{text.data(), size} + '.' + digits + 'Z';
}

/// Nothing of a row, of what was left out, and of a line that is none.
std::optional<parsed_event> parsed_event_in(const std::string& line) {
  const auto object = json::parse(line, nullptr, false);
  for (const auto* key : {"kind", "time", "text"})
    if (!object.contains(key) || !object[key].is_string())
      return std::nullopt;
  const auto kind = from_name<event_kind>(object["kind"].get<std::string>());
  const auto utc = object["time"].get<std::string>();
  std::tm parts{};
  const auto* const rest = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest || !kind || kind == event_kind::row || kind == event_kind::left_out)
    return std::nullopt;
  return parsed_event{static_cast<double>(timegm(&parts)) + std::strtod(rest, nullptr),
                      object["text"]};
}

/// The number of the last whole line; 0 where there is none.
uint64_t last_number_in(const std::string& path) {
  constexpr std::streamoff tail_bytes = 64 << 10; // far above a line's
  std::ifstream in{path, std::ios::binary | std::ios::ate};
  const std::streamoff size = in ? std::streamoff{in.tellg()} : 0;
  in.seekg(std::max(std::streamoff{0}, size - tail_bytes));
  uint64_t result = 0;
  for (std::string line; std::getline(in, line);)
    if (const auto object = json::parse(line, nullptr, false); object.is_object())
      if (const auto number = object.find("number");
          number != object.end() && number->is_number_unsigned())
        result = number->get<uint64_t>();
  return result;
}

/// A process that died may have left half a line: the next one must not stand behind it.
bool ends_within_line(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return in.seekg(-1, std::ios::end) && in.get() != '\n';
}

[[noreturn]] void refuse_events(const std::string& path) {
  throw failure(failure_code::io_error, std::string{"cannot add an event: "} + std::strerror(errno),
                path, "is the disk full? training goes on without");
}

void append_text(const std::string& path, std::string_view text) {
  const open_file file{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)};
  if (!file || !write_all(file, std::as_bytes(std::span{text})))
    refuse_events(path);
}

} // namespace

std::string event_line(uint64_t number, const event_time& when, const run_event& event,
                       const history_row* row) {
  json object{{"number", number},
              {"time", utc_text(when.clock)},
              {"seconds", std::round(when.since_begin.count() * 1e3) / 1e3},
              {"kind", name_of(event.kind)},
              {"version", event.version},
              {"text", event.text}};
  if (row)
    object["row"] = row_object<json>(*row);
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::vector<parsed_event> read_parsed_events(const std::string& path) {
  std::vector<parsed_event> result;
  for (size_t i = event_files_kept + 1; i-- > 0;) {
    std::ifstream in{i == 0 ? path : path + '.' + std::to_string(i), std::ios::binary};
    for (std::string line; std::getline(in, line);)
      if (auto event = parsed_event_in(line))
        result.push_back(std::move(*event));
  }
  return result;
}

std::string event_fields_markdown() {
  std::string result = "| field | meaning |\n|---|---|\n";
  for (const auto& [name, meaning] : event_fields)
    result.append("| `").append(name).append("` | ").append(meaning).append(" |\n");
  result += "\n| kind | meaning |\n|---|---|\n";
  for (size_t i = 0; i < event_meanings.size(); ++i)
    result.append("| `")
      .append(name_table<event_kind>::entries[i].second)
      .append("` | ")
      .append(event_meanings[i])
      .append(" |\n");
  return result;
}

event_writer::event_writer(std::string path, size_t bytes_max)
  : path_(std::move(path)), bytes_max_(bytes_max), last_number_(last_number_in(path_)) {
  if (last_number_ == 0) // it may have been moved away just now
    last_number_ = last_number_in(path_ + ".1");
  if (ends_within_line(path_))
    append_text(path_, "\n");
}

// What is too much has a number too, so that its gap shows.
void event_writer::add(const run_event& event, const event_time& when, const history_row* row) {
  if (is_too_many(event.kind, when))
    ++last_number_;
  else
    append(event, when, row);
}

bool event_writer::is_too_many(event_kind kind, const event_time& when) {
  const std::chrono::seconds interval{kind == event_kind::row ? 60 : 1};
  auto& now = paces_[kind];
  if (now.count == 0 || when.since_begin - now.begin >= interval) {
    const auto left_out = now.count > events_a_second_max ? now.count - events_a_second_max : 0;
    now = {when.since_begin, 0};
    if (left_out > 0)
      append({event_kind::left_out, 0,
              std::to_string(left_out) + " more of kind " + std::string{name_of(kind)}},
             when, nullptr);
  }
  return ++now.count > events_a_second_max;
}

void event_writer::append(const run_event& event, const event_time& when, const history_row* row) {
  const auto line = event_line(++last_number_, when, event, row);
  std::error_code ignored;
  if (const auto size = std::filesystem::file_size(path_, ignored);
      !ignored && size > 0 && size + line.size() > bytes_max_)
    rotate();
  append_text(path_, line);
}

void event_writer::rotate() const {
  for (size_t i = event_files_kept; i-- > 0;) {
    const auto from = i == 0 ? path_ : path_ + '.' + std::to_string(i);
    if (std::rename(from.c_str(), (path_ + '.' + std::to_string(i + 1)).c_str()) != 0 &&
        errno != ENOENT)
      refuse_events(from);
  }
}

} // namespace troupe
