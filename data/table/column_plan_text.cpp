#include "troupe/data/table/column_plan_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace troupe {

namespace {

using nlohmann::json;

json object_of(const plan_column& x) {
  json object{{"name", x.name}, {"kind", name_of(x.kind)}};
  if (x.kind == column_kind::category)
    object["categories"] = x.categories;
  if (x.marks_missing)
    object["marks_missing"] = true;
  return object;
}

template <class Enum>
bool read_choice(const json& object, const char* key, Enum& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    return false;
  const auto value = from_name<Enum>(found->get<std::string>());
  out = value.value_or(out);
  return value.has_value();
}

/// A list of texts, each of which comes once; none where the object has no such key.
bool read_texts(const json& object, const char* key, std::vector<std::string>& out) {
  const auto found = object.find(key);
  if (found == object.end())
    return true;
  if (!found->is_array() ||
      !std::ranges::all_of(*found, [](const json& one) { return one.is_string(); }))
    return false;
  out = found->get<std::vector<std::string>>();
  return std::set<std::string>(out.begin(), out.end()).size() == out.size();
}

bool read_column(const json& object, plan_column& out) {
  if (!object.is_object() || !object.contains("name") || !object["name"].is_string() ||
      !read_choice(object, "kind", out.kind) || !read_texts(object, "categories", out.categories))
    return false;
  out.name = object["name"].get<std::string>();
  const auto marks = object.find("marks_missing");
  if (marks != object.end() && !marks->is_boolean())
    return false;
  out.marks_missing = marks != object.end() && marks->get<bool>();
  return out.categories.empty() || out.kind == column_kind::category;
}

} // namespace

std::string text_of(const column_plan& plan) {
  json object{{"missing", name_of(plan.missing)}, {"missing_cells", plan.missing_cells}};
  object["columns"] = json::array();
  for (const auto& x : plan.columns)
    object["columns"].push_back(object_of(x));
  // A name need not be UTF-8: what is not becomes a replacement character here.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<column_plan> plan_of(const std::string& text) {
  const auto object = json::parse(text, nullptr, false);
  column_plan result;
  if (!object.is_object() || !read_choice(object, "missing", result.missing) ||
      !read_texts(object, "missing_cells", result.missing_cells) || !object.contains("columns") ||
      !object["columns"].is_array() || object["columns"].empty())
    return std::nullopt;
  std::set<std::string> names;
  for (const auto& one : object["columns"]) {
    plan_column column;
    if (!read_column(one, column) || !names.insert(column.name).second)
      return std::nullopt;
    result.columns.push_back(std::move(column));
  }
  return result;
}

} // namespace troupe
