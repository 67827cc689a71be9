// Keys that are set from outside the files: by the environment and by `--set`. A value is TOML, or
// else a string; a whole table is several keys at once.

#pragma once

#include "troupe/app/schema_key.hpp"
#include "troupe/app/toml_value.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// More than any key has. Each dot makes a table within a table, which are freed by recursion.
inline constexpr auto dots_in_override_max = 64;

/// "TROUPE_TRAINING__EPOCHS" -> "training.epochs"; nothing for variables that set no key.
std::optional<std::string> key_of_variable(std::string_view name);

/// The value for a key; always a string where the key wants only that.
toml_value override_value(bool is_text, const std::string& text);

/// "a.b" and a value, as the tables of a file would have them: one in another for each dot.
toml_value::table override_table(const std::string& path, const std::string& text);

/// Sets the key, or the keys of the table, that `path` names; an unknown one is a complaint.
template <class Target>
void read_override(const std::vector<schema_key<Target>>& schema, const std::string& path,
                   const std::string& text, Target& target, reading& out) {
  const auto key = std::ranges::find(schema, path, &schema_key<Target>::path);
  if (key == schema.end() && std::ranges::count(path, '.') > dots_in_override_max)
    return out.complaints.push_back(unknown_key("", path, {}, paths_of(schema)));
  if (key == schema.end())
    return read_table(schema, "", "", override_table(path, text), target, out);
  key->set(target, override_value(key->is_text, text), path, out.complaints);
  out.positions[path] = {};
}

} // namespace troupe
