// A job's coordinator and its members.

#include "actors/embed/coordinator.hpp"
#include "actors/embed/member_replica.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace troupe::job_members_test {
namespace {

job line_job() {
  auto x = test::small_job();
  x.model.hidden.clear();
  x.optimizer = {};
  x.optimizer.learning_rate = 0.5;
  x.data.test_fraction = 0;
  x.training.replicas = 2;
  x.training.slices = 2;
  return x;
}

/// What members come to that see all rows in one order, each.
std::vector<float> trained(const job& x, uint64_t versions) {
  test::real_system host{2};
  const auto data = load_data(x);
  const auto resolved = resolve(x, shape_of(*data), 1);
  const std::shared_ptr<const model> network = make_model(resolved, shape_of(*data));
  const auto main = host.system->spawn(coordinate, coordinator_of_job(resolved, *network));
  const auto rows = rows_of(data).train;
  for (const auto* name : {"a", "b"})
    host.system->spawn(replicate, replica_of_job(resolved, main, name, network, rows));
  caf::scoped_actor self{*host.system};
  parameter_span news;
  self->send(main, atom::watch_v, caf::actor_cast<model_listener_actor>(self));
  while (news.version < versions)
    self->receive([&](const parameter_span& next) { news = next; });
  self->request(main, caf::infinite, atom::stop_v)
    .receive([](uint64_t) {}, [](const caf::error&) {});
  caf::anon_send_exit(main, caf::exit_reason::user_shutdown);
  return {news.values.values().begin(), news.values.values().end()};
}

double loss_of(const job& x, const std::vector<float>& parameters) {
  const auto data = load_data(x);
  const auto network = make_model(resolve(x, shape_of(*data), 1), shape_of(*data));
  workspace memory;
  const auto sums =
    network->evaluate(parameters, batch_of_rows(data->train, 0, data->train.row_count), memory);
  return sums.loss_sum / static_cast<double>(sums.sample_count);
}

std::vector<float> initial_values(const job& x) {
  const auto data = load_data(x);
  const auto resolved = resolve(x, shape_of(*data), 1);
  const auto network = make_model(resolved, shape_of(*data));
  std::vector<float> values(network->layout().size());
  network->initialize(resolved.seed, values);
  return values;
}

TEST(job_members, learn_as_the_job_says) {
  const auto x = line_job();
  const auto before = loss_of(x, initial_values(x));
  EXPECT_LT(loss_of(x, trained(x, 60)), before / 2);
  auto apart = x;
  apart.training.strategy = strategy_kind::parameters;
  apart.training.members = 2;
  apart.training.local_steps = 3;
  EXPECT_LT(loss_of(x, trained(apart, 20)), before / 2);
}

TEST(job_members, leave_frozen_tensors_alone) {
  for (const auto strategy : {strategy_kind::gradients, strategy_kind::parameters}) {
    auto x = line_job();
    x.training.strategy = strategy;
    if (strategy == strategy_kind::parameters)
      x.training.members = 2;
    x.training.freeze = {"layers.0.weight"};
    x.optimizer.l2 = 0.1; // moves what has no gradient, too
    const auto values = trained(x, 5);
    const auto initial = initial_values(x);
    const auto weights = static_cast<std::ptrdiff_t>(values.size() - 3); // then biases
    EXPECT_TRUE(std::equal(values.begin(), values.begin() + weights, initial.begin()));
    EXPECT_NE(values, initial);
  }
}

/// Gives the same model again and again, and keeps what comes of it.
coordinator_actor::behavior_type same_work(coordinator_actor::pointer,
                                           std::vector<std::vector<float>>* updates, size_t size) {
  const buffer model{size};
  std::ranges::fill(model.values(), 0.1f);
  return {
    [=](atom::join, const std::string&, const caf::actor&) {
      return membership{0, 1, true, size};
    },
    [=](atom::pull, const membership&) {
      member_work work;
      work.verdict = updates->size() < 3 ? work_verdict::go : work_verdict::over;
      work.ticket = updates->size() + 1;
      work.parameters = payload{model, 0, size};
      return work;
    },
    [=](const member_update& news) {
      updates->emplace_back(news.values.values().begin(), news.values.values().end());
      return update_report{};
    },
    [](atom::watch, const model_listener_actor&) {},
    [](atom::pull) { return parameter_span{}; },
    [](atom::save) { return uint64_t{0}; },
    [](atom::stop) { return uint64_t{0}; },
    [](atom::tick) {},
  };
}

TEST(job_members, draw_dropout_anew_for_each_batch) {
  for (const double dropout : {0.0, 0.5}) {
    auto x = test::small_job();
    x.model.dropout = dropout;
    x.training.batch_size = 0; // all rows in each
    test::real_system host{1};
    const auto data = load_data(x);
    const auto resolved = resolve(x, shape_of(*data), 1);
    const std::shared_ptr<const model> network = make_model(resolved, shape_of(*data));
    std::vector<std::vector<float>> updates;
    const auto main = host.system->spawn(same_work, &updates, network->layout().size());
    const auto member = host.system->spawn(
      replicate, replica_of_job(resolved, main, "a", network, rows_of(data).train));
    caf::scoped_actor {
      *host.system
      } -> wait_for(member);
    caf::anon_send_exit(main, caf::exit_reason::user_shutdown);
    ASSERT_EQ(updates.size(), 3u);
    const auto size = [](const std::vector<float>& a, const std::vector<float>& b) {
      double sum = 0;
      for (size_t i = 0; i < a.size(); ++i)
        sum += std::abs(a[i] - b[i]);
      return sum;
    };
    const std::vector<float> zeros(updates[0].size());
    const double change = size(updates[1], updates[2]) / size(updates[1], zeros);
    if (dropout > 0)
      EXPECT_GT(change, 0.01) << "other units are silent";
    else
      EXPECT_LT(change, 1e-4) << "rows in another order";
  }
}

TEST(job_members, what_a_coordinator_cannot_do_is_refused) {
  const auto apart = [](job& x) {
    x.training.strategy = strategy_kind::parameters;
    x.training.members = 2;
    x.training.slices = 2;
  };
  const std::vector<std::pair<std::string, std::function<void(job&)>>> table{
    {"training.strategy", [](job& x) { x = test::job_of_clients(); }},
    {"optimizer.kind", [](job& x) { x.optimizer.kind = optimizer_kind::lbfgs; }},
    {"optimizer.plateau", [](job& x) { x.optimizer.plateau.patience = 2; }},
    {"training.patience", [](job& x) { x.training.patience = 2; }},
    {"training.target_loss", [](job& x) { x.training.target_loss = 0.1; }},
    {"merge.averaging", [&](job& x) { apart(x), x.merge.averaging.kind = averaging_kind::mean; }},
    {"merge.elastic_alpha", [&](job& x) { apart(x), x.merge.elastic_alpha = 0.4; }},
    {"optimizer.schedule",
     [&](job& x) { apart(x), x.optimizer.schedule.kind = schedule_kind::cosine; }},
  };
  for (const auto& [key, change] : table) {
    auto x = line_job();
    change(x);
    const auto data = load_data(x);
    const auto resolved = resolve(x, shape_of(*data), 1);
    const auto network = make_model(resolved, shape_of(*data));
    const auto problem = test::failure_of([&] { coordinator_of_job(resolved, *network); });
    EXPECT_EQ(problem.code(), failure_code::bad_job) << key;
    EXPECT_EQ(problem.where(), key);
  }
}

} // namespace
} // namespace troupe::job_members_test
