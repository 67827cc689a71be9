#include "app/job/job_file.hpp"
#include "app/job/job_text.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "app/tools/tool_lines.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "data/checkpoint/checkpoint_file.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/disk/disk.hpp"
#include "data/records/history_file.hpp"
#include "data/records/summary_file.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "models/base/random.hpp"
#include "models/math/elementary.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

// ---- Jobs ----

/// Every key, in the order of the documentation, with its value as TOML; null where it is unset, or was not decided when
/// the run was left.
json keys_of(const job& x) {
  json result = json::object();
  for (const auto& key : job_keys()) {
    const auto value = key.get(x);
    result[key.path] = value ? json(*value) : json(nullptr);
  }
  return result;
}

json job_facts(const std::vector<std::string>& asked) {
  job last;
  for (auto at = asked.begin() + 1; at < asked.end();) {
    const auto first = at + 1;
    at = first + std::stol(*at);
    last = load_job(asked.at(0), {first, at}, process_environment());
  }
  return {{"name", last.name}, {"keys", keys_of(last)}, {"text", job_text(last)}};
}

// ---- Draws ----

/// Beyond all purposes of training, which are a part of its results.
constexpr auto purpose_of_searches = random_purpose{0x7377'6565};

/// FNV-1a: a key's draws do not depend on the other keys.
uint64_t number_of(const std::string& key) {
  uint64_t result = 0xcbf29ce484222325;
  for (const unsigned char x : key)
    result = (result ^ x) * 0x100000001b3;
  return result;
}

std::string shortest(double x) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
  return {text.data(), end};
}

json draws_of(const std::vector<std::string>& asked) {
  const auto is = [&](const char* kind) { return std::ranges::count(asked, kind) > 0; };
  const double low = std::strtod(asked.at(1).c_str(), nullptr);
  const double high = std::strtod(asked.at(2).c_str(), nullptr);
  const double top = is("whole") ? high + 1 : high;
  const auto scaled = [&](double x) { return is("log") ? elementary::log(x) : x; };
  word_reader words{{std::stoull(asked.at(4)), purpose_of_searches, number_of(asked.at(0))}};
  json result = json::array();
  for (auto left = std::stoull(asked.at(3)); left > 0; --left) {
    const double drawn = scaled(low) + words.unit() * (scaled(top) - scaled(low));
    const double value = is("log") ? elementary::exp_double(drawn) : drawn;
    result.push_back(is("whole")
                       ? std::to_string(static_cast<int64_t>(std::min(std::floor(value), high)))
                       : shortest(value));
  }
  return result;
}

// ---- Runs ----

/// Nothing when there is no such file.
std::optional<std::string> content_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    return std::nullopt;
  std::string result{std::istreambuf_iterator<char>{in}, {}};
  if (in.bad())
    throw failure(failure_code::missing_input, "cannot read the file", path);
  return result;
}

std::string path_in(const std::string& folder, std::string_view name) {
  return (std::filesystem::path{folder} / name).string();
}

void expect_run(const std::string& folder) {
  const char* const hint = "give the folder of a run, such as runs/digits";
  if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored))
    throw failure(failure_code::missing_input, "there is no such folder", folder, hint);
  for (const auto name : {job_file_name, identity_file_name})
    if (std::error_code ignored; !std::filesystem::exists(path_in(folder, name), ignored))
      throw failure(failure_code::bad_data,
                    "this is no run directory: " + std::string{name} + " is missing", folder, hint);
}

running_checksum& operator<<(running_checksum& out, const stored_tensor& values) {
  constexpr size_t at_once = size_t{1} << 16;
  std::vector<float> piece;
  for (size_t first = 0; first < values.size(); first += piece.size()) {
    piece.resize(std::min(at_once, values.size() - first));
    values.read(first, piece);
    out.add(std::as_bytes(std::span{piece}));
  }
  return out;
}

/// Null for one that cannot be read: a run that is under way removes its older ones.
json digest_of(const std::string& path) {
  try {
    const auto x = checkpoint_file{*posix_disk(), path}.contents();
    running_checksum sum;
    const auto parameters = (sum << x.parameters).take();
    for (const auto& slot : x.slots)
      sum << slot;
    sum.add(std::as_bytes(std::span{x.optimizer_numbers}));
    return {parameters, sum.take()};
  } catch (const failure&) {
    return nullptr;
  }
}

/// Locks and writes nothing: a run that is under way does not notice. Throws when a file is damaged.
std::pair<json, std::map<uint64_t, std::string>> run_facts(const std::string& folder) {
  expect_run(folder);
  const auto loaded = load_job(path_in(folder, job_file_name), {}, {});
  const auto history = path_in(folder, history_file_name);
  if (const auto text = content_of(history))
    read_history(*text, history);
  const auto summary = path_in(folder, summary_file_name);
  if (const auto text = content_of(summary))
    read_summary(*text, summary);
  const auto& elsewhere = loaded.checkpoint.directory;
  auto checkpoints = checkpoints_in(elsewhere.empty() ? folder : elsewhere);
  json told{
    {"keys", keys_of(loaded)}, {"checkpoints", checkpoints.size()}, {"digests", json::object()}};
  return {std::move(told), std::move(checkpoints)};
}

json facts_of_runs(const std::vector<std::string>& folders) {
  std::vector<std::pair<json, std::map<uint64_t, std::string>>> runs;
  std::set<uint64_t> seen, common;
  for (const auto& folder : folders)
    for (const auto& [version, path] : runs.emplace_back(run_facts(folder)).second)
      if (!seen.insert(version).second)
        common.insert(version);
  json result = json::array();
  for (auto& [told, checkpoints] : runs) {
    for (const auto& [version, path] : checkpoints)
      if (common.contains(version))
        if (auto digest = digest_of(path); !digest.is_null())
          told["digests"][std::to_string(version)] = std::move(digest);
    result.push_back(std::move(told));
  }
  return result;
}

json answer(const std::string& service, const std::vector<std::string>& asked) {
  if (service == "runs")
    return facts_of_runs(asked);
  if (service == "draw")
    return draws_of(asked);
  if (service == "job")
    return job_facts(asked);
  if (service == "claim")
    const folder_claim claim{asked.at(0), {"sweep directory", "--output"}};
  else if (service == "write")
    write_file_atomically(asked.at(0), asked.at(1));
  else
    throw failure(failure_code::usage, "there is no service '" + service + "'");
  return json::object();
}

} // namespace

int serve_tool(const std::string& service) {
  return with_failure_object(true, [&] {
    std::vector<std::string> asked;
    for (std::string word; std::getline(std::cin, word, '\0');)
      asked.push_back(word);
    print_result(one_line(answer(service, asked)));
    return 0;
  });
}

} // namespace troupe
