// Two processes learn one model from rows that each has in memory, and neither sees the other's. Links are secured: in an
// empty folder run `troupe certs ca`, `troupe certs issue north` and `troupe certs issue south`. Then, there, both of
//
//   example_own_rows north ADDRESS_OF_NORTH ADDRESS_OF_SOUTH        such as 127.0.0.1:7401 127.0.0.1:7402
//   example_own_rows south ADDRESS_OF_NORTH ADDRESS_OF_SOUTH
//
// It prints:
//
//   y = 2.00 x + 1.00
//   finished

#include <troupe/node.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

// North's x are from 0 to 1, south's from 1 to 1.5.
troupe::dataset rows_of(bool is_north) {
  troupe::dataset rows;
  rows.row_count = is_north ? 100 : 50;
  rows.feature_count = rows.target_count = 1;
  rows.feature_names = {"x"};
  rows.target_names = {"y"};
  for (size_t i = 0; i < rows.row_count; ++i) {
    rows.features.push_back(static_cast<float>(i + (is_north ? 0 : 100)) / 100);
    rows.targets.push_back(2 * rows.features.back() + 1);
  }
  return rows;
}

int main(int argc, char** argv) try {
  const std::string name =
    argc == 4 ? argv[1] : throw std::invalid_argument{"NAME ADDRESS ADDRESS"};
  troupe::cluster_plan plan;
  plan.nodes = {{"north", argv[2], "", true, 1, 1}, {"south", argv[3], "", false, 1, 1}};
  plan.nodes[0].holds_rows = plan.nodes[1].holds_rows = true;
  troupe::job job;
  job.model.kind = troupe::model_kind::linear_regression;
  job.model.loss = troupe::loss_kind::squared;
  job.optimizer.learning_rate = 0.5;
  job.training.batch_size = 30;
  job.training.epochs = 100;
  troupe::take_part_options options;
  options.rows = rows_of(name == "north");
  options.tls = {"ca.pem", name + ".pem", name + ".key"};
  caf::actor_system_config config;
  troupe::configure_node(config, plan.timeouts);
  caf::actor_system system{config};
  const auto end = troupe::take_part(system, job, plan, name, options);
  if (!end.training)
    return std::puts(end.reason.c_str()) < 0;
  const auto line = end.training->parameters.values();
  std::printf("y = %.2f x + %.2f\n", line[0], line[1]);
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
