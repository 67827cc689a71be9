// An application trains a model inside its own actor system, reports progress by an actor and
// messages of its own, and then uses the model. It prints:
//
//   epoch 10: over 95 % of the test digits are read right
//   epoch 20: over 95 % of the test digits are read right
//   the reporter heard of 20 epochs
//   test row 0 is a 0, the model reads 0
//   test row 1 is a 5, the model reads 5
//   test row 2 is a 8, the model reads 8
//
// Run it from the folder that holds examples/, or name a file like examples/data/digits.csv.gz.

#include <troupe/train.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>

struct epoch_done {
  uint64_t epoch = 0;
  bool good = false;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, epoch_done& x) {
  return f(x.epoch, x.good);
}

// Counts epochs; answers with the number of epochs so far.
using reporter_actor =
  caf::typed_actor<caf::reacts_to<epoch_done>, caf::replies_to<caf::get_atom>::with<uint64_t>>;

CAF_BEGIN_TYPE_ID_BLOCK(app_messages, troupe::first_free_type_id)
CAF_ADD_TYPE_ID(app_messages, (epoch_done))
CAF_ADD_TYPE_ID(app_messages, (reporter_actor))
CAF_END_TYPE_ID_BLOCK(app_messages)

namespace {

struct heard_count {
  uint64_t epochs = 0;
};

reporter_actor::behavior_type reporter(reporter_actor::stateful_pointer<heard_count> self) {
  return {[self](const epoch_done& x) {
            if (++self->state.epochs % 10 == 0)
              std::cout << "epoch " << x.epoch << (x.good ? ": over" : ": NOT over")
                        << " 95 % of the test digits are read right\n";
          },
          [self](caf::get_atom) { return self->state.epochs; }};
}

troupe::job digits_job(const std::string& file) {
  troupe::job x;
  x.name = "digits";
  x.seed = 6;
  x.data.file = file;
  x.data.test_fraction = 0.25;
  x.data.standardize = true;
  x.model.hidden = {128};
  x.optimizer.kind = troupe::optimizer_kind::adam;
  x.training.batch_size = 64;
  x.training.slices = 4;
  x.training.epochs = 20;
  return x;
}

void predict_some(const troupe::training_result& result) {
  const auto& test = result.data->test; // its features are standardised already
  const auto network = make_model(result.resolved, shape_of(*result.data));
  troupe::workspace memory;
  std::vector<float> probabilities(network->output_count());
  for (size_t i = 0; i < 3; ++i) {
    network->predict(result.parameters.values(), test.row(i), probabilities, memory);
    const auto likeliest = std::ranges::max_element(probabilities) - probabilities.begin();
    std::cout << "test row " << i << " is a " << test.classes[test.labels[i]]
              << ", the model reads " << test.classes[likeliest] << '\n';
  }
}

void run(const std::string& file) {
  caf::actor_system_config config;
  troupe::configure(config);
  config.add_message_types<caf::id_block::app_messages>();
  caf::actor_system system{config};
  const auto listener = system.spawn(reporter);

  troupe::train_options options;
  options.on_progress = [&](const troupe::training_progress& news) {
    if (const auto& row = news.finished_epoch)
      caf::anon_send(listener, epoch_done{row->epoch, *row->test_accuracy > 0.95});
  };
  const auto result = train(system, digits_job(file), options);

  caf::scoped_actor self{system};
  self->request(listener, std::chrono::seconds{10}, caf::get_atom_v)
    .receive([](uint64_t n) { std::cout << "the reporter heard of " << n << " epochs\n"; },
             [](const caf::error&) { throw std::runtime_error("the reporter is lost"); });
  predict_some(result);
}

} // namespace

int main(int count, char** values) try {
  run(count > 1 ? values[1] : "examples/data/digits.csv.gz");
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
