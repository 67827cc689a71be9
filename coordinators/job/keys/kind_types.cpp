#include "coordinators/job/keys/kind_types.hpp"

#include "models/kinds/chain_kind.hpp"

namespace troupe {

namespace {

std::optional<std::vector<layer_item>> layers_of(const toml_value::list& list) {
  std::vector<layer_item> result;
  for (const auto& one : list) {
    const auto* table = one.as<toml_value::table>();
    if (!table)
      return std::nullopt;
    layer_item item;
    for (const auto& [name, at, value] : *table) {
      static_cast<void>(at);
      const auto* inner = value.as<toml_value::list>();
      if (name == "layers" && inner) {
        auto layers = layers_of(*inner);
        if (!layers)
          return std::nullopt;
        item.inner = *std::move(layers);
        item.has_inner = true;
        continue;
      }
      auto option = option_value_of(value);
      if (!option)
        return std::nullopt;
      if (const auto* kind = std::get_if<std::string>(&*option); name == "kind" && kind)
        item.own.kind = *kind;
      else
        item.own.options[name] = *std::move(option);
    }
    if (item.own.kind.empty())
      return std::nullopt;
    result.push_back(std::move(item));
  }
  return result;
}

std::optional<option_value> list_value(const toml_value::list& list) {
  const auto all = [&](auto holds) { return std::ranges::all_of(list, holds); };
  if (all([](const toml_value& x) { return x.as<int64_t>() != nullptr; })) {
    std::vector<int64_t> result;
    for (const auto& x : list)
      result.push_back(*x.as<int64_t>());
    return result;
  }
  std::vector<double> result(list.size());
  for (size_t i = 0; i < list.size(); ++i)
    if (read_value(list[i], result[i]))
      return std::nullopt;
  return result;
}

} // namespace

std::optional<option_value> option_value_of(const toml_value& x) {
  if (const auto* flag = x.as<bool>())
    return *flag;
  if (const auto* whole = x.as<int64_t>())
    return *whole;
  if (const auto* real = x.as<double>())
    return *real;
  if (const auto* text = x.as<std::string>())
    return *text;
  const auto* list = x.as<toml_value::list>();
  if (!list)
    return std::nullopt;
  if (!list->empty() && list->front().as<toml_value::table>()) {
    const auto layers = layers_of(*list);
    if (!layers)
      return std::nullopt;
    std::string text; // a line each: what is wrong with one is said by its line
    for (const auto& one : *layers)
      text += text_of({one}) + '\n';
    return text;
  }
  return list_value(*list);
}

bool option_type::is_text() const {
  return std::ranges::all_of(kinds_, [](const auto& kind) {
    return std::holds_alternative<std::string>(kind.second.fallback);
  });
}

void option_type::read(component& out, const toml_value& value, const std::string& path,
                       complaints& found) const {
  const auto given = option_value_of(value);
  const auto takes = [&](const auto& kind) { return taken_value(kind.second, *given).has_value(); };
  if (given && std::ranges::any_of(kinds_, takes))
    out.options[name_] = *given;
  else
    found.push_back(
      {path, value.at, "expected " + words() + ", got " + description(value),
       name_ == "layers" ? "or tables, [[model.layers]], each with a kind and its options" : ""});
}

std::optional<std::string> option_type::text(const component& x) const {
  if (const auto given = x.options.find(name_); given != x.options.end())
    return option_text(given->second);
  const auto info = std::ranges::find(kinds_, x.kind, &kind_options::value_type::first);
  return info == kinds_.end() ? std::nullopt : std::optional{option_text(info->second.fallback)};
}

void option_type::copy(component& to, const component& from) const {
  if (const auto found = from.options.find(name_); found != from.options.end())
    to.options[name_] = found->second;
  else
    to.options.erase(name_);
}

} // namespace troupe
