// A key of a job: one row from which reading of files, `--set`, variables, checks, `config keys`,
// `config show` and the identity follow.
//
//   key_section data{out, "data", &job::data};
//   data.add("noise", &data_options::noise, at_least(0),
//            {"synthetic: deviation of the noise", {}, "use a number such as 0.1"});
//
// The table of a job is in coordinators/job/keys/job_keys.hpp; nodes, clusters and schedules have tables
// of their own. Such rows read a table of TOML, and suggest a key for one that does not exist.

#pragma once

#include "models/keys/key_type.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// What part a key has in the bits that synchronous training ends with.
enum class key_effect : uint8_t {
  bits, ///< of a step: identities have it
  rows, ///< which rows there are: identities have their fingerprint
  end,  ///< which version is the last, or the result
  none
};

template <>
struct name_table<key_effect> {
  static constexpr std::array entries{
    named(key_effect::bits, "bits"), named(key_effect::rows, "rows"), named(key_effect::end, "end"),
    named(key_effect::none, "none")};
};

/// What a key says to people.
struct key_texts {
  std::string meaning;
  std::string unset{}; ///< what an unset key means; empty: the default's text
  std::string hint{};  ///< what to use instead of a value that is out of range

  key_texts(const char* means) : meaning(means) {}
  key_texts(std::string means, std::string when_unset, std::string use = {})
    : meaning(std::move(means)), unset(std::move(when_unset)), hint(std::move(use)) {}
};

template <class Target>
struct key_row : key_texts {
  std::string path; ///< "training.batch_size", or relative to the table it belongs to
  std::shared_ptr<const key_type> type;
  std::function<void*(Target&)> member;
  bool is_file = false;       ///< a path, relative to the file that names it
  bool empty_is_unset = true; ///< where `unset` says something: an empty text or list is no value
  key_effect effect = key_effect::bits;

  std::string words() const { return type->words(); }
  bool is_text() const { return type->is_text(); }

  /// Reads `value` into the target, or complains about `full_path`.
  void set(Target& target, const toml_value& value, const std::string& full_path,
           complaints& out) const {
    type->read_at(member(target), value, full_path, out);
  }
  /// The value as TOML; nothing when it is unset and decided later.
  std::optional<std::string> get(const Target& target) const {
    auto text = type->text_at(member(const_cast<Target&>(target)));
    const bool is_empty = text && (*text == "\"\"" || *text == "[]");
    return is_empty && empty_is_unset && !unset.empty() ? std::nullopt : text;
  }
  /// Gives the target this key's value of another one: an untouched one takes the key back.
  void copy(Target& target, const Target& from) const {
    type->copy_at(member(target), member(const_cast<Target&>(from)));
  }
  /// Why the target's value is none.
  std::optional<value_refusal> refusal(const Target& target) const {
    auto result = type->refusal_at(member(const_cast<Target&>(target)));
    if (result && result->hint.empty())
      result->hint = hint;
    return result;
  }
  std::string identity(const Target& target) const {
    return type->identity_at(member(const_cast<Target&>(target)));
  }

  key_row& as_file() { return is_file = true, *this; }
  key_row& affects(key_effect what) { return effect = what, *this; }
  key_row& without_effect() { return affects(key_effect::none); }
};

/// Adds the rows of a section: its keys are members of `Section`, which is a part of `Target`.
template <class Target, class Section = Target>
class key_section {
public:
  using rows = std::vector<key_row<Target>>;

  /// `name`: "data", or "" for a table that is no section.
  key_section(rows& out, const std::string& name, std::function<Section&(Target&)> part)
    : out_(out), prefix_(name.empty() ? "" : name + '.'), part_(std::move(part)) {}

  /// Keys of the same section whose members are in a part of it.
  template <class Owner, class Part>
  key_section<Target, Part> within(Part Owner::*part) const {
    return {out_, prefix_.substr(0, prefix_.size() - 1),
            [outer = part_, part](Target& x) -> Part& { return outer(x).*part; }};
  }

  template <class Owner, class T>
  key_row<Target>& add(const std::string& name, T Owner::*member, const option_range& range,
                       const key_texts& texts) {
    return add(name, member, type_of<T>(range), texts);
  }
  template <class Owner, class T>
  key_row<Target>& add(const std::string& name, T Owner::*member, const key_texts& texts) {
    return add(name, member, type_of<T>(), texts);
  }
  template <class Owner, class T>
  key_row<Target>& add(const std::string& name, T Owner::*member,
                       std::type_identity_t<type_ptr<T>> type, const key_texts& texts) {
    out_.push_back({texts, prefix_ + name, std::move(type),
                    [part = part_, member](Target& x) -> void* { return &(part(x).*member); }});
    return out_.back();
  }
  /// A key that is more than one member.
  key_row<Target>& add(const std::string& name, type_ptr<Section> type, const key_texts& texts) {
    out_.push_back({texts, prefix_ + name, std::move(type),
                    [part = part_](Target& x) -> void* { return &part(x); }});
    return out_.back();
  }

private:
  rows& out_;
  std::string prefix_;
  std::function<Section&(Target&)> part_;
};

/// The key with this path; null when there is none.
template <class Target>
const key_row<Target>* find_key(const std::vector<key_row<Target>>& keys, const std::string& path) {
  for (const auto& one : keys)
    if (one.path == path)
      return &one;
  return nullptr;
}

/// Every path of a table of keys.
template <class Target>
std::vector<std::string> paths_of(const std::vector<key_row<Target>>& keys) {
  std::vector<std::string> result;
  result.reserve(keys.size());
  for (const auto& key : keys)
    result.push_back(key.path);
  return result;
}

/// Words that people bring along from other programs, and what they are called here. Letters that
/// happen to be alike are a worse guide: "alpha" is not a misspelt "rho".
struct other_name {
  std::string_view word; ///< the last part of a path, lower case, with '_'
  std::string_view key;  ///< what it is called here; empty: nothing is, see `hint`
  std::string_view hint{};
};

/// What the word of another program means here; nothing for an unknown one.
std::optional<other_name> other_name_of(std::string_view word);

/// The key that `path` most likely means, given every path of its table; nothing when none is near.
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
