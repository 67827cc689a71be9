#include "app/cluster/launch_report.hpp"

#include <nlohmann/json.hpp>

#include <cstring>

namespace troupe {

std::string end_text(const process_end& end) {
  if (end.signal != 0)
    return "killed by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
  std::string result = "exit code " + std::to_string(end.exit_code);
  for (const auto& [code, name] : name_table<failure_code>::entries)
    if (static_cast<int>(code) == end.exit_code)
      result += " (" + std::string{name} + ")";
  return result;
}

std::string end_and_lines(const process_end& end, const std::deque<std::string>& last_lines) {
  auto result = end_text(end) + '\n';
  if (!last_lines.empty())
    result += "  its last lines:\n";
  for (const auto& line : last_lines)
    result += "    " + line + '\n';
  return result;
}

std::string failed_node_text(const failed_node& x, bool run_ended_well) {
  std::string result = run_ended_well ? "troupe: warning: node '" : "troupe: error: node '";
  result += x.name + "' ";
  result += run_ended_well ? "was lost, the others did its work: " : "failed first: ";
  return result + end_and_lines(x.end, x.last_lines);
}

failure killed_director(const process_end& end, int exit_code) {
  for (const auto code : {failure_code::interrupted, failure_code::terminated})
    if (exit_code == static_cast<int>(code))
      return {code,
              "the run was stopped before it had a result: the director was " + end_text(end),
              {},
              "after the first signal the run ends at the next version; a second one ends it at "
              "once"};
  for (const auto& [code, name] : name_table<failure_code>::entries)
    if (exit_code == static_cast<int>(code))
      return {code,
              "another node failed first, so the director was stopped: " + end_text({exit_code, 0}),
              {},
              "its reason is on standard error"};
  return {failure_code::internal, "the director was " + end_text(end)};
}

bool is_stop_before_a_result(const std::string& object) {
  const auto parsed = nlohmann::json::parse(object, nullptr, false);
  const auto code = nlohmann::json::json_pointer{"/error/code"};
  return parsed.is_object() && parsed.contains(code) &&
         parsed[code] == name_of(failure_code::terminated);
}

} // namespace troupe
