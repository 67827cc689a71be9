#include "app/page/page_feed.hpp"

#include "data/records/event_file.hpp"
#include "data/records/history_figures.hpp"
#include "data/records/history_file.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

namespace {

using nlohmann::json;

std::string text_of(const json& x) {
  return x.dump(-1, ' ', true, json::error_handler_t::replace);
}

// Of a private round the object has no more than rounds.csv has.
json object_of(const round_record& x) {
  if (x.epsilon)
    return {{"round", x.round}, {"void", x.is_void}, {"epsilon", *x.epsilon}};
  return {{"round", x.round},     {"invited", x.invited}, {"dropped", x.dropped},
          {"late", x.late},       {"surplus", x.surplus}, {"refused", x.refused},
          {"counted", x.counted}, {"void", x.is_void}};
}

double number_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

uint64_t count_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

bool has_evaluation(const json& point) {
  return std::ranges::any_of(point.items(), [](const auto& x) {
    return x.value().is_number() &&
           (x.key().starts_with("test_") || x.key().starts_with("validation_"));
  });
}

// The state of each process, by name; each change of it is an event.
std::map<std::string, std::string> states_of(const json& status) {
  std::map<std::string, std::string> result;
  if (const auto nodes = status.find("nodes"); nodes != status.end() && nodes->is_array())
    for (const auto& node : *nodes)
      result[node.value("name", "")] = node.value("state", "");
  return result;
}

} // namespace

void thinned_points::add(uint64_t step, json point) {
  const auto behind = std::ranges::lower_bound(entries_, step, {}, &entry::step);
  entries_.erase(behind, entries_.end());
  const bool is_evaluated = has_evaluation(point);
  if (count_[is_evaluated]++ % every_[is_evaluated] != 0)
    return;
  entries_.push_back({step, is_evaluated, std::move(point)});
  if (entries_.size() < size_max)
    return;
  const auto evaluated = std::ranges::count_if(entries_, &entry::is_evaluated);
  const bool larger = static_cast<size_t>(2 * evaluated) > entries_.size();
  size_t seen = 0;
  std::erase_if(entries_,
                [&](const entry& x) { return x.is_evaluated == larger && seen++ % 2 == 1; });
  every_[larger] *= 2;
}

json thinned_points::points() const {
  auto result = json::array();
  for (const auto& x : entries_)
    result.push_back(x.point);
  return result;
}

page_feed::page_feed(std::string job_name, page_source source)
  : job_name_(std::move(job_name)), source_(source) {}

void page_feed::set_status(const std::string& status, double now) {
  auto object = json::parse(status, nullptr, false);
  if (!object.is_object())
    return;
  const std::lock_guard lock{mutex_};
  problem_.clear();
  const auto before = std::exchange(status_, std::move(object));
  const double time = now - came_;
  if (before.is_object() && time > 0)
    bytes_per_second_ =
      std::max(0.0, number_at(status_, "bytes_sent") - number_at(before, "bytes_sent")) / time;
  came_ = now;
  if (source_ == page_source::finished)
    return;
  take_sample(now);
  if (source_ != page_source::visits)
    return; // the run itself adds rows and events
  take_row();
  if (before.is_object())
    note_changes(before, now);
  else
    add_event_locked("the page asks since now; what was before is in the run's events.jsonl", now);
}

void page_feed::take_sample(double now) {
  const auto step = count_at(status_, "step");
  if (step == 0)
    return;
  const auto at = [&](const char* key) {
    return status_.contains(key) && status_[key].is_number() ? status_[key] : json(nullptr);
  };
  samples_.add(step, {{"steps", step},
                      {"time", now},
                      {"train_loss", at("train_loss")},
                      {"learning_rate", at("learning_rate")},
                      {"samples_per_second", at("samples_per_second")}});
  ++curves_changed_;
}

void page_feed::take_row() {
  const auto row = status_.find("newest_row");
  if (row == status_.end() || !row->is_object() || *row == newest_row_)
    return;
  newest_row_ = *row;
  rows_.add(count_at(*row, "steps"), *row);
  ++curves_changed_;
}

// A director's status says how things are, not what happened: events are its differences.
void page_feed::note_changes(const json& before, double now) {
  const auto old_states = states_of(before);
  for (const auto& [name, state] : states_of(status_))
    if (const auto old = old_states.find(name); old != old_states.end() && old->second != state)
      add_event_locked(name + ": " + state + ", was: " + old->second, now);
  if (const auto rollbacks = number_at(status_, "rollbacks");
      rollbacks > number_at(before, "rollbacks"))
    add_event_locked("training went back to an earlier version", now);
  if (before.value("phase", "") != status_.value("phase", ""))
    add_event_locked(status_.value("phase", ""), now);
}

void page_feed::add_row(const history_row& row) {
  const std::lock_guard lock{mutex_};
  rows_.add(row.steps, row_object<json>(row));
  ++curves_changed_;
}

void page_feed::add_rounds(const std::vector<round_record>& rounds) {
  if (rounds.empty())
    return;
  const std::lock_guard lock{mutex_};
  while (!rounds_.empty() && rounds_.back().round >= rounds.front().round)
    rounds_.pop_back();
  rounds_.insert(rounds_.end(), rounds.begin(), rounds.end());
  while (rounds_.size() > rounds_max)
    rounds_.pop_front();
  ++rounds_changed_;
}

void page_feed::add_event(const std::string& text, double now) {
  const std::lock_guard lock{mutex_};
  add_event_locked(text, now);
}

void page_feed::add_event_locked(const std::string& text, double now) {
  events_.push_back({now, text});
  if (events_.size() > events_max)
    events_.pop_front();
  ++events_changed_;
}

void page_feed::set_problem(std::string problem) {
  const std::lock_guard lock{mutex_};
  problem_ = std::move(problem);
}

std::string page_feed::status(double now) const {
  const std::lock_guard lock{mutex_};
  return text_of({{"job", job_name_},
                  {"source", name_of(source_)},
                  {"age_seconds", status_.is_null() ? json(nullptr) : json(now - came_)},
                  {"problem", problem_},
                  {"bytes_per_second", bytes_per_second_},
                  {"curves", curves_changed_},
                  {"events", events_changed_},
                  {"rounds", rounds_changed_},
                  {"status", status_}});
}

std::string page_feed::curves() const {
  const std::lock_guard lock{mutex_};
  return text_of({{"rows", rows_.points()}, {"samples", samples_.points()}});
}

std::string page_feed::events() const {
  const std::lock_guard lock{mutex_};
  auto result = json::array();
  for (const auto& [time, text] : events_)
    result.push_back({{"time", time}, {"text", text}});
  return text_of({{"events", result}});
}

std::string page_feed::rounds() const {
  const std::lock_guard lock{mutex_};
  auto result = json::array();
  for (const auto& round : rounds_)
    result.push_back(object_of(round));
  return text_of({{"rounds", result}});
}

json page_feed::run() const {
  const std::lock_guard lock{mutex_};
  return status_;
}

namespace {

using nlohmann::json;

std::optional<std::string> text_in(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return std::nullopt;
  return std::string{std::istreambuf_iterator<char>{in}, {}};
}

json summary_in(const std::filesystem::path& file) {
  const auto text = text_in(file);
  if (!text)
    return {};
  auto result = json::parse(*text, nullptr, false);
  if (!result.is_object())
    throw failure(failure_code::bad_data, "this is no summary of a run", file.string());
  return result;
}

// A summary has most figures under the names that a status has for them.
json status_from(json summary, const std::vector<history_row>& rows) {
  const auto steps = rows.empty() ? 0 : rows.back().steps;
  if (summary.is_null())
    return {{"phase", "unfinished"}, {"step", steps}, {"last_step", steps}};
  summary["phase"] = summary.contains("error") ? "failed" : "finished";
  summary["step"] = summary["last_step"] = summary.value("steps", steps);
  summary["epoch"] = summary.value("epochs", 0);
  return summary;
}

} // namespace

bool is_run_folder(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path folder{path};
  return std::filesystem::exists(folder / identity_file_name, ignored) ||
         std::filesystem::exists(folder / summary_file_name, ignored);
}

std::vector<round_record> rounds_of_run(const std::string& path, uint64_t version) {
  const auto file = std::filesystem::path{path} / rounds_file_name;
  const auto text = text_in(file);
  auto result = text ? read_rounds(*text, file.string()) : std::vector<round_record>{};
  std::erase_if(result, [&](const auto& x) { return x.round > version; });
  return result;
}

std::shared_ptr<const page_feed> feed_of_run(const std::string& path) {
  const std::filesystem::path folder{path};
  if (!is_run_folder(path))
    throw failure(failure_code::missing_input, "there is no run in this folder", path,
                  "give the folder that output.directory of the job names");
  const auto history = folder / history_file_name;
  const auto text = text_in(history);
  const auto rows = text ? read_history(*text, history.string()) : std::vector<history_row>{};
  auto status = status_from(summary_in(folder / summary_file_name), rows);
  if (auto importance = summary_in(folder / importance_file_name); importance.is_object())
    status["importance"] = std::move(importance);
  auto name = status.value("job", std::string{});
  auto result = std::make_shared<page_feed>(name.empty() ? folder.filename().string() : name,
                                            page_source::finished);
  for (const auto& row : rows)
    result->add_row(row);
  for (const auto& x : read_parsed_events((folder / event_file_name).string()))
    result->add_event(x.text, x.time);
  result->add_rounds(rounds_of_run(path, std::numeric_limits<uint64_t>::max()));
  result->set_status(status.dump(-1, ' ', true, json::error_handler_t::replace), 0);
  return result;
}

} // namespace troupe
