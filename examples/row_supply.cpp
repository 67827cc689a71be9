// Rows that are never all in memory: an application gives them part by part. Here they follow from a formula; a database, a
// simulation or a sensor would do as well.
//
//   build/bin/example_row_supply
//
// The first run trains for three epochs on a million rows, of which windows are in memory, shuffled. The second one trains
// on rows without an end, each once and in their order; 1,000 are an epoch. It prints:
//
//   of a million rows: y = 3.00 a - 1.00 b + 0.50
//   without an end: y = 3.00 a - 1.00 b + 0.50

#include <troupe/data.hpp>
#include <troupe/train.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <cstdio>
#include <exception>
#include <memory>

class readings : public troupe::row_supply {
public:
  explicit readings(uint64_t count, bool is_endless) : count_(count), is_endless_(is_endless) {}

  troupe::dataset form() const override {
    troupe::dataset rows;
    rows.feature_count = 2;
    rows.feature_names = {"a", "b"};
    rows.target_count = 1;
    rows.target_names = {"y"};
    return rows;
  }
  uint64_t row_count() const override { return count_; }
  bool is_endless() const override { return is_endless_; }
  // Any thread may ask, several at a time, and always for the same rows under the same numbers.
  void read(uint64_t begin, const troupe::row_room& out) const override {
    for (size_t i = 0; i < out.targets.size(); ++i) {
      const auto a = static_cast<float>((begin + i) * 7 % 101) / 101;
      const auto b = static_cast<float>((begin + i) * 11 % 103) / 103;
      out.features[2 * i] = a;
      out.features[2 * i + 1] = b;
      out.targets[i] = 3 * a - b + 0.5f;
    }
  }

private:
  uint64_t count_;
  bool is_endless_;
};

void learn(caf::actor_system& system, const char* what, troupe::job job,
           std::shared_ptr<const troupe::row_supply> rows) {
  job.model.kind = troupe::model_kind::linear_regression;
  job.model.loss = troupe::loss_kind::squared;
  job.optimizer.learning_rate = 0.2;
  const auto result = troupe::train(system, job, troupe::prepare_data(job, rows));
  const auto line = result.parameters.values();
  std::printf("%s: y = %.2f a - %.2f b + %.2f\n", what, line[0], -line[1], line[2]);
}

int main() try {
  caf::actor_system_config config;
  troupe::configure(config);
  caf::actor_system system{config};
  troupe::job job;
  job.data.shuffle = troupe::shuffle_kind::lanes;
  job.training.batch_size = 1000;
  job.training.epochs = 3;
  learn(system, "of a million rows", job, std::make_shared<readings>(1'000'000, false));
  job = {};
  job.training.batch_size = 100;
  job.training.epochs = 200;
  learn(system, "without an end", job, std::make_shared<readings>(1'000, true));
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
