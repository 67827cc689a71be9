#include "actors/net/gate/gate.hpp"

#include "actors/net/gate/gate_loop.hpp"
#include "data/text/failure.hpp"

#include <utility>

namespace troupe {

namespace {

/// Deadline for resolving the address to listen on, which is usually numeric.
constexpr milliseconds listen_lookup_deadline{5'000};

void expect_private(const socket_address& where, bool may_be_public) {
  if (!where.is_loopback() && !may_be_public)
    throw failure(failure_code::bad_job,
                  "will not listen on " + where.text() +
                    ": other machines can reach it, and connections are not secured",
                  {},
                  "listen on 127.0.0.1, add [tls], or set insecure = true in a network you trust");
}

socket_address address_to_listen_on(const endpoint& where, bool may_be_public) {
  const auto found = resolve(where, listen_lookup_deadline);
  if (found.addresses.empty())
    throw failure(failure_code::missing_input,
                  "cannot listen on " + to_string(where) + ": " + found.problem, {},
                  "use a numeric address of this machine");
  expect_private(found.addresses.front(), may_be_public);
  return found.addresses.front();
}

owned_socket listener_of(const gate_options& options) {
  const bool may_be_public = options.plan.insecure || options.tls;
  if (options.inherited_listen_fd < 0)
    return listen_on(address_to_listen_on(options.listen, may_be_public));
  auto result = listen_on_inherited(options.inherited_listen_fd);
  expect_private(bound_address_of(result), may_be_public);
  return result;
}

} // namespace

gate::gate(gate_options options) {
  auto listener = listener_of(options);
  port_ = port_of(listener);
  if (!options.plan.lists(options.facts.node) && options.facts.address.empty())
    options.facts.address = ":" + std::to_string(port_);
  loop_ = std::make_unique<gate_loop>(std::move(options), std::move(listener));
}

gate::~gate() = default;

void gate::start(std::function<void(gate_news)> tell) {
  loop_->start(std::move(tell));
}

void gate::answer(uint64_t ticket, const verdict& what) {
  loop_->post([ticket, what](gate_loop& here) { here.on_answer(ticket, what); });
}

void gate::answer_visit(uint64_t ticket, const std::string& line) {
  loop_->post([ticket, line](gate_loop& here) { here.on_visit_answer(ticket, line); });
}

void gate::dial_again(const std::string& name) {
  loop_->post([name](gate_loop& here) { here.dials().on_lost(name, moment::clock::now()); });
}

void gate::dial_now(const std::string& name, const endpoint& where) {
  loop_->post([name, where](gate_loop& here) {
    here.dials().on_there({name, where}, moment::clock::now());
  });
}

void gate::forget(const std::string& name) {
  loop_->post([name](gate_loop& here) { here.dials().on_gone(name); });
}

void gate::dial_carrier(const std::string& name, uint64_t token) {
  loop_->post([name, token](gate_loop& here) {
    here.dials().on_carrier_wanted(name, token, moment::clock::now());
  });
}

void gate::close(const verdict& over) {
  loop_->post([over](gate_loop& here) { here.on_over(over); });
}

void gate::see_term(uint64_t term) {
  loop_->post([term](gate_loop& here) { here.on_term(term); });
}

} // namespace troupe
