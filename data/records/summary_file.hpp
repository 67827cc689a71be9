// summary.json and the object that --json prints: the figures of a run, or why there are none.

#pragma once

#include "data/records/training_record.hpp"
#include "data/text/failure.hpp"

#include <string>
#include <string_view>

namespace troupe {

enum class json_layout {
  one_line, ///< for --json: exactly one line
  indented, ///< for files people open
};

/// One JSON object with a key for each field of the summary, and a line break at the end. Absent
/// figures and numbers that are not finite are null; bytes that are no UTF-8 are replaced. With an
/// `error` (a run that ended badly) the object starts with error{code, what, where, hint}.
std::string summary_json(const training_summary& summary, json_layout layout,
                         const failure* error = nullptr);

/// Reads what summary_json wrote; a key that is missing keeps its default, one that is not known is
/// passed over. `path` is for messages. Throws failure(bad_data) when it is no such object.
training_summary read_summary(std::string_view text, const std::string& path);

/// The object of a run that has no summary: {error{code, what, where, hint}}, and `job` if its name
/// is known. One line.
std::string failure_json(const failure& error, std::string_view job_name);

} // namespace troupe
