#include "data/run_folder/run_directory.hpp"

#include "data/checkpoint/checkpoint_store.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/disk/open_file.hpp"
#include "data/records/event_file.hpp"
#include "data/records/tensorboard_file.hpp"
#include "data/records/trace_record.hpp"
#include "data/text/failure.hpp"
#include "models/base/listed.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

std::string set_key_to(const folder_role& role, const std::string& what) {
  return "set " + std::string{role.key} + " to " + what;
}

// The folders that have to be made for `path`, the innermost first.
std::vector<std::string> missing_folders(const std::filesystem::path& path) {
  std::vector<std::string> result;
  std::error_code ignored;
  for (auto at = path.lexically_normal(); !at.empty() && !std::filesystem::exists(at, ignored);
       at = at.parent_path())
    if (at.has_filename()) // "runs/" is "runs"
      result.push_back(at.string());
  return result;
}

// Why `path` cannot be used, with the code of any file that cannot be written.
[[noreturn]] void refuse(const std::string& path, const folder_role& role, const std::string& what,
                         int error) {
  const auto code = writing_failure({what, path, error}, {}).code();
  const bool has_no_locks = error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
  throw failure(
    code, "cannot " + what + " the " + std::string{role.name} + ": " + std::strerror(error), path,
    set_key_to(role, error == ENAMETOOLONG            ? "a shorter path"
                     : has_no_locks                   ? "a folder of a disk that has locks"
                     : code == failure_code::io_error ? "a folder of another disk"
                                                      : "a folder you may write to"));
}

void make_folder(const std::string& path, const folder_role& role) {
  const std::string name{role.name};
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
    throw failure(failure_code::cannot_create, "the " + name + " is a file", path,
                  set_key_to(role, "another path"));
  std::filesystem::create_directories(path, error);
  if (error)
    refuse(path, role, "create", error.value());
}

// The number of an error, or 0 when files can be made.
int try_to_write(const std::string& path) {
  std::string pattern = path + "/.probe-XXXXXX";
  const int probe = mkstemp(pattern.data());
  if (probe < 0)
    return errno;
  close(probe);
  unlink(pattern.c_str());
  return 0;
}

std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t count = pread(lock, text.data(), text.size() - 1, 0);
  std::string result(text.data(), count > 0 ? static_cast<size_t>(count) : 0);
  result.erase(result.find_last_not_of(" \n") + 1);
  return result.empty() ? "?" : result;
}

// The holder of a lock removes its file; who opened it just before holds a lock on nothing.
bool was_removed(int lock) {
  struct stat status {};
  return fstat(lock, &status) != 0 || status.st_nlink == 0;
}

void write_holder(int lock) {
  const std::string text = std::to_string(getpid()) + "\n";
  // The number is for people only: a disk too full for it will say so soon enough.
  if (ftruncate(lock, 0) != 0 || pwrite(lock, text.data(), text.size(), 0) < 0)
    return;
}

} // namespace

folder_claim::folder_claim(std::string path, const folder_role& role)
  : path_(std::move(path)), role_(role) {
  made_ = missing_folders(path_);
  make_folder(path_, role_);
  lock();
  if (const int error = try_to_write(path_)) {
    let_go();
    refuse(path_, role_, "write to", error);
  }
}

folder_claim::~folder_claim() {
  let_go();
}

void folder_claim::let_go() {
  unlink(lock_path().c_str());
  for (const auto& folder : made_)
    if (rmdir(folder.c_str()) != 0) // there is something in it
      break;
  close(lock_);
}

std::string folder_claim::lock_path() const {
  return (std::filesystem::path{path_} / lock_file_name).string();
}

void folder_claim::lock() {
  const std::string name = lock_path();
  int retries = 100;
  for (;;) {
    lock_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock_ < 0 && errno == ENOENT && std::exchange(retries, retries - 1) > 0) {
      make_folder(path_, role_); // whoever had made it has just taken it away
      continue;
    }
    if (lock_ < 0)
      refuse(path_, role_, "write to", errno);
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = holder_of(lock_);
      close(lock_);
      if (error != EWOULDBLOCK)
        refuse(path_, role_, "lock", error);
      throw failure(failure_code::cannot_create,
                    "the " + std::string{role_.name} + " is in use by process " + holder, path_,
                    "wait for that run to end, or set another " + std::string{role_.key});
    }
    if (!was_removed(lock_))
      break;
    close(lock_);
  }
  write_holder(lock_);
}

namespace {

constexpr folder_role role{"run directory", "output.directory"};

/// An identity has a few lines for each key of a job; a file that is larger is none.
constexpr size_t identity_bytes_max = size_t{1} << 20;

// In the order of removal: without its summary a run counts as unfinished, so that goes first.
constexpr std::array run_files{summary_file_name,  importance_file_name, model_file_name,
                               history_file_name,  rounds_file_name,     release_file_name,
                               sequence_file_name, clients_file_name,    table_file_name,
                               job_file_name,      identity_file_name};

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
  for (const auto name : {table_file_name, job_file_name, identity_file_name, event_file_name})
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

namespace {

namespace fs = std::filesystem;

constexpr std::time_t stillborn_after_s = 60;

/// What a flight recorder's file leaves of a disk: room for the checkpoint or model that the run was writing.
constexpr uint64_t room_left_bytes = uint64_t{16} << 20;

bool has_name_of_flight(const std::string& name) {
  return name.starts_with("troupe-") && name.ends_with(".flight");
}

// Anybody may put files into a folder of all: only this user's are read, and nobody waits at a pipe.
bool is_own(const open_file& file) {
  struct stat found {};
  return fstat(file.number(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
         found.st_nlink > 0;
}

std::vector<std::byte> content_of(const open_file& file, size_t bytes_max) {
  std::vector<std::byte> result(bytes_max);
  result.resize(read_at(file, 0, result).value_or(0));
  return result;
}

/// A file that nobody holds any more; while this lives nobody else takes it.
struct opened_flight {
  open_file file;
  left_flight what;
};

std::optional<opened_flight> open_left(const std::string& path) {
  opened_flight result{
    open_file{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)}, {}};
  if (!result.file || flock(result.file.number(), LOCK_EX | LOCK_NB) != 0 || !is_own(result.file))
    return std::nullopt;
  try {
    const auto log = read_flight(content_of(result.file, flight_header_bytes), path);
    result.what = {path, log.process, log.run_directory, log.begin_unix_ms};
  } catch (const failure&) {
    return std::nullopt;
  }
  return result;
}

std::vector<opened_flight> open_all_left(const std::string& folder) {
  std::vector<opened_flight> result;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{folder, ignored})
    if (has_name_of_flight(entry.path().filename().string()))
      if (auto one = open_left(entry.path().string()))
        result.push_back(std::move(*one));
  std::ranges::sort(result, {}, [](const opened_flight& x) { return x.what.begin_unix_ms; });
  return result;
}

// Its process was killed as it made it; one that is just being made is younger.
bool is_stillborn(const fs::directory_entry& x) {
  struct stat found {};
  return lstat(x.path().c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 0 &&
         found.st_uid == geteuid() && std::time(nullptr) - found.st_mtime > stillborn_after_s;
}

std::string file_name_of(std::string process) {
  std::ranges::replace(process, '/', '_');
  return std::string{flight_file_prefix} + process + ".bin";
}

std::string moved_into(const std::string& run_directory, const opened_flight& x) {
  try {
    const auto bytes = content_of(x.file, flight_file_bytes);
    const auto path = (fs::path{run_directory} / file_name_of(x.what.process)).string();
    if (std::error_code error; fs::space(run_directory, error).available < room_left_bytes)
      return x.what.path;
    write_file_atomically(path, std::span{bytes}.first(read_flight(bytes, path).used_bytes));
    unlink(x.what.path.c_str());
    return path;
  } catch (const failure&) {
    return x.what.path;
  }
}

} // namespace

std::vector<left_flight> left_flights(const std::string& folder) {
  std::vector<left_flight> result;
  for (const auto& x : open_all_left(folder))
    result.push_back(x.what);
  return result;
}

std::vector<std::string> take_in_flights(const std::string& folder,
                                         const std::string& run_directory) {
  std::vector<std::string> result;
  for (const auto& x : open_all_left(folder)) {
    if (x.what.run_directory != run_directory)
      continue;
    const auto path = moved_into(run_directory, x);
    if (std::ranges::find(result, path) == result.end())
      result.push_back(path);
  }
  return result;
}

void drop_old_flights(const std::string& folder) {
  const auto all = open_all_left(folder);
  for (size_t i = 0; i + flight_files_kept < all.size(); ++i)
    unlink(all[i].what.path.c_str());
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{folder, ignored})
    if (has_name_of_flight(entry.path().filename().string()) && is_stillborn(entry))
      unlink(entry.path().c_str());
}

} // namespace troupe
