#include "actors/net/socket/dial.hpp"

#include "coordinators/links/admission.hpp"
#include "coordinators/run/waits.hpp"
#include "data/text/failure.hpp"

#include <poll.h>

#include <algorithm>

namespace troupe {

void dialled_peer::throw_silent(const endpoint& where, const std::string& why) const {
  throw failure(failure_code::unavailable, who + " does not answer: " + why, to_string(where),
                silence_hint);
}

void dialled_peer::throw_not_permitted(const endpoint& where, const std::string& why) const {
  throw failure(failure_code::no_permission, why, to_string(where),
                "the " + identity_place + " is to be the one that " + identity_whole +
                  " runs with");
}

void dialled_peer::throw_unsecured(const endpoint& where, const transfer& why) const {
  if (!why.is_refusal)
    throw_silent(where, why.problem);
  throw_not_permitted(where, "no secured connection with " + who + ": " + why.problem);
}

bool wait_for_line(const channel& line, short events, moment due) {
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

namespace {

channel connect(const endpoint& where, const dialled_peer& peer, milliseconds deadline) {
  const auto found = resolve(where, deadline);
  if (found.addresses.empty())
    throw failure(failure_code::missing_input, found.problem, to_string(where), peer.address_hint);
  std::string problem;
  for (const auto& address : found.addresses) {
    channel line{begin_connect(address, problem)};
    if (line.descriptor() < 0)
      continue;
    if (!wait_for_line(line, POLLOUT, moment::clock::now() + deadline))
      problem = "no connection within " + time_text(deadline);
    else if (const auto failed = line.connect_problem())
      problem = *failed;
    else
      return line;
  }
  peer.throw_silent(where, problem);
}

void secure(channel& line, const endpoint& where, const dialled_peer& peer, milliseconds deadline,
            const dial_security& security) {
  const auto due = moment::clock::now() + deadline;
  line.secure(load_tls(security.files, {}), tls_side::dials);
  using progress = tls_session::progress;
  for (int round = 0;; ++round) {
    const auto first = round == 1 ? line.first_byte() : std::nullopt; // of the first answer
    const bool is_plain = first && *first != tls_handshake_byte && *first != tls_alert_byte;
    const auto how = is_plain ? progress::failed : line.session()->shake_hands();
    if (is_plain || (how == progress::failed && round == 0 && line.session()->has_met_no_tls()))
      peer.throw_not_permitted(where, comes_secured(security.peer).reason);
    if (how == progress::failed)
      peer.throw_unsecured(where, line.session()->problem());
    if (how == progress::done)
      break;
    if (!wait_for_line(line, how == progress::wants_to_read ? POLLIN : POLLOUT, due))
      peer.throw_silent(where, "it has been silent for " + time_text(deadline));
  }
  const auto proof = admit_proof(security.peer, line.session()->peer_names());
  if (!proof.is_admitted())
    peer.throw_not_permitted(where, proof.reason);
}

} // namespace

channel dial(const endpoint& where, const dialled_peer& peer, milliseconds deadline,
             const std::optional<dial_security>& security) {
  auto line = connect(where, peer, deadline);
  if (security)
    secure(line, where, peer, deadline, *security);
  return line;
}

} // namespace troupe
