#include "app/cluster/cluster_overrides.hpp"

#include "app/cluster/cluster_schema.hpp"
#include "app/job/job_draft.hpp"
#include "app/toml/override.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "models/keys/closest_name.hpp"

#include <algorithm>
#include <filesystem>

namespace troupe {

namespace {

std::string section_of(const std::string& path) {
  return path.substr(0, path.find('.'));
}

// Each once: what may begin a line of a cluster file.
std::vector<std::string> words_and_sections() {
  auto result = cluster_words();
  for (const auto& key : job_keys())
    if (const auto section = section_of(key.path); section != result.back())
      result.push_back(section);
  return result;
}

bool is_of_all_nodes(const std::string& path) {
  const auto section = section_of(path);
  return section != "node" && (is_cluster_word(section) || is_misspelt_cluster_word(section));
}

void apply(const std::string& path, const std::string& text, const std::string& where,
           cluster_settings& settings, cluster_overrides& out) {
  reading read;
  const bool is_path = section_of(path) == "tls" && !text.empty();
  read_override(cluster_schema(), path,
                is_path ? std::filesystem::absolute(text).lexically_normal().string() : text,
                settings, read);
  for (const auto& [key, at] : read.positions)
    out.places[key] = where;
  for (const auto& one : read.found)
    out.errors.push_back({where, one.why, one.hint});
}

} // namespace

const std::vector<std::string>& cluster_words() {
  static const std::vector<std::string> words{"node",    "insecure", "min_nodes",
                                              "network", "tls",      "timeouts"};
  return words;
}

bool is_cluster_word(const std::string& name) {
  return std::ranges::find(cluster_words(), name) != cluster_words().end();
}

bool is_misspelt_cluster_word(const std::string& name) {
  static const auto words = words_and_sections();
  const std::string near{closest_name(name, words)};
  return near != name && is_cluster_word(near);
}

bool cluster_overrides::has(const std::string& key) const {
  return std::ranges::any_of(places, [&](const auto& entry) {
    return entry.first == key || entry.first.starts_with(key + ".");
  });
}

cluster_overrides apply_cluster_overrides(const std::vector<std::string>& sets,
                                          const environment& variables,
                                          cluster_settings& settings) {
  cluster_overrides result;
  const auto paths = paths_of(cluster_schema());
  for (const auto& [name, text] : variables) {
    if (const auto meant = key_of_misspelt_variable(name, paths))
      result.errors.push_back(misspelt_variable(name, *meant));
    const auto path = name == "TROUPE_INSECURE"    ? "insecure"
                      : name == "TROUPE_MIN_NODES" ? "min_nodes"
                                                   : key_of_variable(name);
    if (path && is_of_all_nodes(*path))
      apply(*path, text, "environment " + name, settings, result);
    else
      result.variables.emplace_back(name, text);
  }
  for (const auto& set : sets) {
    const size_t equals = set.find('=');
    if (equals != std::string::npos && is_of_all_nodes(set.substr(0, equals)))
      apply(set.substr(0, equals), set.substr(equals + 1), "--set " + set, settings, result);
    else
      result.sets.push_back(set);
  }
  return result;
}

} // namespace troupe
