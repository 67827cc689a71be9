#include "actors/net/names/networked_names.hpp"

#include "actors/net/gate/gate.hpp"
#include "actors/net/links/peer_process.hpp"
#include "actors/net/names/name_directory.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

/// Time for the directory to end; it has nothing to wait for.
constexpr milliseconds directory_stop_deadline{5'000};

/// Maximum bytes of the nodes' names, so that they fit in a hello.
constexpr size_t plan_bytes_max = 10'000;

/// The facts that all processes must share, a line each.
std::string names_words(const cluster_plan& plan) {
  std::string result = "names = of " + std::to_string(plan.nodes.size()) + " processes";
  for (size_t k = 0; k < plan.nodes.size(); ++k)
    result += "\nprocess " + std::to_string(k) + " = " + plan.nodes[k].name;
  if (result.size() > plan_bytes_max)
    throw failure(failure_code::bad_job, "the names of the nodes are too long together", "cluster",
                  "use fewer nodes, or shorter names");
  return result;
}

} // namespace

struct networked_names::parts {
  parts(caf::actor_system& host, networked_names_options given)
    : options(std::move(given)), system(host) {}

  // Other processes still hold handles of the directory, so it would not end by itself.
  ~parts() {
    gate_.reset(); // first: it calls the directory
    if (!directory)
      return;
    caf::scoped_actor self{system};
    self->monitor(directory);
    self->send_exit(directory, caf::exit_reason::user_shutdown);
    self->receive([](const caf::down_msg&) {}, caf::after(directory_stop_deadline) >> [] {});
  }

  void start();

  networked_names_options options;
  caf::actor_system& system;
  local_name_directory_actor directory;
  std::shared_ptr<gate> gate_;
};

void networked_names::parts::start() {
  gate_ = std::make_shared<gate>(peer_gate(
    system, {options.cluster, options.own_name, options.tls, names_words(options.cluster)}));
  // The directory may outlive the gate for a moment.
  const std::weak_ptr<gate> way = gate_;
  name_directory_options for_directory;
  for_directory.plan = options.cluster;
  for_directory.own_name = options.own_name;
  for_directory.answer = [way](uint64_t ticket, const verdict& what) {
    if (const auto here = way.lock())
      here->answer(ticket, what);
  };
  for_directory.dial_again = [way](const std::string& name) {
    if (const auto here = way.lock())
      here->dial_again(name);
  };
  directory = system.spawn(name_directory, for_directory);
  gate_->start(
    [to = directory](gate_news news) { caf::anon_send(to, gate_event{std::move(news)}); });
}

networked_names::networked_names(caf::actor_system& system, networked_names_options options) {
  expect_peer(system, options.cluster, options.own_name);
  parts_ = std::make_unique<parts>(system, std::move(options));
  parts_->start();
}

networked_names::~networked_names() = default;

uint16_t networked_names::port() const {
  return parts_->gate_->port();
}

void networked_names::publish(const std::string& name, const caf::actor& which) {
  if (name.empty() || name.size() > actor_name_bytes_max)
    throw std::invalid_argument("the name of an actor has 1 to 64 bytes, not " +
                                std::to_string(name.size()));
  if (!which || which.node() != parts_->system.node())
    throw std::invalid_argument("only an actor of this process can be published as " +
                                shown_text(name));
  caf::anon_send(parts_->directory, caf::publish_atom_v, named_actor{name, which});
}

void networked_names::follow(const std::string& name, const caf::actor& listener) {
  if (!listener)
    throw std::invalid_argument("no actor is given that follows " + shown_text(name));
  caf::anon_send(parts_->directory, atom::watch_v, named_actor{name, listener});
}

caf::actor networked_names::find(const std::string& name, milliseconds deadline) {
  caf::scoped_actor self{parts_->system};
  std::string not_reached;
  // What the directory knows comes before its answer, so that a short deadline is long enough for it.
  const auto ask = [&] {
    self
      ->request(parts_->directory, caf::infinite, atom::watch_v,
                named_actor{name, caf::actor{self}})
      .receive([&](const std::string& who) { not_reached = who; },
               [&](const caf::error& why) { not_reached = parts_->system.render(why); });
  };
  ask();
  caf::actor result;
  self->receive(
    [&](atom::found, const std::string&, const caf::strong_actor_ptr& which) {
      result = caf::actor_cast<caf::actor>(which);
    },
    caf::after(deadline) >> ask);
  if (!result)
    throw failure(failure_code::unavailable,
                  "no actor called " + shown_text(name) + " was found within " +
                    std::to_string(deadline.count()) + " ms" +
                    (not_reached.empty() ? "" : "; not reached: " + not_reached),
                  parts_->options.own_name,
                  "start the process that publishes it, with the same plan");
  return result;
}

} // namespace troupe
