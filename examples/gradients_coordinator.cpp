// Several models on their own data feed one main model.
//
// Three gardens each measured one species of iris, and share no rows. Each garden's model computes
// gradients on its own rows, at the parameters of the main model, and sends nothing else. The
// coordinator waits for all three and updates the main model.
//
//   build/bin/example_gradients_coordinator [IRIS.csv]      default examples/data/iris.csv
//
// A garden alone knows one species only; the main model tells all species apart. It prints:
//
//   garden 1: 50 flowers of species 0
//   garden 2: 50 flowers of species 1
//   garden 3: 50 flowers of species 2
//   loss before: 1.10
//   garden 1 alone: over 95 % of all flowers right: no
//   main model: over 95 % of all flowers right: yes
//   main model: loss below 0.10: yes

#include <troupe/coordinators.hpp>
#include <troupe/data.hpp>
#include <troupe/kinds.hpp>

#include <cstdio>
#include <stdexcept>

namespace {

// Each model has data and memory of its own.
struct garden {
  troupe::neural_network network;
  troupe::batch rows;
  troupe::workspace memory{};
};

// The recipe: each update is one round of gradients, one from each garden.
troupe::const_buffer train(std::vector<garden> gardens, size_t update_count) {
  using enum troupe::gradient_verdict;
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
      if (verdict != applied && verdict != queued)
        throw std::runtime_error(name_of(verdict));
    }
  return coordinator.parameters();
}

void print_accuracy(const char* who, const troupe::batch_sums& sums) {
  const bool good = 100 * sums.correct_count > 95 * sums.sample_count;
  std::printf("%s: over 95 %% of all flowers right: %s\n", who, good ? "yes" : "no");
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
  const auto everything = batch_of_rows(data, 0, data.row_count);
  troupe::workspace memory;
  const auto judge = [&](const troupe::const_buffer& parameters) {
    return network.evaluate(parameters.values(), everything, memory);
  };
  const auto before = judge(train(gardens, 0));
  const auto after = judge(train(gardens, 300));
  std::printf("loss before: %.2f\n", before.loss_sum / 150);
  print_accuracy("garden 1 alone", judge(train({gardens.front()}, 300)));
  print_accuracy("main model", after);
  std::printf("main model: loss below 0.10: %s\n", after.loss_sum / 150 < 0.1 ? "yes" : "no");
}

} // namespace

int main(int count, char** values) try {
  run(count > 1 ? values[1] : "examples/data/iris.csv");
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
