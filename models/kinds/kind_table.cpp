#include "models/kinds/kind_table.hpp"

namespace troupe {

namespace {

constexpr size_t name_bytes_max = 64;

/// `x` with every option, the given ones converted to their types.
component filled(const kind_entry& kind, const component& x) {
  component result{kind.name, {}};
  for (const auto& known : kind.options) {
    const auto given = x.options.find(known.name);
    result.options[known.name] =
      given == x.options.end() ? known.fallback : *taken_value(known, given->second);
  }
  return result;
}

} // namespace

const option_info* kind_entry::find(std::string_view option) const {
  const auto found = std::ranges::find(options, option, &option_info::name);
  return found == options.end() ? nullptr : &*found;
}

std::vector<option_problem> option_problems(const kind_entry& kind, const component& x) {
  std::vector<option_problem> result;
  for (const auto& [name, value] : x.options) {
    const auto* known = kind.find(name);
    if (!known)
      result.push_back({name, kind.name + " takes no " + name, "leave it out"});
    else if (!taken_value(*known, value))
      result.push_back({name, "expected " + type_text(*known) + ", got " + option_text(value),
                        "by default it is " + option_text(known->fallback)});
  }
  if (!result.empty() || !kind.info.settle)
    return result;
  auto whole = filled(kind, x);
  return kind.info.settle(whole);
}

component completed(const kind_entry& kind, const component& x) {
  if (const auto wrong = option_problems(kind, x); !wrong.empty())
    throw std::invalid_argument(kind.name + ": " + wrong.front().name + ": " + wrong.front().why);
  auto result = filled(kind, x);
  if (kind.info.settle)
    kind.info.settle(result);
  return result;
}

std::string identity_lines(const std::string& section, const kind_entry& kind, const component& x) {
  auto result = section + ".kind = " + kind.name + ' ' + std::to_string(kind.info.version) + '\n';
  for (const auto& [name, value] : completed(kind, x).options)
    result += section + '.' + kind.name + '.' + name + " = " + bits_text(value) + '\n';
  return result;
}

void require_kind_name(const std::string& what, const std::string& name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_good = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  if (name.empty() || name.size() > name_bytes_max || !is_letter(name[0]) ||
      !std::ranges::all_of(name, is_good))
    throw std::invalid_argument(what + " kind '" + name +
                                "': a name has small letters, digits and -, a letter first, at "
                                "most 64 of them");
}

} // namespace troupe
