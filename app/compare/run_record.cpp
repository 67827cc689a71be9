#include "troupe/app/compare/run_record.hpp"

#include "troupe/app/job/job_file.hpp"
#include "troupe/coordinators/job/keys/job_keys.hpp"
#include "troupe/data/checkpoint/checkpoint_file.hpp"
#include "troupe/data/checkpoint/checkpoint_names.hpp"
#include "troupe/data/disk/disk.hpp"
#include "troupe/data/records/history_file.hpp"
#include "troupe/data/records/summary_file.hpp"
#include "troupe/data/run_folder/run_directory.hpp"
#include "troupe/data/text/checksum.hpp"
#include "troupe/data/text/failure.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace troupe {

namespace {

std::string path_in(const std::string& folder, std::string_view name) {
  return (std::filesystem::path{folder} / name).string();
}

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

void expect_run(const std::string& folder) {
  const char* const hint = "give the folder of a run, such as runs/digits";
  if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored))
    throw failure(failure_code::missing_input, "there is no such folder", folder, hint);
  for (const auto name : {job_file_name, identity_file_name})
    if (std::error_code ignored; !std::filesystem::exists(path_in(folder, name), ignored))
      throw failure(failure_code::bad_data,
                    "this is no run directory: " + std::string{name} + " is missing", folder, hint);
}

std::vector<std::pair<std::string, std::optional<std::string>>> keys_of(const job& x) {
  std::vector<std::pair<std::string, std::optional<std::string>>> result;
  for (const auto& key : job_keys())
    result.emplace_back(key.path, key.get(x));
  return result;
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

std::optional<checkpoint_digest> digest_of(const std::string& path) {
  try {
    const auto x = checkpoint_file{*posix_disk(), path}.contents();
    checkpoint_digest result;
    running_checksum sum;
    result.parameters = (sum << x.parameters).take();
    for (const auto& slot : x.slots)
      sum << slot;
    sum.add(std::as_bytes(std::span{x.optimizer_numbers}));
    result.state = sum.take();
    return result;
  } catch (const failure&) {
    return std::nullopt;
  }
}

} // namespace

run_record read_run(const std::string& folder) {
  expect_run(folder);
  run_record result;
  result.name = folder;
  const auto loaded = load_job(path_in(folder, job_file_name), {}, {});
  result.keys = keys_of(loaded);
  result.identity = content_of(path_in(folder, identity_file_name)).value_or("");
  const auto history_path = path_in(folder, history_file_name);
  if (const auto text = content_of(history_path))
    result.history = read_history(*text, history_path);
  const auto summary_path = path_in(folder, summary_file_name);
  if (const auto text = content_of(summary_path))
    result.summary = read_summary(*text, summary_path);
  result.checkpoints =
    checkpoints_in(loaded.checkpoint.directory.empty() ? folder : loaded.checkpoint.directory);
  return result;
}

void read_common_checkpoints(std::span<run_record> runs) {
  std::set<uint64_t> seen, common;
  for (const auto& run : runs)
    for (const auto& [version, path] : run.checkpoints)
      if (!seen.insert(version).second)
        common.insert(version);
  for (auto& run : runs)
    for (const auto& [version, path] : run.checkpoints)
      if (common.contains(version))
        if (const auto digest = digest_of(path))
          run.digests.emplace(version, *digest);
}

} // namespace troupe
