// Partitions of rows among clients: every row once, nobody without a row, and the distributions they
// promise.

#include "data/training_rows/client_partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace troupe::client_partition_test {
namespace {

std::vector<int32_t> labels_of(size_t row_count, int32_t classes) {
  std::vector<int32_t> result(row_count);
  for (size_t i = 0; i < row_count; ++i)
    result[i] = static_cast<int32_t>(i * 7 % static_cast<size_t>(classes));
  return result;
}

void expect_every_row_once(const client_rows& x, size_t row_count, size_t client_count) {
  ASSERT_EQ(x.client_count(), client_count);
  ASSERT_EQ(x.rows.size(), row_count);
  auto rows = x.rows;
  std::ranges::sort(rows);
  for (size_t i = 0; i < row_count; ++i)
    ASSERT_EQ(rows[i], i);
  for (size_t client = 0; client < client_count; ++client)
    ASSERT_GE(x.row_count(client), 1u) << client;
}

/// Numbers of rows of each class, by client.
std::vector<std::map<int32_t, size_t>> classes_of(const client_rows& x,
                                                  std::span<const int32_t> labels) {
  std::vector<std::map<int32_t, size_t>> result(x.client_count());
  for (size_t client = 0; client < x.client_count(); ++client)
    for (const auto row : x.of(client))
      ++result[client][labels[row]];
  return result;
}

TEST(client_partition, gives_every_row_to_exactly_one_client) {
  const size_t row_count = 1000;
  const auto labels = labels_of(row_count, 10);
  for (const size_t clients : {1u, 7u, 100u, 333u, 1000u})
    for (const auto kind : {partition_kind::iid, partition_kind::labels, partition_kind::dirichlet,
                            partition_kind::sizes})
      for (const double spread : {0.01, 0.3, 5.0}) {
        const size_t shards = kind == partition_kind::labels && clients <= 333 ? 3 : 1;
        const partition_options options{3, clients, kind, shards, spread};
        const auto result = partition_rows(options, row_count, labels);
        expect_every_row_once(result, row_count, clients);
        EXPECT_EQ(result, partition_rows(options, row_count, labels));
      }
}

TEST(client_partition, another_seed_is_another_partition) {
  const auto labels = labels_of(400, 4);
  for (const auto kind : {partition_kind::iid, partition_kind::labels, partition_kind::dirichlet,
                          partition_kind::sizes})
    EXPECT_NE(partition_rows({1, 20, kind, 2, 1}, 400, labels),
              partition_rows({2, 20, kind, 2, 1}, 400, labels));
}

TEST(client_partition, iid_clients_differ_by_one_row_at_most) {
  const auto result = partition_rows({5, 30, partition_kind::iid}, 1000, {});
  for (size_t client = 0; client < 30; ++client)
    EXPECT_TRUE(result.row_count(client) == 33 || result.row_count(client) == 34);
}

TEST(client_partition, of_k_labels_a_client_sees_few_classes) {
  const auto labels = labels_of(6000, 10);
  const auto seen =
    classes_of(partition_rows({5, 100, partition_kind::labels, 2}, 6000, labels), labels);
  size_t two_at_most = 0;
  for (const auto& one : seen) {
    EXPECT_LE(one.size(), 4u) << "a shard that begins in one class ends in the next at the latest";
    two_at_most += one.size() <= 2;
  }
  EXPECT_GE(two_at_most, 90u);
}

// The share p of a class that one of C clients has is Beta(a, (C - 1) a): mean 1 / C, variance
// (1 / C) (1 - 1 / C) / (C a + 1).
TEST(client_partition, shares_of_classes_have_the_moments_of_dirichlet) {
  const size_t clients = 10, classes = 50, rows_of_class = 4000;
  const auto labels = labels_of(classes * rows_of_class, classes);
  for (const double alpha : {0.1, 0.5, 2.0}) {
    double sum = 0, squares = 0;
    size_t count = 0;
    for (const uint64_t seed : {1u, 2u, 3u, 4u}) {
      const auto seen = classes_of(
        partition_rows({seed, clients, partition_kind::dirichlet, 1, alpha}, labels.size(), labels),
        labels);
      for (size_t c = 0; c < classes; ++c)
        for (size_t client = 0; client < clients; ++client, ++count) {
          const auto found = seen[client].find(static_cast<int32_t>(c));
          const double share = found == seen[client].end() ? 0
                                                           : static_cast<double>(found->second) /
                                                               static_cast<double>(rows_of_class);
          sum += share;
          squares += share * share;
        }
    }
    const double mean = sum / static_cast<double>(count);
    const double variance = squares / static_cast<double>(count) - mean * mean;
    const double expected = 0.1 * 0.9 / (clients * alpha + 1);
    EXPECT_NEAR(mean, 0.1, 1e-9) << "shares of a class add up to 1";
    EXPECT_NEAR(variance, expected, 0.12 * expected) << alpha;
  }
}

// Of log-normal sizes the logs are normal with deviation s.
TEST(client_partition, numbers_of_rows_differ_as_asked) {
  const size_t clients = 2000;
  const auto result = partition_rows({8, clients, partition_kind::sizes, 1, 0.5}, 2'000'000, {});
  double sum = 0, squares = 0;
  for (size_t client = 0; client < clients; ++client) {
    const double log = std::log(result.row_count(client));
    sum += log;
    squares += log * log;
  }
  const double mean = sum / clients;
  EXPECT_NEAR(std::sqrt(squares / clients - mean * mean), 0.5, 0.03);
}

// What is held out of a class is shared out by the draws that shared out what is trained on.
TEST(client_partition, rows_held_out_are_like_those_a_client_trains_on) {
  const size_t clients = 20;
  const auto train = labels_of(40'000, 10), test = labels_of(10'000, 10);
  for (const auto kind :
       {partition_kind::labels, partition_kind::dirichlet, partition_kind::sizes}) {
    partition_options options{3, clients, kind, 2, 0.5};
    const auto own = partition_rows(options, train.size(), train);
    options.held_out = true;
    const auto held_out = partition_rows(options, test.size(), test);
    const auto trained = classes_of(own, train), judged = classes_of(held_out, test);
    const double share_of_row = kind == partition_kind::sizes ? 0 : 0.25;
    for (size_t client = 0; client < clients; ++client) {
      EXPECT_NEAR(held_out.row_count(client), 0.25 * own.row_count(client), 10) << client;
      for (const auto& [label, count] : trained[client])
        if (share_of_row > 0) {
          const auto found = judged[client].find(label);
          EXPECT_NEAR(found == judged[client].end() ? 0 : static_cast<double>(found->second),
                      share_of_row * static_cast<double>(count), 2)
            << client << ' ' << label;
        }
    }
  }
}

TEST(client_partition, fewer_rows_than_clients_may_be_held_out) {
  const auto labels = labels_of(30, 10);
  for (const auto kind : {partition_kind::iid, partition_kind::labels, partition_kind::dirichlet,
                          partition_kind::sizes}) {
    partition_options options{3, 100, kind, 2, 0.5};
    options.held_out = true;
    const auto found = partition_rows(options, labels.size(), labels);
    EXPECT_EQ(found.client_count(), 100u);
    auto rows = found.rows;
    std::ranges::sort(rows);
    for (size_t i = 0; i < labels.size(); ++i)
      EXPECT_EQ(rows.at(i), i);
  }
}

TEST(client_partition, rows_that_say_whose_they_are_are_gathered) {
  const auto found = rows_of_owners(std::vector<uint32_t>{7, 2, 7, 9, 2, 7});
  EXPECT_EQ(found, (client_rows{{1, 4, 0, 2, 5, 3}, {0, 2, 5, 6}})) << "nobody else has rows";
  EXPECT_EQ(owner_count(std::vector<uint32_t>{7, 2, 7, 9, 2, 7}), 3u);
  EXPECT_EQ(rows_of_owners({}).client_count(), 0u);
  EXPECT_EQ(owner_count({}), 0u);
  dataset rows;
  rows.row_count = 3;
  rows.clients = {1, 0, 1};
  partition_options options;
  options.kind = partition_kind::column;
  EXPECT_EQ(clients_of(options, rows), (client_rows{{1, 0, 2}, {0, 1, 3}}));
  EXPECT_THROW(partition_rows(options, 3, {}), std::invalid_argument);
}

TEST(client_partition, what_does_not_fit_is_refused) {
  const auto labels = labels_of(10, 2);
  EXPECT_THROW(partition_rows({1, 11}, 10, labels), std::invalid_argument);
  EXPECT_THROW(partition_rows({1, 0}, 10, labels), std::invalid_argument);
  EXPECT_THROW(partition_rows({1, 2, partition_kind::dirichlet}, 10, {}), std::invalid_argument);
  EXPECT_THROW(partition_rows({1, 2, partition_kind::dirichlet, 1, 0}, 10, labels),
               std::invalid_argument);
  EXPECT_THROW(partition_rows({1, 4, partition_kind::labels, 3}, 10, labels),
               std::invalid_argument);
  EXPECT_THROW(partition_rows({1, 4, partition_kind::sizes, 1, -1}, 10, labels),
               std::invalid_argument);
}

} // namespace
} // namespace troupe::client_partition_test
