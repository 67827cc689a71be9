// An application without actors: rows of its own, a model, two coordinators' worth of decisions. It prints the main
// model's parameters.

#include <troupe/coordinators.hpp>
#include <troupe/data.hpp>
#include <troupe/kinds.hpp>
#include <troupe/model_files.hpp>

#include <iostream>
#include <vector>

#ifdef CAF_VERSION
#error "headers of the component core include CAF"
#endif

int main() {
  troupe::neural_network_options shape;
  shape.features = 1;
  shape.outputs = 1;
  shape.loss = troupe::loss_kind::squared;
  const troupe::neural_network line{shape};

  troupe::gradients_coordinator coordinator{{.optimizer = {.learning_rate = 0.1}, .round_size = 2}};
  coordinator.set_parameters(std::vector<float>(2));
  coordinator.start();
  troupe::workspace memory;
  for (int round = 0; round < 200; ++round)
    for (const float x : {-1.0f, 1.0f}) { // each child has a row of its own of y = 3 x + 1
      const std::vector<float> features{x}, targets{3 * x + 1};
      std::vector<float> gradient(2);
      troupe::batch rows;
      rows.row_count = 1;
      rows.features = features;
      rows.targets = targets;
      const auto sums = line.gradient(coordinator.parameters().values(), rows, gradient, memory);
      coordinator.add_gradients(gradient, sums.sample_count);
    }
  std::cout << coordinator.parameters().values()[0] << ' ' << coordinator.parameters().values()[1]
            << '\n';
}
