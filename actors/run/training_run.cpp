#include "actors/run/training_run.hpp"

#include "actors/protocol/status_messages.hpp"

#include <caf/actor_system.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/send.hpp>

#include <exception>
#include <utility>

namespace troupe {

namespace {

struct started_run {
  job what;
  caf::actor observer;
  std::shared_ptr<const prepared_data> data;
  train_options options;
};

/// What the run has been told; `train` asks for it.
class mailbox_of_run {
public:
  explicit mailbox_of_run(caf::blocking_actor* self) : self_(self) {}

  void keep(const training_status& news) { newest_ = news; }

  /// Takes what has come.
  bool is_to_stop() {
    bool is_empty = false;
    while (!is_empty)
      self_->receive([this](atom::stop) { stops_ = true; },
                     [this](const caf::exit_msg&) { stops_ = true; },
                     [this](atom::status) { return newest_; },
                     caf::after(std::chrono::milliseconds{0}) >> [&] { is_empty = true; });
    return stops_;
  }

private:
  caf::blocking_actor* self_;
  training_status newest_;
  bool stops_ = false;
};

training_end trained(caf::blocking_actor* self, started_run& run) {
  mailbox_of_run mailbox{self};
  const auto given = run.options;
  run.options.stop_requested = [&] {
    return mailbox.is_to_stop() || (given.stop_requested && given.stop_requested());
  };
  run.options.on_status = [&](const training_status& news) {
    mailbox.keep(news);
    if (given.on_status)
      given.on_status(news);
  };
  run.options.on_progress = [&](const training_progress& news) {
    if (run.observer)
      caf::anon_send(run.observer, news);
    if (given.on_progress)
      given.on_progress(news);
  };
  try {
    auto& system = self->system();
    return {std::make_shared<const training_result>(
              run.data ? train(system, run.what, run.data, run.options)
                       : train(system, run.what, run.options)),
            {}};
  } catch (const failure& error) {
    return {nullptr, error};
  } catch (const std::exception& error) {
    return {nullptr, failure{failure_code::internal, error.what()}};
  }
}

} // namespace

caf::actor start_training(caf::actor_system& system, const job& x, const caf::actor& observer,
                          std::shared_ptr<const prepared_data> data, const train_options& options) {
  auto run = std::make_shared<started_run>(started_run{x, observer, std::move(data), options});
  return system.spawn<caf::detached>([run](caf::blocking_actor* self) {
    auto end = trained(self, *run);
    if (run->observer)
      caf::anon_send(run->observer, std::move(end));
  });
}

} // namespace troupe
