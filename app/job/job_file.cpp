#include "app/job/job_file.hpp"

#include "app/job/job_draft.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "models/keys/closest_name.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

// A file of nodes given to a command that trains in one process.
// Alone: what else is no part of a job there would be fine in a file of nodes.
void refuse_nodes(const toml_value::table& sections, const std::string& path) {
  const auto node = std::ranges::find(sections, "node", &toml_entry::name);
  if (node != sections.end())
    throw job_errors({{place_text(path, node->at), "a job that trains in one process has no nodes",
                       "this is a cluster file: use 'troupe launch' or 'troupe node'"}});
}

// The name of a file in the same folder that somebody may have meant.
std::string file_meant_by(const std::string& path) {
  constexpr size_t entries_max = 10'000;
  std::error_code ignored;
  const std::filesystem::path wanted{path};
  const auto folder = wanted.has_parent_path() ? wanted.parent_path() : ".";
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry{folder, ignored}, end;
       entry != end && names.size() < entries_max; entry.increment(ignored))
    if (entry->path().filename() != wanted.filename()) // a link to nowhere
      names.push_back(entry->path().filename().string());
  const std::string near{closest_name(wanted.filename().string(), names)};
  return near.empty() ? near : (wanted.parent_path() / near).string();
}

// A data file that cannot be read: where the job names it.
[[noreturn]] void throw_for_file(const failure& error, const std::string& key,
                                 const job_places& places) {
  const auto meant =
    error.code() == failure_code::missing_input ? file_meant_by(error.where()) : std::string{};
  throw failure(error.code(), "'" + key + "': " + error.where() + ": " + error.reason(),
                places.of(key), meant.empty() ? error.hint() : "did you mean '" + meant + "'?");
}

} // namespace

loaded_job load_job_and_places(const std::string& path, const std::vector<std::string>& sets,
                               const environment& variables) {
  job_draft x;
  x.places.file = path;
  const auto sections = read_toml_file(path);
  refuse_nodes(sections, path);
  x.read_sections(sections, path);
  x.apply_environment(variables);
  x.apply_sets(sets);
  x.fill_defaults(path);
  x.add_problems();
  if (!x.errors.empty())
    throw job_errors(std::move(x.errors));
  return {std::move(x.value), std::move(x.places)};
}

job load_job(const std::string& path, const std::vector<std::string>& sets,
             const environment& variables) {
  return load_job_and_places(path, sets, variables).value;
}

void throw_with_place(const failure& error, const loaded_job& x) {
  if (error.code() == failure_code::bad_job && find_job_key(error.where()))
    throw job_errors({error_at({error.where(), error.reason(), error.hint()}, x.places)});
  const bool is_unread =
    error.code() == failure_code::missing_input || error.code() == failure_code::no_permission;
  auto named = x.value;
  for (const auto& [key, file] : files_of(named))
    if (is_unread && !file->empty() && error.where() == *file)
      throw_for_file(error, key, x.places);
  throw;
}

} // namespace troupe
