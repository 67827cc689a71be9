#include "data/checkpoint/checkpoint_store.hpp"

#include "data/checkpoint/checkpoint_output.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/disk/open_file.hpp"
#include "data/disk/stored_tensor.hpp"
#include "data/text/checksum.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

constexpr std::string_view name_start = "checkpoint-";
constexpr std::string_view name_end = ".troupe";
constexpr size_t version_digits = 12;

} // namespace

std::string checkpoint_name(uint64_t version) {
  const auto digits = std::to_string(version);
  const auto zeros = version_digits > digits.size() ? version_digits - digits.size() : 0;
  return std::string{name_start} + std::string(zeros, '0') + digits + std::string{name_end};
}

std::optional<uint64_t> version_in(std::string_view name) {
  if (!name.starts_with(name_start) || !name.ends_with(name_end) ||
      name.size() < name_start.size() + version_digits + name_end.size())
    return std::nullopt;
  const auto digits =
    name.substr(name_start.size(), name.size() - name_start.size() - name_end.size());
  uint64_t version = 0;
  const auto end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, version);
  if (error != std::errc{} || stop != end || checkpoint_name(version) != name)
    return std::nullopt;
  return version;
}

std::map<uint64_t, std::string> checkpoints_in(const std::string& folder) {
  std::map<uint64_t, std::string> result;
  try {
    for (const auto& name : posix_disk()->list(folder))
      if (const auto version = version_in(name))
        result.emplace(*version, folder + '/' + name);
  } catch (const disk_error&) { // nothing to be found there
  }
  return result;
}

namespace {

constexpr std::string_view term_name = "term";
/// Far above a term file's; more is not read.
constexpr uint64_t term_bytes_max = 256;

bool is_unfinished(std::string_view name) {
  if (!name.ends_with(unfinished_end))
    return false;
  name.remove_suffix(unfinished_end.size());
  return name == term_name || version_in(name) || name.starts_with(scratch_name_start);
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

} // namespace

struct checkpoint_store::draft {
  atomic_file place;
  std::optional<checkpoint_output> out{};
};

std::optional<std::string> checkpoint_in(const std::string& folder) {
  const auto all = checkpoints_in(folder);
  return all.empty() ? std::nullopt : std::optional{checkpoint_name(all.rbegin()->first)};
}

checkpoint_store::checkpoint_store(std::shared_ptr<disk> where, std::string directory, size_t keep)
  : disk_(std::move(where)), directory_(std::move(directory)), keep_(keep) {
  if (keep_ == 0)
    throw std::invalid_argument("checkpoint store: 0 checkpoints to keep, at least 1 is needed");
  remove_unfinished();
}

checkpoint_store::~checkpoint_store() = default;

std::string checkpoint_store::path_of(uint64_t version) const {
  return directory_ + "/" + checkpoint_name(version);
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
  const auto shape = shape_of(x);
  drafts_.erase(x.version);
  draft_of({x.version, shape.parameter_count, shape.slot_count})
    .place.need(checkpoint_file_bytes(x, shape.parameter_count, texts_of(x)));
  const auto write = [&](uint64_t part, const stored_tensor& tensor) {
    write_range({x.version, shape.parameter_count, shape.slot_count, part, 0}, tensor.values());
  };
  write(0, x.parameters);
  for (size_t slot = 0; slot < x.slots.size(); ++slot)
    write(1 + slot, x.slots[slot]);
  finish(x);
}

checkpoint_store::draft& checkpoint_store::draft_of(const checkpoint_range& what) {
  auto& result = drafts_[what.version];
  if (!result)
    result.reset(new draft{
      {disk_, path_of(what.version),
       checkpoint_format::file_bytes({what.parameter_count, what.slot_count, false}, {})}});
  return *result;
}

// A draft that was dropped while the disk failed may have left its file.
void checkpoint_store::write_range(const checkpoint_range& what, std::span<const float> values) {
  auto& to = draft_of(what);
  const auto begin = [&] { to.out.emplace(*disk_, to.place.temporary(), what.parameter_count); };
  to.place.attempt([&] {
    try {
      if (!to.out)
        begin();
    } catch (const disk_error& problem) {
      if (problem.error_number() != EEXIST)
        throw;
      disk_->remove(to.place.temporary());
      begin();
    }
    to.out->write(what.part, what.first_element, values);
  });
}

checkpoint_file checkpoint_store::finish(const checkpoint& x) {
  const auto found = drafts_.find(x.version);
  if (found == drafts_.end())
    throw std::logic_error("checkpoint store: nothing was written of version " +
                           std::to_string(x.version));
  const auto whole = std::move(found->second);
  drafts_.erase(drafts_.begin(), std::next(found));
  refuse_other_job(x);
  whole->place.attempt([&] {
    const auto texts = texts_of(x);
    whole->place.need(checkpoint_file_bytes(x, whole->out->parameter_count(), texts));
    whole->out->finish(x, texts);
    whole->out->sync();
  });
  whole->place.publish();
  remove_old(x);
  return open(x.version);
}

void checkpoint_store::drop_drafts_from(uint64_t version) {
  drafts_.erase(drafts_.lower_bound(version), drafts_.end());
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
    return job_of_checkpoint(*disk_, path_of(version));
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
      file.verify();
      auto found = file.contents();
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
  atomic_file file{disk_, directory_ + "/" + std::string{term_name}, 0};
  file.append(term_text(term));
  file.publish();
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
