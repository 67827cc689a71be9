// A member of a coordinator written by hand, in CAF and xtensor: it joins, asks for work, and hands in gradients of a
// straight line through rows of its own. The coordinator does not know what it computes. It prints:
//
//   weights 2.00 -1.00, bias 0.50

#include <troupe/coordinator_actors.hpp>
#include <troupe/kinds.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <xtensor/xbuilder.hpp>
#include <xtensor/xrandom.hpp>
#include <xtensor/xview.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>

namespace {

using namespace troupe;
using namespace std::chrono_literals;

class gardener : public caf::event_based_actor {
public:
  gardener(caf::actor_config& config, coordinator_actor main, std::string name,
           const xt::xtensor<float, 2>& x)
    : event_based_actor(config), main_(std::move(main)), name_(std::move(name)), x_(x) {
    y_ = 2.0f * xt::view(x_, xt::all(), 0) - xt::view(x_, xt::all(), 1) + 0.5f;
  }

  caf::behavior make_behavior() override {
    join();
    return {[this](atom::tick) { join(); }};
  }

private:
  void join() {
    request(main_, 10s, atom::join_v, name_, caf::actor_cast<caf::actor>(this))
      .then([this](const membership& place) { pull(place); },
            [this](const caf::error&) { delayed_send(this, 1s, atom::tick_v); });
  }

  void pull(const membership& place) {
    request(main_, 10s, atom::pull_v, place)
      .then([this, place](const member_work& work) { on_work(place, work); },
            [this](const caf::error&) { join(); }); // in a life of its own
  }

  void on_work(const membership& place, const member_work& work) {
    if (work.verdict == work_verdict::over)
      return quit();
    if (work.verdict == work_verdict::join_again)
      return join();
    if (work.verdict == work_verdict::go) { // else it has to wait, and asks again
      const auto values = work.parameters.values();
      const auto weights = xt::adapt(values.data(), 2, xt::no_ownership(), std::array{2UL});
      const xt::xtensor<float, 1> error = xt::sum(x_ * weights, 1) + values[2] - y_;
      const xt::xtensor<float, 1> slopes =
        2.0f * xt::sum(x_ * xt::view(error, xt::all(), xt::newaxis()), 0);
      const xt::xtensor<float, 1> slope{2.0f * xt::sum(error)()};
      const auto sum = buffer_of(xt::concatenate(xt::xtuple(slopes, slope)));
      request(main_, 10s, member_update{place, work.ticket, payload{sum, 0, sum.size()}, y_.size()})
        .then([](const update_report&) {}, [](const caf::error&) {});
    }
    pull(place);
  }

  coordinator_actor main_;
  std::string name_;
  xt::xtensor<float, 2> x_;
  xt::xtensor<float, 1> y_;
};

} // namespace

int main() try {
  caf::actor_system_config config;
  configure(config);
  caf::actor_system system{config};
  asynchronous_options rule; // each gradient is a step
  rule.gradients.optimizer.learning_rate = 0.1;
  coordinator_options options;
  options.members = {.rule = rule, .members_min = 3};
  options.initial = buffer_of(xt::zeros<float>({3}));
  const auto main = system.spawn(coordinate, options);
  for (const auto* name : {"north", "east", "south"})
    system.spawn<gardener>(main, name, xt::random::randn<float>({50, 2}));
  caf::scoped_actor self{system};
  parameter_span model;
  self->monitor(main);
  self->send(main, atom::watch_v, caf::actor_cast<model_listener_actor>(self));
  while (model.version < 500)
    self->receive(
      [&](const parameter_span& news) { model = news; },
      [](const caf::down_msg&) { throw std::runtime_error{"the coordinator has ended"}; });
  const auto found = model.values.values();
  std::printf("weights %.2f %.2f, bias %.2f\n", found[0], found[1], found[2]);
  self->request(main, caf::infinite, atom::stop_v)
    .receive([](uint64_t) {}, [](const caf::error&) {});
  caf::anon_send_exit(main, caf::exit_reason::user_shutdown);
} catch (const std::exception& problem) {
  return std::fprintf(stderr, "%s\n", problem.what()), 1;
}
