// fit, predict, score: a model of irises in a few lines, without actors.
//
//   build/bin/example_estimator [IRIS.csv]      default examples/data/iris.csv
//
// Every third flower is for testing. `troupe predict`, `troupe evaluate` and `troupe inspect` read
// the model file it saves. It prints:
//
//   over 90 % of 50 test flowers right: yes
//   a flower of 5.1 x 3.5, 1.4 x 0.2 cm is of species 0
//   the saved model says the same: yes

#include <troupe/data.hpp>
#include <troupe/estimator.hpp>

#include <cstdio>
#include <exception>

namespace {

struct flowers {
  std::vector<float> features;
  std::vector<int32_t> species;

  troupe::matrix_view view() const { return {features, species.size(), 4}; }
};

void run(const std::string& path) {
  const auto data = to_dataset(troupe::read_csv(path), troupe::target_use::labels);
  flowers train, test;
  for (size_t i = 0; i < data.row_count; ++i) {
    auto& part = i % 3 == 0 ? test : train;
    part.features.insert(part.features.end(), data.row(i).begin(), data.row(i).end());
    part.species.push_back(data.labels[i]);
  }

  troupe::estimator_options options;
  options.model.hidden = {16};
  options.optimizer.learning_rate = 0.01;
  options.training.epochs = 60;
  troupe::estimator model{options};
  model.fit(train.view(), train.species);

  const char* good = model.score(test.view(), test.species) > 0.9 ? "yes" : "no";
  std::printf("over 90 %% of %zu test flowers right: %s\n", test.species.size(), good);
  const flowers one{{5.1f, 3.5f, 1.4f, 0.2f}, {0}};
  const auto guess = model.predict_labels(one.view());
  std::printf("a flower of 5.1 x 3.5, 1.4 x 0.2 cm is of species %d\n", guess[0]);

  model.save("iris.safetensors");
  const auto saved = troupe::estimator::load("iris.safetensors").predict_labels(one.view());
  std::printf("the saved model says the same: %s\n", saved == guess ? "yes" : "no");
}

} // namespace

int main(int count, char** values) try {
  run(count > 1 ? values[1] : "examples/data/iris.csv");
} catch (const std::exception& problem) {
  return std::fprintf(stderr, "%s\n", problem.what()), 1;
}
