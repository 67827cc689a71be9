// Clients' work and what federated rounds make of it, against the papers' formulas in NumPy.

#include "actors/tasks/trainer.hpp"

#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"
#include "tests/support/models.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace troupe::client_work_test {
namespace {

using test::flat;
using test::load_reference;

dataset rows_of(const nlohmann::json& reference) {
  dataset result;
  result.features = flat<float>(reference.at("rows"));
  result.targets = flat<float>(reference.at("targets"));
  result.row_count = result.targets.size();
  result.feature_count = 3;
  result.target_count = 1;
  return result;
}

client_rows clients_of(const nlohmann::json& reference) {
  client_rows result;
  result.offsets = flat<uint32_t>(reference.at("offsets"));
  result.rows.resize(result.offsets.back());
  std::iota(result.rows.begin(), result.rows.end(), 0u);
  return result;
}

federated_options options_of(const nlohmann::json& expected, const nlohmann::json& reference) {
  federated_options options;
  options.cohort.cohort_size = reference.at("offsets").size() - 1;
  options.cohort.schedule = {1000, 1, reference.at("steps").get<uint64_t>()};
  options.proximal = expected.at("proximal").get<double>();
  const auto& outer = expected.at("outer");
  options.outer.kind = *from_name<outer_kind>(outer.at("kind").get<std::string>());
  if (outer.contains("learning_rate"))
    options.outer.learning_rate = outer.at("learning_rate").get<double>();
  options.outer.momentum = outer.value("momentum", 0.0);
  return options;
}

struct small_federation {
  small_federation(const nlohmann::json& expected, const nlohmann::json& reference)
    : clients(
        std::make_shared<const federation>(options_of(expected, reference), clients_of(reference))),
      rounds(clients->options(), clients->rows().offsets, clients->client_count()),
      models(span_options_of(clients->options(), clients->rows().client_count()),
             test::buffer_of(flat<float>(reference.at("start")))) {
    neural_network_options network;
    network.features = 3;
    network.outputs = 1;
    network.loss = loss_kind::squared;
    optimizer_options plain;
    plain.learning_rate = reference.at("rate").get<double>();
    client_work_options options;
    options.clients = clients;
    options.rows =
      std::make_shared<const rows_in_memory>(std::make_shared<const dataset>(rows_of(reference)));
    options.training = {std::make_shared<const neural_network>(network),
                        make_optimizer(plain),
                        {},
                        clients->options().proximal};
    options.pool = std::make_shared<buffer_pool>(4);
    work.emplace(options);
  }

  closed_round train(uint64_t round, size_t piece_size) {
    rounds.open(round, clients->cohort_at(round), piece_size);
    for (size_t i = 0; i < rounds.pieces().size(); ++i) {
      work->begin(round, 0, rounds.pieces()[i].positions, models.parameters());
      while (work->advance()) {
      }
      auto done = work->take();
      models.take(rounds.finish(i, done.figures, done.sums.correct_count),
                  {done.low, optimizer_state{std::vector<buffer>{done.high}}});
    }
    const auto result = rounds.close();
    EXPECT_TRUE(models.close({.kind = entry_kind::close, .round = round + 1}));
    return result;
  }

  std::shared_ptr<const federation> clients;
  federated_rounds rounds;
  merged_span models;
  std::optional<client_work> work;
};

TEST(client_work, follows_the_papers_round_by_round) {
  const auto reference = load_reference("federated.json");
  const auto& cases = reference.at("cases");
  EXPECT_EQ(cases.size(), 6u);
  for (const auto& [name, expected] : cases.items())
    for (const size_t piece_size : {1u, 3u, 4u}) {
      small_federation run{expected, reference};
      const auto& after = expected.at("after");
      for (size_t round = 0; round < after.size(); ++round) {
        const auto closed = run.train(round, piece_size);
        EXPECT_FALSE(closed.record.is_void);
        EXPECT_EQ(closed.record.counted, 4u);
        EXPECT_EQ(closed.record.rows, 3 * 24u) << "each row in each of three steps";
        const auto model = flat<float>(after.at(round));
        const auto found = run.models.main_parameters().values();
        for (size_t i = 0; i < model.size(); ++i)
          EXPECT_NEAR(found[i], model[i], 2e-6) << name << ", round " << round << ", " << i;
      }
    }
}

TEST(client_work, a_client_does_the_same_wherever_it_is_done) {
  const auto reference = load_reference("federated.json");
  const auto& plain = reference.at("cases").at("fedavg");
  small_federation whole{plain, reference}, one_by_one{plain, reference};
  for (uint64_t round = 0; round < 3; ++round) {
    whole.train(round, 100);
    one_by_one.train(round, 1);
    EXPECT_EQ(test::values_of(whole.models.main_parameters()),
              test::values_of(one_by_one.models.main_parameters()));
  }
}

} // namespace
} // namespace troupe::client_work_test
