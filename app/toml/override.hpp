// Keys that the environment and `--set` set in place of a file. A value is TOML, or else a string.
// A whole table sets several keys at once; an empty value takes a key back.

#pragma once

#include "models/keys/key_table.hpp"
#include "models/keys/toml_value.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Variables as (name, value); only those like TROUPE_SECTION__KEY matter.
using environment = std::vector<std::pair<std::string, std::string>>;

/// The environment of this process.
environment process_environment();

/// More than any key has. Each dot makes a table within a table, which are freed by recursion.
inline constexpr auto dots_in_override_max = 64;

/// "TROUPE_TRAINING__EPOCHS" -> "training.epochs"; nothing for variables that set no key.
std::optional<std::string> key_of_variable(std::string_view name);

/// The key that a variable with one underscore for the dot means, "TROUPE_TRAINING_EPOCHS"; nothing
/// when it means none of `paths`: other programs may have variables of that beginning.
std::optional<std::string> key_of_misspelt_variable(std::string_view name,
                                                    const std::vector<std::string>& paths);

/// The variable that sets a key: "TROUPE_TRAINING__EPOCHS".
std::string variable_of_key(const std::string& path);

/// The value for a key; always a string where the key wants only that.
toml_value override_value(bool is_text, const std::string& text);

/// "a.b" and a value, as the tables of a file would have them: one in another for each dot.
toml_value::table override_table(const std::string& path, const std::string& text);

/// Takes the key, or every key of the section, back: as if it were not set. False when there is
/// none.
template <class Target>
bool take_back(const std::vector<key_row<Target>>& schema, const std::string& path,
               Target& target) {
  const Target untouched{};
  bool found = false;
  for (const auto& key : schema)
    if (key.path == path || is_below(path, key.path)) {
      key.copy(target, untouched);
      found = true;
    }
  return found;
}

/// Sets the key, or the keys of the table, that `path` names; an unknown one is a complaint. An
/// empty text takes them back.
template <class Target>
void read_override(const std::vector<key_row<Target>>& schema, const std::string& path,
                   const std::string& text, Target& target, reading& out) {
  if (text.empty() && take_back(schema, path, target)) {
    out.positions[path] = {};
    return;
  }
  const auto key = std::ranges::find(schema, path, &key_row<Target>::path);
  if (key == schema.end() && std::ranges::count(path, '.') > dots_in_override_max)
    return out.found.push_back(unknown_key("", path, {}, paths_of(schema)));
  if (key == schema.end())
    return read_table(schema, "", "", override_table(path, text), target, out);
  key->set(target, override_value(key->is_text(), text), path, out.found);
  out.positions[path] = {};
}

} // namespace troupe
