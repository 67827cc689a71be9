// What the command prints: results on standard output, everything else on standard error.

#pragma once

#include "data/text/failure.hpp"

#include <exception>
#include <string>
#include <string_view>

namespace troupe {

/// The `where` of a failure to print a result.
inline constexpr std::string_view standard_output = "standard output";

/// Standard streams that are closed would be taken by the next files opened: this puts unusable
/// ones in their place, so that writing to them fails as it should.
void hold_standard_streams();

/// Writes a result to standard output. Throws failure(io_error) when that is closed or full; `hint`
/// then says what is not lost.
void print_result(std::string_view text, const std::string& hint = {});

/// "troupe: error: WHERE: WHAT" and "  hint: ..." lines: every error of a job, else the one. Nothing when the reader of
/// the result closed the pipe, as `head` does.
std::string error_text(const failure& error);

/// What ends a command and is no failure: want of memory is bad_job, anything else a defect.
failure as_failure(const std::exception& error);

/// Writes to standard error; it is no error when that is closed.
void print_message(std::string_view text);

/// Writes one line of a run's log to standard error, behind the local date and time of day: people
/// read it beside other machines' logs.
void log_news(std::string_view line);

} // namespace troupe
