#include "models/keys/key_table.hpp"

#include "models/keys/closest_name.hpp"

#include <algorithm>
#include <string_view>

namespace troupe {

namespace {

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1); // npos + 1 is 0: the whole path
}

std::string section_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string{} : path.substr(0, dot + 1);
}

// The names directly below `section`, of keys and of sections.
std::vector<std::string> names_below(const std::string& section,
                                     const std::vector<std::string>& paths) {
  std::vector<std::string> result;
  for (const auto& path : paths) {
    if (!path.starts_with(section))
      continue;
    const auto below = std::string_view{path}.substr(section.size());
    const auto name = below.substr(0, below.find('.'));
    if (std::find(result.begin(), result.end(), name) == result.end())
      result.emplace_back(name);
  }
  return result;
}

} // namespace

std::optional<std::string> key_meant_by(const std::string& path,
                                        const std::vector<std::string>& paths) {
  const auto name = last_part(path);
  for (const auto& known : paths)
    if (last_part(known) == name)
      return known;
  if (const auto other = other_name_of(name);
      other && std::ranges::find(paths, other->key) != paths.end())
    return std::string{other->key};
  const std::string section = section_of(path);
  const auto below = names_below(section, paths);
  if (const auto near = closest_name(name, below); !near.empty())
    return section + std::string{near};
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const auto& known : paths)
    names.emplace_back(last_part(known));
  if (const auto near = closest_name(name, names); !near.empty())
    return paths[static_cast<size_t>(std::find(names.begin(), names.end(), near) - names.begin())];
  const auto near = closest_name(path, paths);
  return near.empty() ? std::nullopt : std::optional<std::string>{near};
}

complaint unknown_key(const std::string& outer, const std::string& path, source_position at,
                      const std::vector<std::string>& paths) {
  const auto other = other_name_of(last_part(path));
  if (other && !other->hint.empty())
    return {outer + path, at, "unknown key '" + outer + path + "'", std::string{other->hint}};
  const auto meant = key_meant_by(path, paths);
  return {outer + meant.value_or(path), at, "unknown key '" + outer + path + "'",
          meant ? "did you mean '" + outer + *meant + "'?"
                : "'troupe config keys' lists every key"};
}

} // namespace troupe
