// How records of actors' work are told to people, in a timeline as in a flight recorder's log.

#pragma once

#include "troupe/data/records/trace_record.hpp"

#include <string>

namespace troupe {

/// "slice", "wait for parameters", "receive parameters", "send gradient": of an actor that waits for and
/// sends these.
std::string trace_words(trace_kind kind, const std::string& waits_for, const std::string& sends);

/// What a record's object is: "slice", "to", "from", "piece"; null: nothing.
const char* trace_object_name(trace_kind kind);

} // namespace troupe
