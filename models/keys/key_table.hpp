// Reads a table of TOML by rows of keys (models/keys/key_row.hpp), and says what was meant by a key that
// is none.

#pragma once

#include "models/keys/key_row.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Words that people bring along from other programs, and what they are called here. Letters that
/// happen to be alike are a worse guide: "alpha" is not a misspelt "rho".
struct other_name {
  std::string_view word; ///< the last part of a path, lower case, with '_'
  std::string_view key;  ///< what it is called here; empty: nothing is, see `hint`
  std::string_view hint{};
};

/// What the word of another program means here; nothing when nobody knows it.
std::optional<other_name> other_name_of(std::string_view word);

/// The key that somebody meant by `path`, given every path of its table; nothing when none is near.
/// Prefers the same name in another section, then a sibling, then anything similar.
std::optional<std::string> key_meant_by(const std::string& path,
                                        const std::vector<std::string>& paths);

/// What to say of a key that is not in the table; `outer` is where the table stands ("" for a job).
complaint unknown_key(const std::string& outer, const std::string& path, source_position at,
                      const std::vector<std::string>& paths);

/// True when the key of this path stands in the section, or in one within it.
inline bool is_below(const std::string& section, const std::string& path) {
  return path.size() > section.size() && path[section.size()] == '.' && path.starts_with(section);
}

/// Reading stops there: a file with a million unknown keys is no job, and hints take time.
inline constexpr size_t complaints_max = 1000;

/// What reading a table met: complaints, and where each key and section stands.
struct reading {
  complaints found;
  std::map<std::string, source_position> positions;
};

/// Reads the entries of a TOML table into `target`. `prefix` is where the table stands within
/// `keys` ("" or "training."), `outer` where these stand within the job ("" or
/// "optimizer.schedule.then."). Unknown keys become complaints; everything else is still read.
template <class Target>
void read_table(const std::vector<key_row<Target>>& keys, const std::string& outer,
                const std::string& prefix, const toml_value::table& table, Target& target,
                reading& result) {
  for (const auto& entry : table) {
    if (result.found.size() >= complaints_max)
      return;
    const std::string path = prefix + entry.name;
    // A quoted key may hold a dot, and is then no path of ours.
    const bool is_name = entry.name.find('.') == std::string::npos;
    size_t i = is_name ? 0 : keys.size();
    while (i < keys.size() && keys[i].path != path)
      ++i;
    const bool is_section = i == keys.size() && is_name &&
                            std::any_of(keys.begin(), keys.end(),
                                        [&](const auto& key) { return is_below(path, key.path); });
    result.positions.emplace(outer + path, entry.at);
    if (i < keys.size())
      keys[i].set(target, entry.value, outer + path, result.found);
    else if (!is_section)
      result.found.push_back(unknown_key(outer, path, entry.at, paths_of(keys)));
    else if (const auto* inner = entry.value.template as<toml_value::table>())
      read_table(keys, outer, path + ".", *inner, target, result);
    else
      result.found.push_back({outer + path, entry.value.at,
                              "expected a table, got " + description(entry.value),
                              "write [" + outer + path + "] and its keys below"});
  }
}

} // namespace troupe
