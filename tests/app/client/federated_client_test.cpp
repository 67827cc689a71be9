// A client in an application: rows in memory, a training of its own, and what goes wrong. The server is a port in this
// process; whole runs are in tests/scripts/federated.

#include "app/client/federated_client.hpp"

#include "actors/net/clients/client_port.hpp"
#include "actors/run/federated_run.hpp"
#include "actors/run/job_data.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gates.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

constexpr size_t parameter_count = 3;

/// y = 2 a - 3 b + 1.
dataset line_rows(size_t count) {
  dataset result;
  result.row_count = count;
  result.feature_count = 2;
  result.feature_names = {"a", "b"};
  result.target_count = 1;
  result.target_names = {"y"};
  for (size_t i = 0; i < count; ++i) {
    const auto a = static_cast<float>(i % 5), b = static_cast<float>(i % 7);
    result.features.insert(result.features.end(), {a, b});
    result.targets.push_back(2 * a - 3 * b + 1);
  }
  return result;
}

class federated_client_test : public testing::Test {
protected:
  federated_client_test() {
    job x;
    x.name = "served";
    x.model.kind = model_kind::linear_regression;
    x.data.standardize = true;
    x.training.batch_size = 4;
    const auto data = prepare_data(x, line_rows(40));
    x.training.strategy = strategy_kind::federated;
    x.federated.listen = "127.0.0.1:" + std::to_string(port_);
    x.federated.cohort = 1;
    x.federated.min_count = 1;
    server_ = client_port_of(resolve(x, shape_of(*data), 1), *data, parameter_count);
  }

  client_options options() const {
    client_options result;
    result.server = "127.0.0.1:" + std::to_string(port_);
    result.name = "one";
    result.patience = 60s;
    return result;
  }
  /// What comes of a round that begins once a client is here.
  std::future<gathered_round> open(uint64_t round) {
    const auto result = std::make_shared<std::promise<gathered_round>>();
    server_->open(round, buffer{parameter_count}, {},
                  [result](gathered_round x) { result->set_value(std::move(x)); });
    return result->get_future();
  }
  /// The client's part of a round, to its end: how the server knows it.
  named_client part_of(federated_client& client) {
    auto round = open(++round_);
    std::thread runs{[&] { client.run(); }};
    auto who = round.get().who;
    server_->end(0, "over");
    runs.join();
    return who->named.at(0);
  }
  /// The client ends with this while a round waits for it.
  failure failure_of_run(federated_client& client) {
    const auto round = open(++round_);
    return test::failure_of([&] { client.run(); });
  }

  uint16_t port_ = test::free_port();
  std::shared_ptr<client_port> server_;
  uint64_t round_ = 0;
};

TEST_F(federated_client_test, a_training_of_the_application_is_asked_and_its_rows_count) {
  federated_client client{options()};
  client.train_by([](const own_order& order) {
    EXPECT_EQ(order.round, 1);
    own_update result{{order.start.begin(), order.start.end()}, 5, 0.25, 0};
    result.values.at(1) += 0.5f;
    return result;
  });
  const auto part = part_of(client);
  EXPECT_EQ(part.name, "one");
  EXPECT_EQ(part.rows, 5);
}

TEST_F(federated_client_test, what_its_training_throws_ends_it_and_is_no_lost_server) {
  for (const auto code : {failure_code::unavailable, failure_code::missing_input}) {
    federated_client client{options()};
    client.train_by([=](const own_order&) -> own_update { throw failure(code, "my own disk"); });
    const auto found = failure_of_run(client);
    EXPECT_EQ(found.code(), code);
    EXPECT_EQ(found.reason(), "my own disk");
  }
}

TEST_F(federated_client_test, a_table_is_told_before_a_run_and_after_it) {
  federated_client client{options()};
  for (int i = 0; i < 2; ++i) {
    const auto table = client.table();
    EXPECT_EQ(table.parameter_count, parameter_count);
    EXPECT_EQ(table.form.feature_names, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(table.form.row_count, 0);
    client.train_by(
      [](const own_order&) -> own_update { throw failure(failure_code::usage, "no"); });
    failure_of_run(client);
  }
  server_->end(0, "training has ended");
  EXPECT_EQ(test::failure_of([&] { client.table(); }).code(), failure_code::unavailable);
}

TEST_F(federated_client_test, rows_may_have_their_columns_in_any_order) {
  const auto rows = line_rows(20);
  auto turned = rows;
  turned.feature_names = {"b", "a"};
  for (size_t i = 0; i < turned.row_count; ++i)
    std::swap(turned.features[2 * i], turned.features[2 * i + 1]);
  std::vector<std::string> updates;
  auto options_of_turned = options();
  federated_client first{options()};
  first.use_rows(rows);
  std::thread runs{[&] { first.run(); }};
  updates.push_back(open(1).get().who->named.at(0).update);
  first.stop();
  runs.join();
  federated_client second{options()};
  second.use_rows([&](const dataset& form) {
    EXPECT_EQ(form.target_names, rows.target_names);
    return turned;
  });
  std::thread again{[&] { second.run(); }};
  updates.push_back(open(1).get().who->named.at(0).update);
  second.stop();
  again.join();
  EXPECT_EQ(updates[0], updates[1]);
}

TEST_F(federated_client_test, rows_that_are_not_the_tables_are_refused) {
  auto wider = line_rows(20);
  wider.feature_count = 1;
  wider.features.resize(20);
  wider.feature_names = {"a"};
  auto planned = line_rows(20);
  planned.columns.columns.resize(2);
  auto gap = line_rows(20);
  gap.features[3] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [rows, words] :
       {std::pair{wider, "1 features"}, std::pair{planned, "in another way"},
        std::pair{gap, "not finite"}}) {
    federated_client client{options()};
    client.use_rows(rows);
    const auto found = test::failure_of([&] { client.run(); });
    EXPECT_EQ(found.code(), failure_code::bad_data);
    EXPECT_NE(found.reason().find(words), std::string::npos) << found.reason();
  }
  federated_client client{options()};
  client.use_rows([](const dataset&) -> dataset {
    throw failure(failure_code::unavailable, "the store is away");
  });
  const auto found = test::failure_of([&] { client.run(); });
  EXPECT_EQ(found.reason(), "the store is away");
  EXPECT_EQ(found.hint(), "");
}

TEST_F(federated_client_test, a_new_order_does_not_wait_for_a_training_that_does_not_hear) {
  federated_client client{options()};
  std::promise<void> begun, may_end;
  std::shared_future<void> end{may_end.get_future()};
  std::atomic<int> calls = 0;
  client.train_by([&](const own_order& order) {
    if (++calls == 1) {
      begun.set_value();
      end.wait(); // and never asks
    }
    return own_update{{order.start.begin(), order.start.end()}, 1, 0.5, 0};
  });
  std::thread runs{[&] { client.run(); }};
  auto first = open(1);
  begun.get_future().wait();
  server_->hurry();
  EXPECT_TRUE(first.get().who->named.empty());
  auto second = open(2);
  std::this_thread::sleep_for(50ms);
  may_end.set_value();
  EXPECT_EQ(second.get().who->named.size(), 1);
  EXPECT_EQ(calls, 2);
  client.stop();
  runs.join();
}

TEST_F(federated_client_test, calls_that_make_no_sense_say_so) {
  federated_client client{options()};
  EXPECT_EQ(test::failure_of([&] { client.run(); }).code(), failure_code::usage);
  EXPECT_EQ(test::failure_of([&] { client.use_rows(row_maker{}); }).code(), failure_code::usage);
  EXPECT_EQ(test::failure_of([&] { client.train_by({}); }).code(), failure_code::usage);
  auto nameless = options();
  nameless.name.clear();
  federated_client other{nameless};
  EXPECT_NE(test::failure_of([&] { other.table(); }).hint().find("name of the client's options"),
            std::string::npos);
  auto patient = options();
  patient.patience = milliseconds::max();
  federated_client third{patient};
  EXPECT_EQ(third.table().parameter_count, parameter_count);
}

} // namespace
