#include "troupe/app/job_file.hpp"

#include "troupe/app/job_draft.hpp"
#include "troupe/app/job_schema.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace troupe {

namespace {

// A file of nodes given to a command that trains in one process.
void refuse_nodes(job_draft& x, toml_value::table& sections, const std::string& path) {
  const auto node = std::find_if(sections.begin(), sections.end(),
                                 [](const toml_entry& entry) { return entry.name == "node"; });
  if (node == sections.end())
    return;
  x.complain("node", {place_text(path, node->at), "a job that trains in one process has no nodes",
                      "this is a cluster file: use 'troupe launch' or 'troupe node'"});
  sections.erase(node);
}

} // namespace

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
  job_draft x;
  x.places.file = path;
  auto sections = read_toml_file(path);
  refuse_nodes(x, sections, path);
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

job_error error_at(const job_problem& problem, const job_places& places) {
  return {places.of(problem.key), "'" + problem.key + "': " + problem.why, problem.hint};
}

void throw_with_place(const failure& error, const job_places& places) {
  if (error.code() == failure_code::bad_job && find_job_key(error.where()))
    throw job_errors({error_at({error.where(), error.reason(), error.hint()}, places)});
  throw;
}

} // namespace troupe
