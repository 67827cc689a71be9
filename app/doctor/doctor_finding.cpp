#include "troupe/app/doctor/doctor_finding.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

std::string padded(std::string text, size_t columns) {
  text.resize(std::max(text.size(), columns), ' ');
  return text;
}

health worst_of(const findings& all) {
  health result = health::ok;
  for (const auto& one : all)
    result = std::max(result, one.verdict);
  return result;
}

json object_of(const finding& x) {
  return {{"check", x.check}, {"verdict", name_of(x.verdict)}, {"what", x.what}, {"hint", x.hint}};
}

} // namespace

const finding* first_failed(const findings& all) {
  const auto found = std::ranges::find(all, health::fail, &finding::verdict);
  return found == all.end() ? nullptr : &*found;
}

std::string doctor_report(const findings& all) {
  size_t columns = 0;
  for (const auto& one : all)
    columns = std::max(columns, one.check.size());
  std::string result;
  for (const auto& one : all) {
    result += padded(std::string{name_of(one.verdict)}, 4) + "  " + padded(one.check, columns) +
              "  " + one.what + '\n';
    if (!one.hint.empty())
      result += "      " + std::string(columns, ' ') + "  hint: " + one.hint + '\n';
  }
  return result;
}

std::string doctor_json(const findings& all) {
  json checks = json::array();
  for (const auto& one : all)
    checks.push_back(object_of(one));
  json result{{"verdict", name_of(worst_of(all))}, {"checks", std::move(checks)}};
  if (const auto* failed = first_failed(all))
    result["error"] = {{"code", name_of(failed->code)},
                       {"what", failed->what},
                       {"where", failed->check},
                       {"hint", failed->hint}};
  // Names of hosts and files come from outside: what is no UTF-8 is shown as a question mark.
  return result.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

} // namespace troupe
