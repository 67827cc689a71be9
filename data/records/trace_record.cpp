#include "data/records/trace_record.hpp"

namespace troupe {

std::string trace_words(trace_kind kind, const trace_track& track) {
  const std::string name{name_of(kind)};
  switch (kind) {
  case trace_kind::wait:
    return track.waits_for.empty() ? name : "wait for " + track.waits_for;
  case trace_kind::receive:
    return track.waits_for.empty() ? name : "receive " + track.waits_for;
  case trace_kind::send:
    return track.sends.empty() ? name : "send " + track.sends;
  default:
    return name;
  }
}

const char* trace_object_name(trace_kind kind) {
  switch (kind) {
  case trace_kind::slice:
    return "slice";
  case trace_kind::send:
    return "to";
  case trace_kind::receive:
    return "from";
  case trace_kind::clients:
    return "piece";
  default:
    return nullptr;
  }
}

} // namespace troupe
