#include "models/optimizers/optimizer_options.hpp"

#include <charconv>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

namespace troupe {

namespace {

void require(bool holds, const optimizer_options& options, const char* what) {
  if (!holds)
    throw std::invalid_argument(std::string{name_of(options.kind)} + ": " + what);
}

// Only what the rule has: options meant for another rule do no harm.
void require_ranges(const optimizer_options& x) {
  const auto defaults = defaults_of(x.kind);
  const auto holds = [&](std::optional<double> optimizer_options::*member, auto&& is_good) {
    return !(defaults.*member) || is_good(*(x.*member));
  };
  const auto is_decay = [](double value) { return value >= 0 && value < 1; };
  const auto is_positive = [](double value) { return value > 0 && std::isfinite(value); };
  using options = optimizer_options;
  require(holds(&options::learning_rate, is_positive), x, "learning_rate must be positive");
  require(holds(&options::beta1, is_decay), x, "beta1 must be in [0, 1)");
  require(holds(&options::beta2, is_decay), x, "beta2 must be in [0, 1)");
  require(holds(&options::rho, is_decay), x, "rho must be in [0, 1)");
  require(holds(&options::epsilon, is_positive), x, "epsilon must be positive");
  require(
    holds(&options::weight_decay, [](double value) { return value >= 0 && std::isfinite(value); }),
    x, "weight_decay must be 0 or more");
  require(x.history_size >= 1, x, "history_size must be at least 1");
}

} // namespace

optimizer_options defaults_of(optimizer_kind kind) {
  optimizer_options result;
  result.kind = kind;
  for (const auto& constant : optimizer_constants)
    result.*constant.member = row_of(kind).defaults.*constant.of_rule;
  return result;
}

std::string rules_with(std::optional<double> rule_constants::*constant) {
  std::string result;
  for (const auto& row : optimizer_rows)
    if (row.defaults.*constant)
      result += (result.empty() ? "" : ", ") + std::string{row.name};
  return result;
}

std::string defaults_text(std::optional<double> rule_constants::*constant) {
  struct group {
    double value;
    std::string names;
    size_t count;
  };
  std::vector<group> groups;
  for (const auto& row : optimizer_rows)
    if (const auto value = row.defaults.*constant) {
      const auto known = std::ranges::find(groups, *value, &group::value);
      if (known == groups.end()) {
        groups.push_back({*value, std::string{row.name}, 1});
      } else {
        known->names += ", " + std::string{row.name};
        ++known->count;
      }
    }
  std::ranges::stable_sort(groups, std::greater{}, &group::count);
  const bool has_usual = groups.size() == 1 || groups.front().count > 1;
  std::string result;
  for (const auto& [value, names, count] : groups) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    const bool is_usual = has_usual && result.empty();
    result +=
      (result.empty() ? "" : "; ") + (is_usual ? "" : names + ": ") + std::string(text, end);
  }
  return result;
}

optimizer_options with_defaults(const optimizer_options& options) {
  auto result = options;
  const auto defaults = defaults_of(options.kind);
  for (const auto& constant : optimizer_constants)
    if (!(result.*constant.member))
      result.*constant.member = defaults.*constant.member;
  return result;
}

optimizer_options checked_options(optimizer_options options, optimizer_kind kind) {
  options.kind = kind;
  const auto result = with_defaults(options);
  require_ranges(result);
  schedule_factor(result.schedule, 0); // throws when the schedule is out of range
  require(!result.plateau.patience || (result.plateau.factor > 0 && result.plateau.factor < 1),
          result, "plateau.factor must be in (0, 1)");
  if (kind == optimizer_kind::sgd) {
    require(result.momentum >= 0 && result.momentum < 1, result, "momentum must be in [0, 1)");
    require(!result.nesterov || result.momentum > 0, result, "nesterov needs a momentum above 0");
  }
  return result;
}

} // namespace troupe
