// One row of a table of keys: how a key of a job file is called, read, checked, written and
// explained. Tables exist for a job (app/job/job_schema.hpp) and for a schedule within it; reading
// files, `--set`, the environment, `config show` and the documentation all follow them.

#pragma once

#include "troupe/app/toml/toml_value.hpp"
#include "troupe/coordinators/job/job_bounds.hpp"
#include "troupe/models/base/names.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

/// Something wrong with a key: where it stands, why, what to do.
struct complaint {
  std::string key; ///< its full path; for an unknown key that of the one that was meant
  source_position at;
  std::string why;
  std::string hint;
};

template <class Target>
struct schema_key {
  std::string path;     ///< "training.batch_size", or relative to the table it belongs to
  std::string type;     ///< for people: "integer from 1 to 1024"
  std::string fallback; ///< what an unset optional key means, for people; empty: the default's text
  std::string meaning;
  bool is_text = false; ///< takes strings only: a bare number from `--set` is one

  /// Reads `value` into the target, or complains about `full_path`.
  std::function<void(Target& target, const toml_value& value, const std::string& full_path,
                     std::vector<complaint>& complaints)>
    set;
  /// The value as TOML; nothing when it is unset and decided later.
  std::function<std::optional<std::string>(const Target&)> get;
  /// Gives the target this key's value of another one: an untouched one takes the key back.
  std::function<void(Target& target, const Target& from)> copy;
};

/// Why a value was not taken.
struct value_refusal {
  std::string why;
  std::string hint;
};

/// Readers of one value: the value_refusal, or nothing and `out` written.
std::optional<value_refusal> read_value(const toml_value& value, bool& out);
std::optional<value_refusal> read_value(const toml_value& value, double& out);
std::optional<value_refusal> read_value(const toml_value& value, std::string& out);

/// A whole number within bounds.
std::optional<value_refusal> read_whole(const toml_value& value, const whole_bounds& bounds,
                                        uint64_t& out);

/// What a key with these bounds takes, for people: "integer from 1 to 1024", "integer >= 0".
std::string whole_type(const whole_bounds& bounds);

/// A name out of `names`; gives its index.
std::optional<value_refusal> read_choice(const toml_value& value,
                                         const std::vector<std::string>& names, size_t& out);

/// `"relu" | "tanh"`.
std::string choices_text(const std::vector<std::string>& names);

/// The key that somebody meant by `path`, given every path of its table; nothing when none is near.
/// Prefers the same name in another section, then a sibling, then anything similar.
std::optional<std::string> key_meant_by(const std::string& path,
                                        const std::vector<std::string>& paths);

/// What to say of a key that is not in the table; `outer` is where the table stands ("" for a job).
complaint unknown_key(const std::string& outer, const std::string& path, source_position at,
                      const std::vector<std::string>& paths);

namespace detail {

template <class T>
std::optional<T> as_optional(const T& value) {
  return value;
}
template <class T>
std::optional<T> as_optional(const std::optional<T>& value) {
  return value;
}

/// True when the key of this path stands in the section, or in one within it.
inline bool is_below(const std::string& section, const std::string& path) {
  return path.size() > section.size() && path[section.size()] == '.' && path.starts_with(section);
}

/// The text of a member that `text_of` can write; nothing when the member is unset.
template <class Member, class TextOf>
std::optional<std::string> text_of_member(const Member& member, TextOf text_of) {
  const auto value = as_optional(member);
  return value ? std::optional<std::string>{text_of(*value)} : std::nullopt;
}

/// Runs a reader; true when it read, else the value_refusal is added to `complaints`.
inline bool accepted(const std::optional<value_refusal>& refused, const toml_value& value,
                     const std::string& path, std::vector<complaint>& complaints) {
  if (refused)
    complaints.push_back({path, value.at, refused->why, refused->hint});
  return !refused;
}

template <class Enum>
std::vector<std::string> names_of() {
  std::vector<std::string> result;
  for (const auto& [value, name] : name_table<Enum>::entries)
    result.emplace_back(name);
  return result;
}

template <class Enum>
std::vector<Enum> values_of() {
  std::vector<Enum> result;
  for (const auto& [value, name] : name_table<Enum>::entries)
    result.push_back(value);
  return result;
}

} // namespace detail

/// What a key says of itself besides its value. `access` below is a generic lambda that gives the
/// member, `[](auto& x) -> auto& { return x.training.epochs; }`; the member may be optional.
struct key_texts {
  std::string path;
  std::string meaning;
  std::string fallback = {};
};

/// `copy` of a key whose value is the member that `access` gives.
template <class Target, class Access>
std::function<void(Target&, const Target&)> copier(Access access) {
  return [access](Target& target, const Target& from) { access(target) = access(from); };
}

/// A key whose value is a bool, double or std::string.
template <class Target, class Value, class Access>
schema_key<Target> plain_key(key_texts texts, std::string type, Access access) {
  schema_key<Target> key{texts.path,
                         std::move(type),
                         texts.fallback,
                         texts.meaning,
                         std::is_same_v<Value, std::string>,
                         {},
                         {},
                         copier<Target>(access)};
  key.set = [access](Target& target, const toml_value& value, const std::string& path,
                     std::vector<complaint>& complaints) {
    Value read{};
    if (detail::accepted(read_value(value, read), value, path, complaints))
      access(target) = read;
  };
  key.get = [access](const Target& target) {
    return detail::text_of_member(access(target), [](const Value& x) { return toml_text(x); });
  };
  return key;
}

/// A key whose value is a whole number; its bounds are those of `section` + its path
/// (coordinators/job/job_bounds.hpp).
template <class Target, class Access>
schema_key<Target> whole_key(key_texts texts, Access access, const std::string& section = {}) {
  const auto& bounds = bounds_of(section + texts.path);
  schema_key<Target> key{
    texts.path, whole_type(bounds),    texts.fallback, texts.meaning, false, {},
    {},         copier<Target>(access)};
  key.set = [access, &bounds](Target& target, const toml_value& value, const std::string& path,
                              std::vector<complaint>& complaints) {
    uint64_t read = 0;
    if (detail::accepted(read_whole(value, bounds, read), value, path, complaints))
      access(target) = read;
  };
  key.get = [access](const Target& target) {
    return detail::text_of_member(access(target), [](uint64_t x) { return toml_text(x); });
  };
  return key;
}

/// A key whose value is the name of an `Enum`, one of `values`. A value without a name counts as
/// unset.
template <class Target, class Enum, class Access>
schema_key<Target> choice_key(key_texts texts, Access access,
                              const std::vector<Enum>& values = detail::values_of<Enum>()) {
  std::vector<std::string> names;
  for (auto value : values)
    names.emplace_back(name_of(value));
  schema_key<Target> key{
    texts.path, choices_text(names),   texts.fallback, texts.meaning, false, {},
    {},         copier<Target>(access)};
  key.set = [access, values, names](Target& target, const toml_value& value,
                                    const std::string& path, std::vector<complaint>& complaints) {
    size_t index = 0;
    if (detail::accepted(read_choice(value, names, index), value, path, complaints))
      access(target) = values[index];
  };
  key.get = [access](const Target& target) -> std::optional<std::string> {
    const std::optional<Enum> value = detail::as_optional(access(target));
    if (!value || !from_name<Enum>(name_of(*value)))
      return std::nullopt;
    return toml_text(name_of(*value));
  };
  return key;
}

/// Every path of a table of keys.
template <class Target>
std::vector<std::string> paths_of(const std::vector<schema_key<Target>>& keys) {
  std::vector<std::string> result;
  result.reserve(keys.size());
  for (const auto& key : keys)
    result.push_back(key.path);
  return result;
}

/// Reading stops there: a file with a million unknown keys is no job, and hints take time.
inline constexpr size_t complaints_max = 1000;

/// What reading a table met: complaints, and where each key and section stands.
struct reading {
  std::vector<complaint> complaints;
  std::map<std::string, source_position> positions;
};

/// Reads the entries of a TOML table into `target`. `prefix` is where the table stands within
/// `keys` ("" or "training."), `outer` where these stand within the job ("" or
/// "optimizer.schedule.then."). Unknown keys become complaints; everything else is still read.
template <class Target>
void read_table(const std::vector<schema_key<Target>>& keys, const std::string& outer,
                const std::string& prefix, const toml_value::table& table, Target& target,
                reading& result) {
  for (const auto& entry : table) {
    if (result.complaints.size() >= complaints_max)
      return;
    const std::string path = prefix + entry.name;
    // A quoted key may hold a dot, and is then no path of ours.
    const bool is_name = entry.name.find('.') == std::string::npos;
    size_t i = is_name ? 0 : keys.size();
    while (i < keys.size() && keys[i].path != path)
      ++i;
    const bool is_section =
      i == keys.size() && is_name && std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
        return detail::is_below(path, key.path);
      });
    result.positions.emplace(outer + path, entry.at);
    if (i < keys.size())
      keys[i].set(target, entry.value, outer + path, result.complaints);
    else if (!is_section)
      result.complaints.push_back(unknown_key(outer, path, entry.at, paths_of(keys)));
    else if (const auto* inner = entry.value.template as<toml_value::table>())
      read_table(keys, outer, path + ".", *inner, target, result);
    else
      result.complaints.push_back({outer + path, entry.value.at,
                                   "expected a table, got " + description(entry.value),
                                   "write [" + outer + path + "] and its keys below"});
  }
}

} // namespace troupe
