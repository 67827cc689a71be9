#include "app/page/page_feed.hpp"
#include "data/records/event_file.hpp"
#include "data/records/history_file.hpp"
#include "data/records/rounds_file.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

namespace troupe {

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

// A summary says most things by the names that a status has for them.
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
  const auto status = status_from(summary_in(folder / summary_file_name), rows);
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
