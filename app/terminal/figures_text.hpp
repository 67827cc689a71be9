// Figures as people and scripts read them: six digits, JSON on one line.

#pragma once

#include "data/formats/csv/csv.hpp"
#include "data/text/shown_text.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace troupe {

/// A number with six significant digits, a whole number in full, null as "-".
std::string figure_text(const nlohmann::ordered_json& value);

/// The object on one line; numbers that are not finite are null, bytes that are no UTF-8 replaced.
std::string one_line(const nlohmann::ordered_json& object);

/// Adds a line to a report: the name, and in its column the value.
void add_line(std::string& out, std::string_view name, const std::string& value);

/// A class's name in a table: in quotation marks, and escaped, where it would not show otherwise, as a blank or a
/// new line.
std::string class_text(const std::string& name);

/// The value of --header: "auto", "yes" (or "true") or "no" (or "false"). Throws failure(usage) for
/// anything else.
csv_header header_option(const std::string& text);

} // namespace troupe
