#include "troupe/data/checkpoint/checkpoint_store.hpp"

#include "troupe/data/disk/disk_failure.hpp"
#include "troupe/data/text/checksum.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

constexpr std::string_view name_start = "checkpoint-";
constexpr std::string_view name_end = ".troupe";
constexpr std::string_view unfinished_end = ".tmp";
constexpr std::string_view term_name = "term";
constexpr size_t version_digits = 12;
/// Far above a term file's; more is not read.
constexpr uint64_t term_bytes_max = 256;

std::string name_of_version(uint64_t version) {
  const auto digits = std::to_string(version);
  const auto zeros = version_digits > digits.size() ? version_digits - digits.size() : 0;
  return std::string{name_start} + std::string(zeros, '0') + digits + std::string{name_end};
}

/// The version in a checkpoint's name; nothing for any other name.
std::optional<uint64_t> version_in(std::string_view name) {
  if (!name.starts_with(name_start) || !name.ends_with(name_end) ||
      name.size() < name_start.size() + version_digits + name_end.size())
    return std::nullopt;
  const auto digits =
    name.substr(name_start.size(), name.size() - name_start.size() - name_end.size());
  uint64_t version = 0;
  const auto end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, version);
  if (error != std::errc{} || stop != end || name_of_version(version) != name)
    return std::nullopt;
  return version;
}

bool is_unfinished(std::string_view name) {
  if (!name.ends_with(unfinished_end))
    return false;
  name.remove_suffix(unfinished_end.size());
  return name == term_name || version_in(name);
}

std::string hex(const checksum_bytes& checksum) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (const auto byte : checksum) {
    result += digits[std::to_integer<size_t>(byte >> 4)];
    result += digits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return result;
}

/// The whole file of a term: it is intact exactly when it reads like this.
std::string term_text(uint64_t term) {
  const auto first = "term " + std::to_string(term);
  return first + " " + hex(checksum_of(std::as_bytes(std::span(first)))) + "\n";
}

std::optional<uint64_t> term_in(std::string_view text) {
  const std::string_view start = "term ";
  if (!text.starts_with(start))
    return std::nullopt;
  uint64_t term = 0;
  std::from_chars(text.data() + start.size(), text.data() + text.size(), term);
  return text == term_text(term) ? std::optional{term} : std::nullopt;
}

/// Writes a file whole or not at all; the old one, if any, stays until the new one is safe.
class replacement {
public:
  replacement(disk& where, const std::string& folder, const std::string& path,
              uint64_t bytes_needed)
    : disk_(where),
      folder_(folder),
      path_(path),
      temporary_(path + std::string{unfinished_end}),
      bytes_needed_(bytes_needed) {}

  template <class Write>
  void write(Write write_content) {
    try {
      const auto file = disk_.create(temporary_);
      write_content(*file);
      file->sync();
    } catch (const disk_error& error) {
      give_up(error);
    }
    publish();
  }

private:
  void publish() {
    try {
      disk_.rename(temporary_, path_);
    } catch (const disk_error& error) {
      give_up(error);
    }
    try {
      disk_.sync_folder(folder_);
    } catch (const disk_error& error) { // the new file has its name, whole: nothing to remove
      throw told(error);
    }
  }

  /// Frees the room that the part written so far takes, and counts it as available.
  [[noreturn]] void give_up(const disk_error& error) {
    try {
      disk_.remove(temporary_);
    } catch (const disk_error&) { // it was never made, or the disk is gone: the first reason counts
    }
    throw told(error);
  }

  failure told(const disk_error& error) const {
    return writing_failure({"cannot " + error.operation(), path_, error.error_number()},
                           {bytes_needed_, disk_.bytes_available(folder_)});
  }

  disk& disk_;
  const std::string& folder_;
  const std::string& path_;
  std::string temporary_;
  uint64_t bytes_needed_;
};

} // namespace

std::optional<std::string> checkpoint_in(const std::string& folder) {
  std::optional<uint64_t> newest;
  try {
    for (const auto& name : posix_disk()->list(folder))
      if (const auto version = version_in(name))
        newest = std::max(newest.value_or(0), *version);
  } catch (const disk_error&) { // nothing to be found there
  }
  return newest ? std::optional{name_of_version(*newest)} : std::nullopt;
}

checkpoint_store::checkpoint_store(std::shared_ptr<disk> where, std::string directory, size_t keep)
  : disk_(std::move(where)), directory_(std::move(directory)), keep_(keep) {
  if (keep_ == 0)
    throw std::invalid_argument("checkpoint store: 0 checkpoints to keep, at least 1 is needed");
  remove_unfinished();
}

std::string checkpoint_store::path_of(uint64_t version) const {
  return directory_ + "/" + name_of_version(version);
}

std::vector<std::string> checkpoint_store::names() const {
  try {
    return disk_->list(directory_);
  } catch (const disk_error& error) {
    throw writing_failure({"cannot " + error.operation(), directory_, error.error_number()}, {});
  }
}

std::vector<uint64_t> checkpoint_store::versions() const {
  std::vector<uint64_t> result;
  for (const auto& name : names())
    if (const auto version = version_in(name))
      result.push_back(*version);
  std::sort(result.begin(), result.end());
  return result;
}

checkpoint_file checkpoint_store::open(uint64_t version) const {
  return {*disk_, path_of(version)};
}

void checkpoint_store::write(const checkpoint& x) {
  const auto path = path_of(x.version);
  refuse_other_job(x);
  replacement{*disk_, directory_, path, checkpoint_file_bytes(x)}.write(
    [&](disk_writer& out) { write_checkpoint(out, x); });
  remove_old(x);
}

void checkpoint_store::refuse_other_job(const checkpoint& x) const {
  const auto there = versions();
  if (!std::binary_search(there.begin(), there.end(), x.version))
    return;
  if (const auto owner = job_of(x.version); owner && *owner != x.job_sha256)
    throw failure(failure_code::cannot_create, "the checkpoint of another job has this name",
                  path_of(x.version), "set checkpoint.directory to a folder of this run's own");
}

std::optional<std::string> checkpoint_store::job_of(uint64_t version) const {
  try {
    return open(version).head().job_sha256;
  } catch (const failure&) { // it cannot be used, whosever it was
    return std::nullopt;
  }
}

checkpoint_search checkpoint_store::latest(const std::string& job_sha256,
                                           const checkpoint_check& misfit) const {
  checkpoint_search result;
  bool damaged = false;
  const auto there = versions();
  for (auto version = there.rbegin(); version != there.rend(); ++version) {
    const auto path = path_of(*version);
    try {
      const auto file = open(*version);
      if (file.head().job_sha256 != job_sha256) {
        result.skipped.push_back({path, "it belongs to another job"});
        continue;
      }
      if (file.head().version != *version)
        throw failure(failure_code::bad_data,
                      "it holds version " + std::to_string(file.head().version));
      auto found = file.read();
      if (const auto reason = misfit ? misfit(found) : std::nullopt)
        throw failure(failure_code::bad_data, "it is of another shape: " + *reason);
      result.newest = std::move(found);
      result.path = path;
      return result;
    } catch (const failure& error) {
      result.skipped.push_back({path, error.reason()});
      damaged = true;
    }
  }
  if (!there.empty())
    refuse_all(result.skipped, damaged);
  return result;
}

void checkpoint_store::refuse_all(const std::vector<skipped_checkpoint>& skipped,
                                  bool damaged) const {
  std::string reason = "there are checkpoints, but none that can be used:";
  for (const auto& one : skipped)
    reason += "\n  " + one.path + ": " + one.reason;
  throw failure(damaged ? failure_code::bad_data : failure_code::mismatch, reason, directory_,
                "add --overwrite to begin again from nothing, or set another directory");
}

void checkpoint_store::clear() {
  const auto there = versions();
  for (const auto version : there)
    remove(path_of(version));
  if (!there.empty())
    sync_folder();
}

uint64_t checkpoint_store::read_term() const {
  const auto path = directory_ + "/" + std::string{term_name};
  std::string text;
  try {
    const auto file = disk_->open(path);
    text.resize(std::min(file->size(), term_bytes_max));
    text.resize(file->read(0, std::as_writable_bytes(std::span(text))));
  } catch (const disk_error& error) {
    if (error.error_number() == ENOENT)
      return 0;
    throw reading_failure({"cannot " + error.operation(), path, error.error_number()});
  }
  const auto term = term_in(text);
  if (!term)
    throw failure(failure_code::bad_data, "the file of the term is damaged", path,
                  "make sure that no director of this run is left, and remove the file");
  return *term;
}

void checkpoint_store::write_term(uint64_t term) {
  const auto path = directory_ + "/" + std::string{term_name};
  const auto text = term_text(term);
  replacement{*disk_, directory_, path, text.size()}.write(
    [&](disk_writer& out) { out.append(std::as_bytes(std::span(text))); });
}

void checkpoint_store::remove_unfinished() {
  for (const auto& name : names())
    if (is_unfinished(name))
      remove(directory_ + "/" + name);
}

void checkpoint_store::remove_old(const checkpoint& newest) {
  size_t whole = 0;
  const auto there = versions();
  bool removed = false;
  for (auto version = there.rbegin(); version != there.rend(); ++version) {
    const auto owner = job_of(*version);
    if (owner && *owner != newest.job_sha256)
      continue;
    // A run does not come by a version after a later one, unless that could not be used.
    if (whole >= keep_ || *version > newest.version) {
      remove(path_of(*version));
      removed = true;
    } else if (owner) {
      ++whole;
    }
  }
  if (removed)
    sync_folder();
}

void checkpoint_store::remove(const std::string& path) {
  try {
    disk_->remove(path);
  } catch (const disk_error& error) {
    if (error.error_number() != ENOENT)
      throw writing_failure({"cannot " + error.operation(), path, error.error_number()}, {});
  }
}

void checkpoint_store::sync_folder() {
  try {
    disk_->sync_folder(directory_);
  } catch (const disk_error& error) {
    throw writing_failure({"cannot " + error.operation(), directory_, error.error_number()}, {});
  }
}

} // namespace troupe
