#include "models/keys/key_type.hpp"

#include "models/keys/closest_name.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

/// Of all whole numbers that fit.
constexpr double unbounded = 0x1p63;

std::string bound_text(double value) {
  if (value == std::floor(value) && std::abs(value) < unbounded)
    return std::to_string(static_cast<int64_t>(value));
  return toml_text(value);
}

std::string whole_text(double value) {
  return std::to_string(static_cast<uint64_t>(value));
}

double least_of(const option_range& x) {
  return std::max(x.least, 0.0);
}

bool is_bounded(const option_range& x) {
  return x.most < unbounded;
}

bool holds(const option_range& x, uint64_t value) {
  return value >= static_cast<uint64_t>(least_of(x)) &&
         (!is_bounded(x) || value <= static_cast<uint64_t>(x.most));
}

bool holds(const option_range& x, double value) {
  return std::isfinite(value) && (x.above_least ? value > x.least : value >= x.least) &&
         (x.below_most ? value < x.most : value <= x.most);
}

/// "in [0, 1)", ">= 0", "> 0", or nothing.
std::string number_range_text(const option_range& x) {
  if (std::isfinite(x.least) && std::isfinite(x.most))
    return (x.above_least ? "in (" : "in [") + bound_text(x.least) + ", " + bound_text(x.most) +
           (x.below_most ? ")" : "]");
  if (std::isfinite(x.least))
    return (x.above_least ? "> " : ">= ") + bound_text(x.least);
  return {};
}

/// What `number_range_text` says, in words: "in [0, 1)", "0 or more", "above 0".
std::string number_demand(const option_range& x) {
  if (std::isfinite(x.least) && !std::isfinite(x.most))
    return x.above_least ? "above " + bound_text(x.least) : bound_text(x.least) + " or more";
  const auto text = number_range_text(x);
  return text.empty() ? "a finite number" : text;
}

} // namespace

value_refusal wrong_type(const std::string& expected, const toml_value& value) {
  return {"expected " + expected + ", got " + description(value), {}};
}

bool accepted(const std::optional<value_refusal>& refused, const toml_value& value,
              const std::string& path, complaints& out) {
  if (refused)
    out.push_back({path, value.at, refused->why, refused->hint});
  return !refused;
}

std::optional<value_refusal> read_value(const toml_value& value, bool& out) {
  const auto* boolean = value.as<bool>();
  if (!boolean)
    return wrong_type("true or false", value);
  out = *boolean;
  return std::nullopt;
}

std::optional<value_refusal> read_value(const toml_value& value, double& out) {
  if (const auto* integer = value.as<int64_t>()) {
    out = static_cast<double>(*integer);
    return std::nullopt;
  }
  const auto* real = value.as<double>();
  if (!real)
    return wrong_type("a number", value);
  if (!std::isfinite(*real))
    return wrong_type("a finite number", value);
  out = *real;
  return std::nullopt;
}

std::optional<value_refusal> read_value(const toml_value& value, std::string& out) {
  const auto* text = value.as<std::string>();
  if (!text)
    return wrong_type("a string", value);
  if (text->find('\0') != std::string::npos)
    return value_refusal{"a string here may not hold a zero byte", {}};
  out = *text;
  return std::nullopt;
}

std::optional<value_refusal> read_whole(const toml_value& value, const option_range& range,
                                        uint64_t& out) {
  const auto* integer = value.as<int64_t>();
  if (!integer || *integer < 0 || !holds(range, static_cast<uint64_t>(*integer)))
    return wrong_type("an integer " + whole_range_text(range), value);
  out = static_cast<uint64_t>(*integer);
  return std::nullopt;
}

std::optional<value_refusal> read_choice(const toml_value& value,
                                         const std::vector<std::string>& names, size_t& out) {
  const std::string expected =
    names.size() == 1 ? choices_text(names) : "one of " + choices_text(names);
  const auto* text = value.as<std::string>();
  const auto found = text ? std::ranges::find(names, *text) : names.end();
  if (found == names.end()) {
    auto result = wrong_type(expected, value);
    result.hint = text ? did_you_mean(*text, names) : "";
    return result;
  }
  out = static_cast<size_t>(found - names.begin());
  return std::nullopt;
}

std::string choices_text(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names)
    result += (result.empty() ? "" : " | ") + toml_text(name);
  return result;
}

std::string whole_range_text(const option_range& x) {
  return is_bounded(x) ? "from " + whole_text(least_of(x)) + " to " + whole_text(x.most)
                       : "of at least " + whole_text(least_of(x));
}

value_refusal no_list(const std::string& elements, const toml_value& value) {
  return wrong_type("a list of " + elements, value);
}

// ---- Types --------------------------------------------------------------------------------------

std::string whole_type::words() const {
  return is_bounded(range_) ? "integer " + whole_range_text(range_)
                            : "integer >= " + whole_text(least_of(range_));
}

void whole_type::read(uint64_t& out, const toml_value& value, const std::string& path,
                      complaints& found) const {
  accepted(read_whole(value, range_, out), value, path, found);
}

std::optional<value_refusal> whole_type::refusal(const uint64_t& x) const {
  if (holds(range_, x))
    return std::nullopt;
  return value_refusal{std::to_string(x) + " is out of range",
                       "use a whole number " + whole_range_text(range_)};
}

std::string number_type::words() const {
  const auto range = number_range_text(range_);
  return range.empty() ? "number" : "number " + range;
}

std::optional<value_refusal> number_type::refusal(const double& x) const {
  if (holds(range_, x))
    return std::nullopt;
  return value_refusal{"must be " + number_demand(range_), {}};
}

type_ptr<std::vector<uint64_t>> whole_list(const option_range& range, const std::string& example) {
  return std::make_shared<list_type<uint64_t>>(type_of<uint64_t>(range),
                                               "list of integers, each " + whole_range_text(range),
                                               "integers", example);
}

type_ptr<std::vector<std::string>> string_list(const std::string& example) {
  return std::make_shared<list_type<std::string>>(type_of<std::string>(), "list of strings",
                                                  "strings", example);
}

} // namespace troupe
