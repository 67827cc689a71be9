// An actor of an application starts training in its own actor system, hears how it goes while it does other things, and
// then uses the model. It prints:
//
//   epoch 10: over 95 % of the test digits are read right
//   epoch 20: over 95 % of the test digits are read right
//   row 0 is a 0, the model reads 0
//   row 1 is a 1, the model reads 1
//   row 2 is a 2, the model reads 2
//
// Run it from the folder that holds examples/, or name a file like examples/data/digits.csv.gz.

#include <troupe/data.hpp>
#include <troupe/estimator.hpp>
#include <troupe/train.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>

#include <iostream>

namespace {

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

// A fitted model takes rows as they stand in the file, and scales them itself.
void predict_some(const troupe::fitted_model& model, const std::string& file) {
  const auto digits = to_dataset(troupe::read_csv(file), troupe::target_use::labels);
  const auto read = model.predict_labels(troupe::matrix_view{
    std::span{digits.features}.first(3 * digits.feature_count), 3, digits.feature_count});
  for (size_t i = 0; i < read.size(); ++i)
    std::cout << "row " << i << " is a " << digits.classes[digits.labels[i]] << ", the model reads "
              << digits.classes[read[i]] << '\n';
}

// `start_training` returns at once. The run is an actor, too: atom::stop would end it.
caf::behavior owner(caf::event_based_actor* self, const std::string& file) {
  start_training(self->system(), digits_job(file), self);
  return {[](const troupe::training_progress& news) {
            if (const auto& row = news.finished_epoch; row && row->epoch % 10 == 0)
              std::cout << "epoch " << row->epoch
                        << (*row->test_accuracy > 0.95 ? ": over" : ": NOT over")
                        << " 95 % of the test digits are read right\n";
          },
          [self, file](const troupe::training_end& end) {
            if (end.problem)
              std::cerr << end.problem->what() << '\n';
            else
              predict_some(troupe::fitted_model{*end.result}, file);
            self->quit();
          }};
}

} // namespace

int main(int count, char** values) {
  caf::actor_system_config config;
  troupe::configure(config);
  caf::actor_system system{config};
  system.spawn(owner, std::string{count > 1 ? values[1] : "examples/data/digits.csv.gz"});
} // the system waits for its actors
