#include "troupe/app/job_file.hpp"

#include "troupe/app/job_schema.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr size_t file_bytes_max = 16u << 20; // a job of thousands of keys has far below 1 MiB

std::string place(const std::string& path, source_position at) {
  return path + ":" + std::to_string(std::max<size_t>(1, at.line)) + ":" +
         std::to_string(std::max<size_t>(1, at.column));
}

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
    throw job_errors({{path, "a job file of more than 16 MiB", "is this a data file?"}});
  if (std::ferror(file.get()))
    cannot_read(path, errno);
  return text;
}

// A job in the making, what is wrong with it so far, and where each key was set last.
struct draft {
  job value;
  std::vector<job_error> errors;
  std::set<std::string> complained; // keys and sections with an error of their own
  job_places places;

  void complain(const std::string& key, job_error error) {
    complained.insert(key);
    errors.push_back(std::move(error));
  }
};

void read_file(draft& x, const std::string& path) {
  const auto parsed = parse_toml(read_text(path));
  if (const auto* problem = std::get_if<toml_problem>(&parsed))
    throw job_errors({{place(path, problem->at), problem->why, problem->hint}});
  reading result;
  read_table(job_schema(), "", "", std::get<toml_value::table>(parsed), x.value, result);
  for (const auto& [key, at] : result.positions)
    x.places.by_key[key] = place(path, at);
  for (const auto& found : result.complaints)
    x.complain(found.key, {place(path, found.at), found.why, found.hint});
  for (auto* file : {&x.value.data.file, &x.value.data.labels_file})
    if (!file->empty())
      *file = (std::filesystem::path{path}.parent_path() / *file).lexically_normal().string();
}

toml_value text_value(const std::string& text) {
  return {text, {}};
}

// The value of an override: TOML, else a string; and always a string where the key wants only that.
toml_value override_value(const job_key& key, const std::string& text) {
  const auto parsed = parse_toml_value(text);
  if (!parsed)
    return text_value(text);
  const bool is_scalar = !parsed->as<std::string>() && !parsed->as<toml_value::list>() &&
                         !parsed->as<toml_value::table>();
  return key.is_text && is_scalar ? text_value(text) : *parsed;
}

void apply_override(draft& x, const std::string& path, const std::string& text,
                    const std::string& where) {
  // A whole table, such as optimizer.schedule={ kind = "cosine" }, is several keys at once.
  const auto* key = find_job_key(path);
  reading result;
  if (key) {
    key->set(x.value, override_value(*key, text), path, result.complaints);
    x.places.by_key[path] = where;
  } else {
    const auto parsed = parse_toml_value(text);
    toml_value::table table{{path, {}, parsed ? *parsed : text_value(text)}};
    for (size_t dot; (dot = table.front().name.rfind('.')) != std::string::npos;) {
      const std::string name = table.front().name;
      table.front().name = name.substr(dot + 1);
      table = {{name.substr(0, dot), {}, {std::move(table), {}}}};
    }
    read_table(job_schema(), "", "", table, x.value, result);
    for (const auto& [found, at] : result.positions)
      x.places.by_key[found] = where;
  }
  for (const auto& found : result.complaints)
    x.complain(found.key, {where, found.why, found.hint});
}

void apply_environment(draft& x, const environment& variables) {
  constexpr std::string_view start = "TROUPE_";
  for (const auto& [name, value] : variables) {
    if (!name.starts_with(start) || name.find("__") == std::string::npos)
      continue;
    std::string path = name.substr(start.size());
    for (size_t at; (at = path.find("__")) != std::string::npos;)
      path.replace(at, 2, ".");
    std::transform(path.begin(), path.end(), path.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    apply_override(x, path, value, "environment " + name);
  }
}

void apply_sets(draft& x, const std::vector<std::string>& sets) {
  for (const auto& set : sets) {
    const size_t equals = set.find('=');
    const std::string where = "--set " + set;
    if (equals == std::string::npos || equals == 0)
      x.complain(set, {where, "not of the form key=value", "write --set training.epochs=5"});
    else
      apply_override(x, set.substr(0, equals), set.substr(equals + 1), where);
  }
}

// True when the key or a section around it has an error already: its value is then not what the
// user meant, and a second message about it would mislead.
bool has_complaint(const draft& x, const std::string& key) {
  return std::any_of(x.complained.begin(), x.complained.end(), [&](const std::string& known) {
    return key == known || key.starts_with(known + ".");
  });
}

job_error error_of(const job_problem& problem, const job_places& places) {
  return {places.of(problem.key), "'" + problem.key + "': " + problem.why, problem.hint};
}

void add_problems(draft& x) {
  for (const auto& problem : problems(x.value))
    if (!has_complaint(x, problem.key))
      x.errors.push_back(error_of(problem, x.places));
}

void fill_defaults(job& x, const std::string& path) {
  if (x.name.empty())
    x.name = std::filesystem::path{path}.stem().string();
  if (x.output.directory.empty())
    x.output.directory = "runs/" + x.name;
}

} // namespace

std::string job_places::of(std::string key) const {
  for (;;) {
    if (const auto found = by_key.find(key); found != by_key.end())
      return found->second;
    const size_t dot = key.rfind('.');
    if (dot == std::string::npos)
      return place(file, {});
    key.resize(dot);
  }
}

environment process_environment() {
  environment result;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string text = *variable;
    if (const size_t equals = text.find('='); equals != std::string::npos)
      result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

loaded_job load_job_and_places(const std::string& path, const std::vector<std::string>& sets,
                               const environment& variables) {
  draft x;
  x.places.file = path;
  read_file(x, path);
  apply_environment(x, variables);
  apply_sets(x, sets);
  fill_defaults(x.value, path);
  add_problems(x);
  if (!x.errors.empty())
    throw job_errors(std::move(x.errors));
  return {std::move(x.value), std::move(x.places)};
}

job load_job(const std::string& path, const std::vector<std::string>& sets,
             const environment& variables) {
  return load_job_and_places(path, sets, variables).value;
}

void throw_with_place(const failure& error, const job_places& places) {
  if (error.code() == failure_code::bad_job && find_job_key(error.where()))
    throw job_errors({error_of({error.where(), error.reason(), error.hint()}, places)});
  throw;
}

} // namespace troupe
