#include "actors/net/collective/networked_collective.hpp"

#include "actors/net/collective/collective_meeting.hpp"
#include "actors/net/gate/gate.hpp"
#include "actors/net/links/peer_process.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <utility>

namespace troupe {

namespace {

/// How long a member may take to confirm that all it has sent has come. It is longer than the
/// member's deadline for each of the others.
constexpr milliseconds stop_deadline{2 * collective_farewell_deadline};

void expect_members(const cluster_plan& plan) {
  for (const auto& node : plan.nodes)
    if (node.replica_count == 0)
      throw failure(failure_code::bad_job, "node " + shown_text(node.name) + " has no member",
                    "cluster", "give it replica_count >= 1, or leave it out");
}

/// The facts that all processes must share, a line each.
std::string words_of(const networked_collective_options& x) {
  std::string result = "collective = of " + std::to_string(x.rule.member_count) + " members";
  for (const auto& node : x.cluster.nodes)
    result += "\nmembers of " + node.name + " = " + std::to_string(node.replica_count);
  return result + "\none_stage_bytes_max = " + std::to_string(x.rule.one_stage_bytes_max) +
         "\npiece = " + std::to_string(x.rule.pieces.elements) +
         "\neager_pieces = " + std::to_string(x.rule.pieces.eager_pieces);
}

} // namespace

struct networked_collective::parts {
  parts(caf::actor_system& host, networked_collective_options given)
    : options(std::move(given)), system(host), self(host) {}

  ~parts() {
    for (const auto& one : members)
      self->request(one, stop_deadline, atom::stop_v)
        .receive([](atom::stop) {}, [](const caf::error&) {});
    if (carrying)
      carrying->settle(collective_farewell_deadline);
    gate_.reset(); // first: it calls the meeting
    for (const auto& one : members)
      end(one);
    if (meeting)
      end(meeting);
  }

  // Other processes still hold handles of these actors, so they would not end by themselves.
  template <class Handle>
  void end(const Handle& actor) {
    self->monitor(actor);
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    self->receive([](const caf::down_msg&) {}, caf::after(stop_deadline) >> [] {});
  }

  void start();

  networked_collective_options options;
  caf::actor_system& system;
  caf::scoped_actor self;
  std::vector<collective_member_actor> members;
  local_meeting_actor meeting;
  std::shared_ptr<part_carriers> carrying;
  std::shared_ptr<gate> gate_;
};

void networked_collective::parts::start() {
  options.rule.member_count = options.cluster.listed_replica_count();
  gate_ = std::make_shared<gate>(
    peer_gate(system, {options.cluster, options.own_name, options.tls, words_of(options)}));
  // The meeting, the carriers and the members may outlive the gate for a moment.
  const std::weak_ptr<gate> way = gate_;
  carrier_options for_carriers;
  for_carriers.choice = options.cluster.carrier;
  for_carriers.dial = [way](const std::string& name, uint64_t token) {
    if (const auto here = way.lock())
      here->dial_carrier(name, token);
  };
  carrying = std::make_shared<part_carriers>(system, options.own_name, std::move(for_carriers));
  carrying->start();
  meeting_options for_meeting;
  for_meeting.carrying = carrying;
  size_t first = 0;
  for (const auto& node : options.cluster.nodes) {
    if (node.name == options.own_name)
      for (size_t k = first; k < first + node.replica_count; ++k)
        members.push_back(system.spawn(
          collective_member, collective_member_options{options.rule, k,
                                                       [k, there = std::weak_ptr{carrying}](
                                                         size_t to, collective_part&& piece) {
                                                         if (const auto here = there.lock())
                                                           here->carry(k, to, std::move(piece));
                                                       }}));
    first += node.replica_count;
  }
  for_meeting.plan = options.cluster;
  for_meeting.own_name = options.own_name;
  for_meeting.members = members;
  for_meeting.answer = [way](uint64_t ticket, const verdict& what) {
    if (const auto here = way.lock())
      here->answer(ticket, what);
  };
  for_meeting.dial_again = [way](const std::string& name) {
    if (const auto here = way.lock())
      here->dial_again(name);
  };
  meeting = system.spawn(collective_meeting, for_meeting);
  gate_->start([to = meeting](gate_news news) { caf::anon_send(to, gate_event{std::move(news)}); });
}

networked_collective::networked_collective(caf::actor_system& system,
                                           networked_collective_options options) {
  expect_peer(system, options.cluster, options.own_name);
  expect_members(options.cluster);
  parts_ = std::make_unique<parts>(system, std::move(options));
  parts_->start();
}

networked_collective::~networked_collective() = default;

uint16_t networked_collective::port() const {
  return parts_->gate_->port();
}

std::vector<collective_member_actor> networked_collective::join() {
  std::string problem;
  parts_->self->request(parts_->meeting, caf::infinite, atom::begin_v)
    .receive([](atom::begin) {},
             [&](const caf::error& why) { problem = parts_->system.render(why); });
  if (!problem.empty())
    throw failure(failure_code::unavailable, "the collective did not meet: " + problem,
                  parts_->options.own_name,
                  "start all its processes with the same plan, or raise timeouts.join");
  return parts_->members;
}

} // namespace troupe
