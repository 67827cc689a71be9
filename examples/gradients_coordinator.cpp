// Several models on their own data feed one main model.
//
// Three gardens each measured one species of iris, and none shows its flowers to the others. Each
// garden's model computes gradients on its own rows, at the parameters of the main model, and hands
// in nothing else; the coordinator waits for all three and moves the main model.
//
//   build/bin/example_gradients_coordinator [IRIS.csv]      default examples/data/iris.csv
//
// A garden that trains alone learns to say its one species whatever it sees: a third of all flowers
// is right. The main model tells the species apart, though no garden could. It prints:
//
//   garden 1: 50 flowers of species 0
//   garden 2: 50 flowers of species 1
//   garden 3: 50 flowers of species 2
//   before: loss 1.10
//   garden 1 alone: 33 % of all flowers right
//   main model: loss below 0.10: yes
//   main model: over 95 % right: yes

#include "troupe/coordinators/gradients_coordinator.hpp"
#include "troupe/data/batch_reader.hpp"
#include "troupe/data/csv.hpp"
#include "troupe/data/prepare.hpp"
#include "troupe/models/neural_network.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace {

// Each model has data and memory of its own.
struct garden {
  troupe::neural_network network;
  troupe::batch rows;
  troupe::workspace memory{};
};

// The recipe: each update is one round of gradients, one from each garden.
troupe::const_buffer train(std::vector<garden> gardens, size_t update_count) {
  troupe::gradients_coordinator_options options;
  options.optimizer.learning_rate = 0.5;
  options.optimizer.momentum = 0.9;
  options.round_size = gardens.size();
  troupe::gradients_coordinator coordinator{options};

  const troupe::buffer values{gardens.front().network.layout().size()};
  gardens.front().network.initialize(7, values.values());
  coordinator.set_parameters(values.values());
  coordinator.start();

  while (coordinator.update_count() < update_count)
    for (auto& [network, rows, memory] : gardens) {
      const auto main_model = coordinator.parameters(); // a snapshot
      const auto sums = network.gradient(main_model.values(), rows, values.values(), memory);
      // A gradient is a sum and travels with its number of samples: larger gardens weigh more.
      const auto verdict = coordinator.add_gradients(values.values(), sums.sample_count);
      if (verdict > troupe::gradient_verdict::queued)
        throw std::runtime_error(name_of(verdict));
    }
  return coordinator.parameters();
}

struct score {
  double loss;
  double percent_right;
};

score judge(garden everything, const troupe::const_buffer& parameters) {
  const auto sums =
    everything.network.evaluate(parameters.values(), everything.rows, everything.memory);
  const auto count = static_cast<double>(sums.sample_count);
  return {sums.loss_sum / count, 100 * static_cast<double>(sums.correct_count) / count};
}

void run(const std::string& path) {
  auto flowers = to_dataset(troupe::read_csv(path), troupe::target_use::labels);
  const auto data = prepare(std::move(flowers), {.standardize = true}).train;
  troupe::neural_network_options shape; // without hidden layers: softmax regression
  shape.features = data.feature_count;
  shape.outputs = data.classes.size();
  shape.initialization = troupe::initialization_kind::zero;
  const troupe::neural_network network{shape};
  std::vector<garden> gardens; // the file holds one species after the other
  for (size_t first = 0; first < data.row_count; first += 50) {
    gardens.push_back({network, batch_of_rows(data, first, 50)});
    std::printf("garden %zu: 50 flowers of species %d\n", gardens.size(), data.labels[first]);
  }
  const garden everything{network, batch_of_rows(data, 0, data.row_count)};
  const auto before = judge(everything, train(gardens, 0));
  const auto alone = judge(everything, train({gardens.front()}, 300));
  const auto after = judge(everything, train(gardens, 300));
  std::printf("before: loss %.2f\n", before.loss);
  std::printf("garden 1 alone: %.0f %% of all flowers right\n", alone.percent_right);
  std::printf("main model: loss below 0.10: %s\n", after.loss < 0.1 ? "yes" : "no");
  std::printf("main model: over 95 %% right: %s\n", after.percent_right > 95 ? "yes" : "no");
}

} // namespace

int main(int count, char** values) try {
  run(count > 1 ? values[1] : "examples/data/iris.csv");
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
