#include "troupe/data/table/column_plan.hpp"

#include <chrono>
#include <cmath>
#include <limits>

namespace troupe {

namespace {

constexpr float no_value = std::numeric_limits<float>::quiet_NaN();

constexpr size_t value_count(const plan_column& x) {
  switch (x.kind) {
  case column_kind::category:
    return x.categories.size();
  case column_kind::date:
    return 3;
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

// `out` holds zeros.
void expand_cell(const plan_column& x, float cell, float* out) {
  const auto count = value_count(x);
  if (x.marks_missing && std::isnan(cell))
    out[count] = 1;
  if (x.kind == column_kind::date)
    expand_date(cell, out);
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
    else if (x.kind == column_kind::date)
      for (const auto* part : {" days", " month", " weekday"})
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

} // namespace troupe
