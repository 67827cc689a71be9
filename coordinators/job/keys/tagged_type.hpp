// The type of keys that are a name, or a table of one name with a number or text that belongs to it:
//
//   consistency = "synchronous"
//   consistency = { staleness = 2 }

#pragma once

#include "models/keys/key_row.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

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

} // namespace troupe
