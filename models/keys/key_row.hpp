// A key of a job: one row from which reading of files, `--set`, variables, checks, `config keys`,
// `config show` and the identity follow.
//
//   key_section data{out, "data", &job::data};
//   data.add("noise", &data_options::noise, at_least(0),
//            {"synthetic: deviation of the noise", {}, "use a number such as 0.1"});
//
// The table of a job is in coordinators/job/keys/job_keys.hpp; nodes, clusters and schedules have tables
// of their own.

#pragma once

#include "models/keys/key_type.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
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

} // namespace troupe
