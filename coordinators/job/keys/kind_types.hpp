// Types of the keys `model.kind` and `optimizer.kind`, and of the options of kinds that are in a table
// (models/kinds/kind_table.hpp).

#pragma once

#include "coordinators/job/keys/job_keys.hpp"
#include "models/kinds/option.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

// The type of keys that are a name, or a table of one name with a number or text that belongs to it:
//
//   consistency = "synchronous"
//   consistency = { staleness = 2 }

/// A value of the Enum, and what belongs to it in the section; nothing when the name says all.
template <class Section, class Enum>
struct tag {
  Enum value;
  std::string symbol{};  ///< of what belongs to it, for people
  std::string example{}; ///< TOML
  std::shared_ptr<const key_type> type{};
  std::function<void*(Section&)> member{};
};

template <class Section, class Enum, class T>
tag<Section, Enum> tagged(Enum value, std::string symbol, std::string example, T Section::*member,
                          const option_range& range = anything()) {
  return {value, std::move(symbol), std::move(example), type_of<T>(range),
          [member](Section& x) -> void* { return &(x.*member); }};
}

template <class Section, class Enum>
class tagged_type final : public type_for<Section> {
public:
  tagged_type(Enum Section::*member, std::vector<tag<Section, Enum>> tags)
    : member_(member), tags_(std::move(tags)) {}

  std::string words() const override {
    return joined(tags_, " | ", " | ", [&](const auto& x) {
      const auto name = std::string{name_of(x.value)};
      return x.type ? table_text(name, x.symbol) : toml_text(name);
    });
  }
  void read(Section& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* table = value.template as<toml_value::table>();
    if (!table) {
      std::vector<std::string> names;
      for (const auto& one : with_argument(false))
        names.emplace_back(name_of(one.value));
      size_t index = 0;
      if (accepted(read_choice(value, names, index), value, path, found))
        out.*member_ = *from_name<Enum>(names[index]);
      return;
    }
    const auto tables = with_argument(true);
    const auto known = std::ranges::find_if(tables, [&](const auto& x) {
      return table->size() == 1 && table->front().name == name_of(x.value);
    });
    if (known == tables.end()) {
      const auto name = [](const auto& x) { return std::string{name_of(x.value)}; };
      const auto text = [&](const auto& x) { return table_text(name(x), x.example); };
      found.push_back({path, value.at, "expected one of " + joined(tables, ", ", " and ", name),
                       "write " + joined(tables, ", ", " or ", text)});
      return;
    }
    const auto before = found.size();
    const auto& entry = table->front();
    known->type->read_at(known->member(out), entry.value, path + '.' + entry.name, found);
    if (found.size() == before)
      out.*member_ = known->value;
  }
  std::optional<std::string> text(const Section& x) const override {
    const auto& one = of(x);
    const std::string name{name_of(one.value)};
    return one.type ? table_text(name, one.type->text_at(argument(one, x)).value_or(""))
                    : toml_text(name);
  }
  void copy(Section& to, const Section& from) const override {
    to.*member_ = from.*member_;
    for (const auto& one : with_argument(true))
      one.type->copy_at(one.member(to), argument(one, from));
  }
  std::optional<value_refusal> refusal(const Section& x) const override {
    const auto& one = of(x);
    auto result = one.type ? one.type->refusal_at(argument(one, x)) : std::nullopt;
    if (!result)
      return result;
    const std::string name{name_of(one.value)};
    return value_refusal{name + (result->hint.empty() ? " " : ": ") + result->why,
                         result->hint.empty() ? "write " + table_text(name, one.example) + ", say"
                                              : result->hint};
  }
  /// "labels 2", or "iid".
  std::string identity(const Section& x) const override {
    const auto& one = of(x);
    const std::string name{name_of(one.value)};
    return one.type ? name + ' ' + one.type->identity_at(argument(one, x)) : name;
  }

private:
  using tag_list = std::vector<tag<Section, Enum>>;

  static std::string table_text(const std::string& name, const std::string& value) {
    return "{ " + name + " = " + value + " }";
  }

  static const void* argument(const tag<Section, Enum>& one, const Section& x) {
    return one.member(const_cast<Section&>(x));
  }

  /// Those with an argument, or those without.
  tag_list with_argument(bool wanted) const {
    tag_list result;
    std::ranges::copy_if(tags_, std::back_inserter(result),
                         [&](const auto& x) { return (x.type != nullptr) == wanted; });
    return result;
  }

  const tag<Section, Enum>& of(const Section& x) const {
    const auto found =
      std::ranges::find_if(tags_, [&](const auto& one) { return one.value == x.*member_; });
    return found == tags_.end() ? tags_.front() : *found;
  }

  template <class Text>
  static std::string joined(const tag_list& tags, const std::string& between,
                            const std::string& last, Text text) {
    std::string result;
    for (size_t i = 0; i < tags.size(); ++i)
      result += (i == 0 ? "" : i + 1 == tags.size() ? last : between) + text(tags[i]);
    return result;
  }

  Enum Section::*member_;
  tag_list tags_;
};

inline constexpr auto own_kind_hint =
  "a kind that an application adds is known to its own program: start that one";

/// Nothing for what no option is. A list of tables are layers, and becomes their text
/// (models/kinds/chain_kind.hpp): each has a `kind`, its options, and `layers` for what it holds.
std::optional<option_value> option_value_of(const toml_value& x);

/// `Section` has a `kind`, an Enum, and an `own`, which is a kind of `Table` in its place.
template <class Section, class Enum, class Table>
class kind_type final : public type_for<Section> {
public:
  explicit kind_type(const Table& table) : names_(names_of<Enum>()), built_in_(names_.size()) {
    for (const auto& name : table.names())
      names_.push_back(name);
  }
  std::string words() const override { return choices_text(names_); }
  void read(Section& x, const toml_value& value, const std::string& path,
            complaints& found) const override {
    size_t index = 0;
    auto refused = read_choice(value, names_, index);
    if (refused && refused->hint.empty() && value.template as<std::string>())
      refused->hint = own_kind_hint;
    if (!accepted(refused, value, path, found))
      return;
    const bool is_own = index >= built_in_;
    x.kind = is_own ? Section{}.kind : values_of<Enum>()[index];
    x.own.kind = is_own ? names_[index] : "";
  }
  std::optional<std::string> text(const Section& x) const override {
    return toml_text(std::string_view{kind_name(x)});
  }
  void copy(Section& to, const Section& from) const override {
    to.kind = from.kind;
    to.own.kind = from.own.kind;
  }

private:
  std::vector<std::string> names_;
  size_t built_in_;
};

/// An option of the kinds that have one of this name.
class option_type final : public type_for<component> {
public:
  using kind_options = std::vector<std::pair<std::string, option_info>>;

  option_type(std::string name, kind_options kinds)
    : name_(std::move(name)), kinds_(std::move(kinds)) {}

  /// "wave: 3; other: 4".
  template <class TextOf>
  std::string each(TextOf text_of) const {
    std::string result;
    for (const auto& [kind, info] : kinds_)
      result += (result.empty() ? "" : "; ") + kind + ": " + text_of(info);
    return result;
  }
  std::string words() const override {
    return kinds_.size() == 1 ? type_text(kinds_.front().second) : each(type_text);
  }
  bool is_text() const override;
  void read(component& out, const toml_value& value, const std::string& path,
            complaints& found) const override;
  std::optional<std::string> text(const component& x) const override;
  void copy(component& to, const component& from) const override;

private:
  std::string name_;
  kind_options kinds_;
};

/// Adds the options of all kinds of the table, as keys of the section. Throws std::invalid_argument for
/// one that is a key already and not `shared` by kinds.
template <class Table, class Target>
void add_options(std::vector<key_row<Target>>& out, const std::string& section, const Table& table,
                 std::function<component&(Target&)> part,
                 const std::vector<std::string>& shared = {},
                 key_effect effect = key_effect::bits) {
  const auto begin = out.size();
  const auto prefix = section.empty() ? section : section + '.';
  for (const auto& kind : table.names())
    for (const auto& info : table.at(kind).options) {
      const auto known = std::ranges::find(out, prefix + info.name, &key_row<Target>::path);
      const auto place = static_cast<size_t>(known - out.begin());
      if (place < begin && std::ranges::find(shared, info.name) == shared.end())
        throw std::invalid_argument("kind '" + kind + "': '" + prefix + info.name +
                                    "' is a key already: give the option another name");
      if (known != out.end())
        continue;
      option_type::kind_options kinds;
      for (const auto& other : table.names())
        if (const auto* one = table.at(other).find(info.name))
          kinds.emplace_back(other, *one);
      const auto type = std::make_shared<option_type>(info.name, std::move(kinds));
      key_section<Target, component>{out, section, part}
        .add(info.name, type,
             {type->each([](const option_info& x) { return x.meaning; }),
              type->each([](const option_info& x) { return option_text(x.fallback); })})
        .affects(effect)
        .empty_is_unset = false;
    }
}

} // namespace troupe
