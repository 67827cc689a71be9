#include "data/run_folder/run_directory.hpp"

#include "data/checkpoint/checkpoint_store.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/disk/open_file.hpp"
#include "data/records/event_file.hpp"
#include "data/records/tensorboard_file.hpp"
#include "data/run_folder/flight_files.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace troupe {

namespace {

constexpr folder_role role{"run directory", "output.directory"};

/// An identity has a few lines for each key of a job; a file that is larger is none.
constexpr size_t identity_bytes_max = size_t{1} << 20;

// In the order of removal: without its summary a run counts as unfinished, so that goes first.
constexpr std::array run_files{summary_file_name, model_file_name,   history_file_name,
                               rounds_file_name,  release_file_name, job_file_name,
                               identity_file_name};

// Events and older ones.
std::vector<std::string> event_files() {
  std::vector<std::string> result{std::string{event_file_name}};
  for (size_t i = 1; i <= event_files_kept; ++i)
    result.push_back(result.front() + '.' + std::to_string(i));
  return result;
}

constexpr const char* both_options = "add --resume to continue it or --overwrite to replace it, or "
                                     "set another output.directory";

[[noreturn]] void refuse(const std::string& path, const std::string& why, const std::string& hint) {
  throw failure(failure_code::cannot_create, why, path, hint);
}

[[noreturn]] void refuse_run(const std::string& path, const std::string& state,
                             std::string_view name) {
  refuse(path, "the run directory holds " + state + " run (" + std::string{name} + ")",
         both_options);
}

[[noreturn]] void refuse_removal(const std::string& old) {
  const auto told = writing_failure({"cannot replace a file of an earlier run", old, errno}, {});
  throw failure(told.code(), told.reason(), old, "remove it, or set another output.directory");
}

void refuse_earlier_run(const run_directory& folder) {
  for (const auto name : {summary_file_name, model_file_name})
    if (folder.has(name))
      refuse_run(folder.path(), "a finished", name);
  for (const auto name :
       {job_file_name, history_file_name, rounds_file_name, release_file_name, identity_file_name})
    if (folder.has(name))
      refuse_run(folder.path(), "an unfinished", name);
  if (const auto name = checkpoint_in(folder.path()))
    refuse_run(folder.path(), "an unfinished", *name);
}

std::map<std::string, std::string> values_by_key(std::string_view identity) {
  std::map<std::string, std::string> result;
  while (!identity.empty()) {
    const auto line = identity.substr(0, identity.find('\n'));
    const auto key = line.substr(0, line.find(" = "));
    result[std::string{key}] += line; // a key may have several lines
    identity.remove_prefix(std::min(identity.size(), line.size() + 1));
  }
  return result;
}

std::string listed(const std::vector<std::string>& words) {
  std::string result;
  for (const auto& word : words)
    result += (result.empty() ? "" : ", ") + word;
  return result;
}

void remove_file(const std::string& old) {
  if (unlink(old.c_str()) != 0 && errno != ENOENT)
    refuse_removal(old);
}

void remove_files(const std::string& folder, std::string_view prefix) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{folder, ignored})
    if (entry.path().filename().string().starts_with(prefix))
      remove_file(entry.path().string());
}

// The files of an earlier run, and their folder if nothing else lies there.
void remove_tensorboard_files(const std::string& folder) {
  remove_files(folder, tensorboard_file_prefix);
  rmdir(folder.c_str());
}

} // namespace

run_directory::run_directory(std::string path, earlier_run treatment)
  : claim_(std::move(path), role), treatment_(treatment) {
  if (treatment_ == earlier_run::refuse)
    refuse_earlier_run(*this);
}

std::string run_directory::file(std::string_view name) const {
  return (std::filesystem::path{path()} / name).string();
}

bool run_directory::has(std::string_view name) const {
  std::error_code ignored;
  return std::filesystem::exists(file(name), ignored);
}

std::optional<std::string> run_directory::identity() const {
  std::ifstream in{file(identity_file_name), std::ios::binary};
  if (!in)
    return std::nullopt;
  std::string result(identity_bytes_max, '\0');
  in.read(result.data(), static_cast<std::streamsize>(result.size()));
  result.resize(static_cast<size_t>(in.gcount()));
  return result;
}

void run_directory::expect_identity(const std::string& expected) const {
  const std::string hint =
    "use --overwrite instead of --resume to replace it, or set another output.directory";
  if (const auto found = identity()) {
    if (const auto keys = keys_that_differ(*found, expected); !keys.empty())
      refuse(path(), "the run directory holds another job, which differs in " + listed(keys), hint);
    return;
  }
  for (const auto name : run_files)
    if (has(name))
      refuse(path(),
             "the run directory holds a run (" + std::string{name} + ") that does not say of " +
               "which job it is: " + std::string{identity_file_name} + " is missing",
             hint);
}

void run_directory::begin(std::string_view job_text, std::string_view identity) {
  const bool resumes = treatment_ == earlier_run::resume;
  remove_file(file(summary_file_name));
  if (!resumes) { // the others are replaced when there is something newer, or go on
    for (const auto name : run_files)
      remove_file(file(name));
    for (const auto& name : event_files())
      remove_file(file(name));
    remove_tensorboard_files(file(tensorboard_folder_name));
    remove_files(path(), flight_file_prefix);
  }
  write_file_atomically(file(identity_file_name), identity);
  write_file_atomically(file(job_file_name), job_text);
}

void run_directory::take_back() const noexcept {
  if (treatment_ == earlier_run::resume)
    return;
  for (const auto name : {job_file_name, identity_file_name, event_file_name})
    unlink(file(name).c_str());
}

std::vector<std::string> keys_that_differ(std::string_view a, std::string_view b) {
  const auto left = values_by_key(a), right = values_by_key(b);
  std::vector<std::string> result;
  for (const auto& [key, value] : left)
    if (const auto other = right.find(key); other == right.end() || other->second != value)
      result.push_back(key);
  for (const auto& [key, value] : right)
    if (!left.contains(key))
      result.push_back(key);
  std::sort(result.begin(), result.end());
  return result;
}

} // namespace troupe
