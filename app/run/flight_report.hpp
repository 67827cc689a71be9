// A flight recorder's file for people and for programs: what each actor of a process did last, newest first.

#pragma once

#include "data/records/trace_record.hpp"

#include <cstddef>
#include <string>

namespace troupe {

/// Reads a file. Throws failure(missing_input | bad_data).
flight_log load_flight(const std::string& path);

/// A section an actor, with at most `records_max` of its records.
std::string flight_report(const flight_log& x, size_t records_max);

/// One object, with all records.
std::string flight_json(const flight_log& x);

} // namespace troupe
