// Several models train on their own data, and are merged into one main model every few pushes.
//
// Three gardens each measured some irises, most of them of one species, a few of the others, and
// share no rows. Each garden trains a model of its own for a while and pushes its parameters. After
// every three pushes the coordinator merges exactly those three, weighted by their flowers, into
// the main model, from which all gardens continue.
//
//   build/bin/example_parameters_coordinator [IRIS.csv]      default examples/data/iris.csv
//
// It prints:
//
//   garden 1: 50 flowers
//   garden 2: 50 flowers
//   garden 3: 50 flowers
//   pushes: 60, merges: 20
//   garden 1 alone: over 90 % of all flowers right: no
//   main model: over 90 % of all flowers right: yes

#include <troupe/coordinators.hpp>
#include <troupe/data.hpp>
#include <troupe/kinds.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int push_count = 60, steps_between_pushes = 20;
constexpr float learning_rate = 0.2f;

// Each model has data and memory of its own.
struct garden {
  troupe::neural_network network;
  troupe::batch_reader reader{};
  troupe::batch rows{};
  troupe::workspace memory{};

  // Starts from the main model, and returns the trained one.
  troupe::const_buffer train(const troupe::const_buffer& main_model) {
    const troupe::buffer values{main_model.size()}, gradient{main_model.size()};
    std::ranges::copy(main_model.values(), values.values().begin());
    for (int step = 0; step < steps_between_pushes; ++step) {
      const auto sums = network.gradient(values.values(), rows, gradient.values(), memory);
      const float rate = learning_rate / static_cast<float>(sums.sample_count);
      for (size_t i = 0; i < values.size(); ++i)
        values.values()[i] -= rate * gradient.values()[i];
    }
    return values;
  }
};

// The recipe: each push is a model; three of them make the next main model.
troupe::const_buffer train(std::vector<garden>& gardens, bool report) {
  using enum troupe::parameters_verdict;
  troupe::parameters_coordinator_options options;
  options.threshold = gardens.size();
  options.merge.rule = troupe::merge_rule::weighted;
  options.merge.weighting = troupe::merge_weighting::samples; // larger gardens weigh more
  troupe::parameters_coordinator coordinator{options};
  const troupe::buffer zeros{gardens.front().network.layout().size()};
  coordinator.set_parameters(zeros.values());
  const troupe::moment now{}; // the number of pushes ends a round here, not time
  for (size_t push = 0; push < push_count; ++push) {
    const auto who = push % gardens.size();
    troupe::merge_entry entry;
    entry.child = who;
    entry.values = gardens[who].train(coordinator.main_parameters());
    entry.sample_count = gardens[who].rows.row_count;
    const auto outcome = coordinator.add_parameters(std::move(entry), now);
    if (outcome.verdict != waits && outcome.verdict != merged)
      throw std::runtime_error(outcome.reason);
  }
  if (report)
    std::printf("pushes: %d, merges: %d\n", push_count,
                static_cast<int>(coordinator.round_count()));
  return coordinator.main_parameters();
}

// Nine of ten flowers grow where their species does, the tenth anywhere.
std::vector<garden> gardens_of(const troupe::dataset& data, const troupe::neural_network& network) {
  std::vector<std::vector<uint32_t>> rows(3);
  for (uint32_t i = 0; i < data.row_count; ++i)
    rows[i % 10 == 9 ? i / 10 % 3 : static_cast<size_t>(data.labels[i])].push_back(i);
  std::vector<garden> gardens(3, garden{network});
  for (size_t g = 0; g < gardens.size(); ++g) {
    gardens[g].rows = gardens[g].reader.gather(data, rows[g]);
    std::printf("garden %zu: %zu flowers\n", g + 1, gardens[g].rows.row_count);
  }
  return gardens;
}

void print_accuracy(const char* who, const troupe::batch_sums& sums) {
  const bool good = 100 * sums.correct_count > 90 * sums.sample_count;
  std::printf("%s: over 90 %% of all flowers right: %s\n", who, good ? "yes" : "no");
}

void run(const std::string& path) {
  auto flowers = to_dataset(troupe::read_csv(path), troupe::target_use::labels);
  const auto data = prepare(std::move(flowers), {.standardize = true}).train;
  troupe::neural_network_options shape; // without hidden layers: softmax regression
  shape.features = data.feature_count;
  shape.outputs = data.classes.size();
  const troupe::neural_network network{shape};
  auto gardens = gardens_of(data, network);
  const auto everything = batch_of_rows(data, 0, data.row_count);
  troupe::workspace memory;
  const auto main_model = train(gardens, true);
  gardens.resize(1, garden{network});
  const auto alone = train(gardens, false);
  print_accuracy("garden 1 alone", network.evaluate(alone.values(), everything, memory));
  print_accuracy("main model", network.evaluate(main_model.values(), everything, memory));
}

} // namespace

int main(int count, char** values) try {
  run(count > 1 ? values[1] : "examples/data/iris.csv");
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
