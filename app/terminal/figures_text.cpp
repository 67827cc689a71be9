#include "app/terminal/figures_text.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <fmt/format.h>

namespace troupe {

std::string figure_text(const nlohmann::ordered_json& value) {
  if (!value.is_number_float())
    return value.is_null() ? "-" : value.dump();
  return fmt::format("{:.6g}", value.get<double>());
}

std::string one_line(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

void add_line(std::string& out, std::string_view name, const std::string& value) {
  constexpr size_t name_columns = 19; // the longest name and two blanks
  out += name;
  out.append(name.size() < name_columns ? name_columns - name.size() : 1, ' ');
  out += value + '\n';
}

std::string class_text(const std::string& name) {
  const bool is_plain =
    !name.empty() && !name.starts_with(' ') && !name.ends_with(' ') && printable_text(name) == name;
  return is_plain ? name : shown_text(name);
}

csv_header header_option(const std::string& text) {
  if (const auto named = from_name<csv_header>(text == "true"    ? "yes"
                                               : text == "false" ? "no"
                                                                 : text))
    return *named;
  throw failure(failure_code::usage, "--header is auto, yes or no, not '" + text + "'");
}

} // namespace troupe
