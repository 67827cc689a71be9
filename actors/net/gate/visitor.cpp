#include "actors/net/gate/visitor.hpp"

#include "actors/net/gate/hello.hpp"
#include "actors/net/gate/visit.hpp"
#include "actors/net/socket/channel.hpp"
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
  throw failure(failure_code::unavailable, "the director does not answer: " + why, to_string(where),
                "is the cluster running?");
}

/// True when the socket is ready for `events` in time.
bool wait_for(const channel& line, short events, moment due) {
  if (line.has_pending())
    return true;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(due - moment::clock::now());
    pollfd ready{line.descriptor(), events, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::max(left, milliseconds{0}).count()));
    if (count > 0)
      return true;
    if (count == 0 || left <= milliseconds{0})
      return false;
  }
}

std::string in_seconds(milliseconds deadline) {
  return "within " + time_text(deadline);
}

channel connect(const endpoint& where, milliseconds deadline) {
  const auto found = resolve(where, deadline);
  if (found.addresses.empty())
    throw failure(failure_code::missing_input, found.problem, to_string(where),
                  "check the director's address in the cluster file");
  std::string problem;
  for (const auto& address : found.addresses) {
    channel line{begin_connect(address, problem)};
    if (line.descriptor() < 0)
      continue;
    if (!wait_for(line, POLLOUT, moment::clock::now() + deadline))
      problem = "no connection " + in_seconds(deadline);
    else if (const auto failed = line.connect_problem())
      problem = *failed;
    else
      return line;
  }
  nobody(where, problem);
}

[[noreturn]] void not_permitted(const endpoint& where, const std::string& why) {
  throw failure(failure_code::no_permission, why, to_string(where),
                "the [tls] of the cluster file is to be the one that the cluster runs with");
}

[[noreturn]] void throw_unsecured(const endpoint& where, const transfer& why) {
  if (!why.is_refusal)
    nobody(where, why.problem);
  not_permitted(where, "no secured connection with the director: " + why.problem);
}

/// Throws when the answer is no TLS, as from a director that does not secure its connections.
void expect_tls(const channel& line, const endpoint& where, const visit_security& security) {
  const auto first = line.first_byte();
  if (first && *first != tls_handshake_byte && *first != tls_alert_byte)
    not_permitted(where, comes_secured(security.director).reason);
}

void expect_director(const channel& line, const endpoint& where, const visit_security& security) {
  const auto proof = admit_proof(security.director, line.session()->peer_names());
  if (!proof.is_admitted())
    not_permitted(where, proof.reason);
}

void secure(channel& line, const endpoint& where, milliseconds deadline,
            const visit_security& security) {
  const auto due = moment::clock::now() + deadline;
  line.secure(load_tls(security.files, {}), tls_side::dials);
  using progress = tls_session::progress;
  for (int round = 0;; ++round) {
    if (round == 1) // the first answer has come
      expect_tls(line, where, security);
    const auto how = line.session()->shake_hands();
    if (how == progress::done)
      return expect_director(line, where, security);
    if (how == progress::failed && round == 0 && line.session()->has_met_no_tls())
      not_permitted(where, comes_secured(security.director).reason);
    if (how == progress::failed)
      throw_unsecured(where, line.session()->problem());
    if (!wait_for(line, how == progress::wants_to_read ? POLLIN : POLLOUT, due))
      nobody(where, "it has been silent for " + time_text(deadline));
  }
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
    if (!wait_for(line, POLLOUT, due))
      nobody(where, "it has been silent for " + time_text(deadline));
    const auto sent = line.write(said);
    said.erase(0, sent.byte_count);
    if (sent.is_over)
      break; // it may have answered before
  }
  std::string heard;
  while (heard.find('\n') == std::string::npos) {
    if (!wait_for(line, POLLIN, due))
      nobody(where, "it has been silent for " + time_text(deadline));
    const auto what = line.read(heard);
    if (what.is_refusal)
      throw_unsecured(where, what);
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
  auto line = connect(where, deadline);
  if (security)
    secure(line, where, deadline, *security);
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
