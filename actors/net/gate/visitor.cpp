#include "actors/net/gate/visitor.hpp"

#include "actors/net/gate/hello.hpp"
#include "actors/net/gate/visit.hpp"
#include "actors/net/socket/dial.hpp"
#include "coordinators/run/waits.hpp"
#include "data/text/failure.hpp"
#include "data/text/json_value.hpp"
#include "data/text/shown_text.hpp"
#include "troupe/version.hpp"

#include <nlohmann/json.hpp>

#include <poll.h>

#include <algorithm>
#include <array>

namespace troupe {

namespace {

/// Whom a visitor dials.
const dialled_peer director_of_run{
  "the director", "check the director's address in the cluster file", "is the cluster running?",
  "[tls] of the cluster file", "the cluster"};

using ordered_json = nlohmann::ordered_json;

// ---- the visitor's side ----

[[noreturn]] void no_director(const std::string& where) {
  throw failure(failure_code::mismatch, "what answers is no director of troupe", where,
                "check the director's address in the cluster file");
}

/// For a visitor a refusal because the run has ended well is a mismatch.
failure_code code_of(refusal_code x) {
  return x == refusal_code::finished ? failure_code::mismatch : static_cast<failure_code>(x);
}

[[noreturn]] void nobody(const endpoint& where, const std::string& why) {
  director_of_run.throw_silent(where, why);
}

std::string exchange(channel& line, const visit_request& request, const endpoint& where,
                     milliseconds deadline) {
  const auto due = moment::clock::now() + deadline;
  auto said = write_visit(request);
  const bool is_proven = line.session() != nullptr;
  if (const auto most = is_proven ? proven_card_bytes_max : card_bytes_max; said.size() >= most)
    throw failure(failure_code::bad_data,
                  "there are too many columns to tell the others of: " +
                    std::to_string(said.size()) + " bytes, at most " + std::to_string(most),
                  request.node,
                  is_proven ? "leave columns out: data.ignore"
                            : "secure the cluster with [tls], or leave columns out: data.ignore");
  while (!said.empty()) { // a fresh socket takes a short one at once
    if (!wait_for_line(line, POLLOUT, due))
      nobody(where, "it has been silent for " + time_text(deadline));
    const auto sent = line.write(said);
    said.erase(0, sent.byte_count);
    if (sent.is_over)
      break; // it may have answered before
  }
  std::string heard;
  while (heard.find('\n') == std::string::npos) {
    if (!wait_for_line(line, POLLIN, due))
      nobody(where, "it has been silent for " + time_text(deadline));
    const auto what = line.read(heard);
    if (what.is_refusal)
      director_of_run.throw_unsecured(where, what);
    if (what.is_over && heard.find('\n') == std::string::npos)
      nobody(where, "it closed the connection");
    if (heard.size() > (request.what == "table" ? proven_card_bytes_max : visit_bytes_max))
      no_director(to_string(where));
  }
  heard.resize(heard.find('\n'));
  // A node that waits for the table asks again: its director may be about to come.
  const auto state = state_of(heard);
  if (state == line_state::damaged)
    nobody(where, "its answer was damaged on the way");
  if (state == line_state::strange && request.what == "table")
    nobody(where, "what answers is no director of troupe");
  return heard;
}

} // namespace

std::string read_visit_answer(std::string_view line, const std::string& where) {
  if (is_nested_too_deep(line))
    no_director(where);
  const auto object = ordered_json::parse(line, nullptr, false);
  if (object.is_object() && object.contains("status") && object["status"].is_object())
    return object["status"].dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  const auto refused = object.is_object() && object.contains("answer")
                         ? read_hello(ordered_json{{"answer", object["answer"]}}.dump())
                         : std::nullopt;
  if (refused && refused->answer && !refused->answer->is_admitted())
    throw failure(code_of(refused->answer->code), refused->answer->reason, where);
  no_director(where);
}

namespace {

std::string answer_to(const visit_request& request, const endpoint& where, milliseconds deadline,
                      const std::optional<visit_security>& security) {
  auto line = dial(where, director_of_run, deadline, security);
  return exchange(line, request, where, deadline);
}

} // namespace

std::string ask_for_status(const endpoint& where, milliseconds deadline,
                           const std::optional<visit_security>& security) {
  return read_visit_answer(
    answer_to({protocol_number, TROUPE_VERSION, "status"}, where, deadline, security),
    to_string(where));
}

table_answer ask_for_table(const endpoint& where, const std::string& node, const std::string& card,
                           milliseconds deadline, const std::optional<visit_security>& security) {
  const auto line =
    answer_to({protocol_number, TROUPE_VERSION, "table", node, card}, where, deadline, security);
  const auto answer = read_table_answer(line);
  if (!answer)
    read_visit_answer(line, to_string(where)); // throws
  if (answer->problem_code == 0)
    return *answer;
  constexpr std::array known{failure_code::bad_data, failure_code::bad_job, failure_code::mismatch,
                             failure_code::unavailable};
  const auto code = std::ranges::find(known, static_cast<failure_code>(answer->problem_code));
  throw failure(code == known.end() ? failure_code::mismatch : *code,
                printable_text(answer->problem), printable_text(answer->problem_place),
                printable_text(answer->problem_hint));
}

} // namespace troupe
