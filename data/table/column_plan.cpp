#include "data/table/column_plan.hpp"

#include "data/table/cell_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>

namespace troupe {

namespace {

constexpr float no_value = std::numeric_limits<float>::quiet_NaN();

constexpr std::array date_parts{" days", " month", " weekday", " hour"};

constexpr size_t value_count(const plan_column& x) {
  switch (x.kind) {
  case column_kind::category:
    return x.categories.size();
  case column_kind::date:
    return 3;
  case column_kind::datetime:
    return 4;
  default:
    return 1;
  }
}

size_t feature_count(const plan_column& x) {
  return value_count(x) + (x.marks_missing ? 1 : 0);
}

size_t feature_count(const column_plan& plan) {
  size_t result = 0;
  for (const auto& x : plan.columns)
    result += feature_count(x);
  return result;
}

void expand_date(float days, float* out) {
  using namespace std::chrono;
  if (std::isnan(days)) {
    out[0] = out[1] = out[2] = no_value;
    return;
  }
  const sys_days date =
    sys_days{year{2000} / January / 1} + std::chrono::days{static_cast<int>(days)};
  out[0] = days;
  out[1] = static_cast<float>(static_cast<unsigned>(year_month_day{date}.month()));
  out[2] = static_cast<float>(weekday{date}.iso_encoding());
}

void expand_datetime(float quarters, float* out) {
  const float days = std::floor(quarters / quarters_of_day);
  expand_date(days, out);
  out[3] = (quarters - days * quarters_of_day) / 4;
}

// `out` holds zeros.
void expand_cell(const plan_column& x, float cell, float* out) {
  const auto count = value_count(x);
  if (x.marks_missing && std::isnan(cell))
    out[count] = 1;
  if (x.kind == column_kind::date)
    expand_date(cell, out);
  else if (x.kind == column_kind::datetime)
    expand_datetime(cell, out);
  else if (x.kind != column_kind::category)
    out[0] = cell;
  else if (cell >= 0 && cell < static_cast<float>(count))
    out[static_cast<size_t>(cell)] = 1;
}

} // namespace

std::vector<std::string> names_of(const column_plan& plan) {
  std::vector<std::string> result;
  for (const auto& x : plan.columns)
    result.push_back(x.name);
  return result;
}

std::vector<std::string> feature_names_of(const column_plan& plan) {
  std::vector<std::string> result;
  for (const auto& x : plan.columns) {
    if (x.kind == column_kind::category)
      for (const auto& category : x.categories)
        result.push_back(x.name + "=" + category);
    else if (x.kind == column_kind::date || x.kind == column_kind::datetime)
      for (const auto* part : std::span{date_parts}.first(value_count(x)))
        result.push_back(x.name + part);
    else
      result.push_back(x.name);
    if (x.marks_missing)
      result.push_back(x.name + " is missing");
  }
  return result;
}

std::vector<bool> is_mark(const column_plan& plan) {
  std::vector<bool> result;
  for (const auto& x : plan.columns) {
    result.insert(result.end(), value_count(x), x.kind == column_kind::category);
    if (x.marks_missing)
      result.push_back(true);
  }
  return result;
}

std::vector<float> expand(const column_plan& plan, std::span<const float> cells) {
  const auto columns = plan.columns.size();
  std::vector<float> result(cells.size() / columns * feature_count(plan));
  float* out = result.data();
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto& column = plan.columns[i % columns];
    expand_cell(column, cells[i], out);
    out += feature_count(column);
  }
  return result;
}

void fill_gaps(const column_plan& plan, std::span<float> features) {
  const auto width = plan.fill.size();
  for (size_t i = 0; i < features.size() && width > 0; ++i)
    if (std::isnan(features[i]))
      features[i] = plan.fill[i % width];
}

namespace {

using nlohmann::json;

json object_of(const plan_column& x) {
  json object{{"name", x.name}, {"kind", name_of(x.kind)}};
  if (x.kind == column_kind::category)
    object["categories"] = x.categories;
  if (x.marks_missing)
    object["marks_missing"] = true;
  if (x.order != date_form::year_first)
    object["order"] = name_of(x.order);
  if (!x.unit.empty())
    object["unit"] = x.unit;
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
  const bool is_date = out.kind == column_kind::date || out.kind == column_kind::datetime;
  if (object.contains("order") && !(is_date && read_choice(object, "order", out.order)))
    return false;
  if (const auto unit = object.find("unit"); unit != object.end()) {
    if (!unit->is_string() || out.kind != column_kind::amount)
      return false;
    out.unit = unit->get<std::string>();
  }
  return out.categories.empty() || out.kind == column_kind::category;
}

} // namespace

std::string text_of(const column_plan& plan) {
  json object{{"missing", name_of(plan.missing)}, {"missing_cells", plan.missing_cells}};
  object["columns"] = json::array();
  for (const auto& x : plan.columns)
    object["columns"].push_back(object_of(x));
  if (plan.target)
    object["target"] = object_of(*plan.target);
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
  if (object.contains("target") && (!read_column(object["target"], result.target.emplace()) ||
                                    result.target->kind != column_kind::amount))
    return std::nullopt;
  return result;
}

} // namespace troupe
