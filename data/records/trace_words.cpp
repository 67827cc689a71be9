#include "troupe/data/records/trace_words.hpp"

namespace troupe {

std::string trace_words(trace_kind kind, const std::string& waits_for, const std::string& sends) {
  const std::string name{name_of(kind)};
  switch (kind) {
  case trace_kind::wait:
    return waits_for.empty() ? name : "wait for " + waits_for;
  case trace_kind::receive:
    return waits_for.empty() ? name : "receive " + waits_for;
  case trace_kind::send:
    return sends.empty() ? name : "send " + sends;
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
