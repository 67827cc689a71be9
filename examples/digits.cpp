// The job of examples/digits.toml in code, trained in the program's own actor system. Run it from
// the folder that holds examples/. It prints:
//
//   030b3454522ea9c74ffaa26418c88861656fadbeb3510f415af4c482a8bb5052

#include <troupe/train.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <iostream>

int main() {
  caf::actor_system_config config;
  troupe::configure(config); // Troupe's message types and scheduler
  caf::actor_system system{config};
  troupe::job job;
  job.seed = 6;
  job.data.file = "examples/data/digits.csv.gz";
  job.data.test_fraction = 0.25;
  job.data.standardize = true;
  job.model.hidden = {128};
  job.optimizer.kind = troupe::optimizer_kind::adam;
  job.training.batch_size = 64;
  job.training.slices = 4;
  job.training.epochs = 20;
  std::cout << troupe::train(system, job).summary.parameters_sha256 << '\n';
}
