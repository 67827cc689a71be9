#include "troupe/app/job/option_values.hpp"

#include "troupe/app/toml/schema_key.hpp"
#include "troupe/models/kinds/layer_text.hpp"

#include <algorithm>
#include <vector>

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

} // namespace troupe
