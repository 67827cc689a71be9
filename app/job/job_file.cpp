#include "app/job/job_file.hpp"

#include "app/toml/parse_toml.hpp"
#include "coordinators/job/job_check.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "models/keys/closest_name.hpp"
#include "models/keys/key_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <sys/stat.h>

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

namespace {

// A cluster of a thousand nodes has a fifth of it. Four times as much takes a second to take apart.
constexpr size_t file_bytes_max = 1u << 20;

[[noreturn]] void cannot_read(const std::string& path, int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  throw failure(forbidden ? failure_code::no_permission : failure_code::missing_input,
                std::string{"cannot read the job file: "} + std::strerror(error), path,
                error == ENOENT ? "check the path" : "");
}

// The text of a file, a pipe too; never more than the limit and one byte.
std::string read_text(const std::string& path) {
  const auto close = [](FILE* file) { std::fclose(file); };
  std::unique_ptr<FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file)
    cannot_read(path, errno);
  struct stat status {};
  const bool known = fstat(fileno(file.get()), &status) == 0;
  if (known && S_ISDIR(status.st_mode))
    cannot_read(path, EISDIR);
  std::string text;
  // A regular file announces its size: a huge one is refused without reading it.
  bool too_large = known && static_cast<uint64_t>(status.st_size) > file_bytes_max;
  for (char buffer[65536]; !too_large;) {
    const size_t count = std::fread(buffer, 1, sizeof buffer, file.get());
    if (count == 0)
      break;
    text.append(buffer, count);
    too_large = text.size() > file_bytes_max;
  }
  if (too_large)
    throw job_errors(
      {{path,
        "a job file of " +
          (known && status.st_size > 0 ? std::to_string(status.st_size)
                                       : "more than " + std::to_string(file_bytes_max)) +
          " bytes, at most " + std::to_string(file_bytes_max) + " are read",
        "is this a data file?"}});
  if (std::ferror(file.get()))
    cannot_read(path, errno);
  return text;
}

} // namespace

toml_value::table read_toml_file(const std::string& path) {
  auto parsed = parse_toml(read_text(path));
  if (const auto* problem = std::get_if<toml_problem>(&parsed))
    throw job_errors({{place_text(path, problem->at), problem->why, problem->hint}});
  return std::get<toml_value::table>(std::move(parsed));
}

job_error misspelt_variable(const std::string& name, const std::string& meant) {
  return {"environment " + name,
          "sets nothing: two underscores stand for the dot of '" + meant + "'",
          "call it " + variable_of_key(meant)};
}

void job_draft::complain(const std::string& key, job_error error) {
  complained.insert(key);
  errors.push_back(std::move(error));
}

void job_draft::read_sections(const toml_value::table& sections, const std::string& path) {
  reading result;
  read_table(job_keys(), "", "", sections, value, result);
  for (const auto& [key, at] : result.positions)
    places.by_key[key] = place_text(path, at);
  for (const auto& found : result.found)
    complain(found.key, {place_text(path, found.at), found.why, found.hint});
  // Another file may have named these before, and they are done already.
  const auto folder = std::filesystem::path{path}.parent_path();
  for (const auto& [key, file] : files_of(value))
    if (result.positions.count(key) > 0 && !file->empty())
      *file = (folder / *file).lexically_normal().string();
}

void job_draft::apply_override(const std::string& path, const std::string& text,
                               const std::string& where) {
  reading result;
  read_override(job_keys(), path, text, value, result);
  for (const auto& [key, at] : result.positions)
    places.by_key[key] = where;
  for (const auto& found : result.found)
    complain(found.key, {where, found.why, found.hint});
}

void job_draft::apply_environment(const environment& variables) {
  const auto paths = paths_of(job_keys());
  for (const auto& [name, text] : variables)
    if (const auto path = key_of_variable(name))
      apply_override(*path, text, "environment " + name);
    else if (const auto meant = key_of_misspelt_variable(name, paths))
      complain(*meant, misspelt_variable(name, *meant));
}

void job_draft::apply_sets(const std::vector<std::string>& sets) {
  for (const auto& set : sets) {
    const size_t equals = set.find('=');
    const std::string where = "--set " + set;
    if (equals == std::string::npos || equals == 0)
      complain(set, {where, "not of the form key=value", "write --set training.epochs=5"});
    else
      apply_override(set.substr(0, equals), set.substr(equals + 1), where);
  }
}

void job_draft::fill_defaults(const std::string& path) {
  if (value.name.empty())
    value.name = std::filesystem::path{path}.stem().string();
  if (value.output.directory.empty())
    value.output.directory = "runs/" + value.name;
}

// True when the key or a section around it has an error already: its value is then not what the
// user meant, and a second message about it would mislead.
bool job_draft::has_complaint(const std::string& key) const {
  return std::any_of(complained.begin(), complained.end(), [&](const std::string& known) {
    return key == known || key.starts_with(known + ".");
  });
}

void job_draft::add_problems() {
  for (const auto& problem : problems(value))
    if (!has_complaint(problem.key))
      errors.push_back(error_at(problem, places));
}

namespace {

constexpr size_t errors_max = 100; // more than anybody corrects in one go

std::vector<job_error> cut_short(std::vector<job_error> errors) {
  if (errors.empty())
    throw std::invalid_argument("job_errors needs at least one error");
  if (errors.size() <= errors_max)
    return errors;
  const size_t omitted = errors.size() - errors_max;
  errors.resize(errors_max);
  errors.push_back({{}, "and at least " + std::to_string(omitted) + " more errors", {}});
  return errors;
}

std::string with_hint(const job_error& error) {
  return error.hint.empty() ? error.why : error.why + "; " + error.hint;
}

// The reason a failure keeps: the first error without its place, which the failure itself adds.
std::string all_reasons(const std::vector<job_error>& errors) {
  std::string result = errors.size() == 1 ? errors.front().why : with_hint(errors.front());
  for (size_t i = 1; i < errors.size(); ++i) {
    result += '\n';
    if (!errors[i].where.empty())
      result += errors[i].where + ": ";
    result += with_hint(errors[i]);
  }
  return result;
}

std::string only_hint(const std::vector<job_error>& errors) {
  return errors.size() == 1 ? errors.front().hint : std::string{};
}

} // namespace

job_errors::job_errors(std::vector<job_error> errors)
  : job_errors(checked{cut_short(std::move(errors))}) {}

job_errors::job_errors(checked errors)
  : failure(failure_code::bad_job, all_reasons(errors.list), errors.list.front().where,
            only_hint(errors.list)),
    errors_(std::move(errors.list)) {}

std::string place_text(const std::string& path, source_position at) {
  return path + ":" + std::to_string(std::max<size_t>(1, at.line)) + ":" +
         std::to_string(std::max<size_t>(1, at.column));
}

std::string job_places::of(std::string key) const {
  for (;;) {
    if (const auto found = by_key.find(key); found != by_key.end())
      return found->second;
    const size_t dot = key.rfind('.');
    if (dot == std::string::npos)
      return place_text(file, {});
    key.resize(dot);
  }
}

job_error error_at(const job_problem& problem, const job_places& places) {
  return {places.of(problem.key), "'" + problem.key + "': " + problem.why, problem.hint};
}

} // namespace troupe
