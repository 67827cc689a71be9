// The metric book: the same figures in whatever order chunks come, and nothing of what is none of the job's.

#include "troupe/coordinators/run/metric_book.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::metric_book_test {
namespace {

// Chunks have 256 rows: three of test rows, two of validation rows.
constexpr evaluation_rows rows{600, 300};

std::shared_ptr<const metric_set> some_metrics() {
  return std::make_shared<const metric_set>(std::vector<std::string>{"rmse", "mae"},
                                            metric_input{1, loss_kind::squared});
}

// Errors, and how many, of both.
metric_sums sums_of(double squares, double distances, double count = 1) {
  return {{0, 1, 2, 3}, {squares, count, distances, count}};
}

const std::vector<metric_sums> all_chunks{sums_of(1, 3), sums_of(0.1, 3), sums_of(6, 0.3),
                                          sums_of(8, 4), sums_of(10, 6)};

} // namespace

TEST(metric_book, figures_are_there_once_all_chunks_are) {
  metric_book book{some_metrics(), rows};
  const metric_figures none{
    {"test_mae", {}}, {"test_rmse", {}}, {"validation_mae", {}}, {"validation_rmse", {}}};
  EXPECT_EQ(book.figures_of(5), none);
  book.add(5, 1, {all_chunks.begin() + 1, all_chunks.end()});
  book.add(6, 0, all_chunks);
  EXPECT_EQ(book.figures_of(5), none);
  book.add(5, 0, {all_chunks[0]});
  const auto figures = book.figures_of(5);
  EXPECT_DOUBLE_EQ(*figures.at("test_mae"), 2.1);
  EXPECT_DOUBLE_EQ(*figures.at("validation_rmse"), 3);
  book.forget_below(6);
  EXPECT_EQ(book.figures_of(5), none);
  EXPECT_EQ(book.figures_of(6), figures);
}

TEST(metric_book, chunks_come_in_any_order_and_twice) {
  metric_book straight{some_metrics(), rows};
  straight.add(1, 0, all_chunks);
  std::mt19937 random{7};
  for (int trial = 0; trial < 50; ++trial) {
    metric_book book{some_metrics(), rows};
    std::vector<size_t> order{0, 1, 2, 3, 4, 0, 2, 4};
    std::ranges::shuffle(order, random);
    for (const auto chunk : order)
      book.add(1, chunk, {all_chunks[chunk]});
    EXPECT_TRUE(book.figures_of(1) == straight.figures_of(1)); // to the bit
  }
}

TEST(metric_book, takes_nothing_that_is_none_of_the_job) {
  const metric_book book{some_metrics(), rows};
  EXPECT_TRUE(book.takes(3, 2, {all_chunks[3], all_chunks[4]}));
  EXPECT_TRUE(book.takes(5, 0, {}));
  EXPECT_FALSE(book.takes(3, 2, {}));
  EXPECT_FALSE(book.takes(3, 2, {all_chunks[3]}));
  EXPECT_FALSE(book.takes(4, 2, {all_chunks[3], all_chunks[4]}));
  EXPECT_FALSE(book.takes(~uint64_t{0}, 2, {all_chunks[3], all_chunks[4]}));
  for (const auto& bad :
       {metric_sums{{0, 4}, {1, 1}}, metric_sums{{1, 1}, {1, 1}}, metric_sums{{2, 1}, {1, 1}},
        metric_sums{{0, 1}, {1}}, metric_sums{{0}, {0}}})
    EXPECT_FALSE(book.takes(0, 1, {bad}));
  const metric_book without{nullptr, rows};
  EXPECT_TRUE(without.takes(3, 2, {}));
  EXPECT_FALSE(without.takes(3, 2, {all_chunks[3], all_chunks[4]}));
  EXPECT_EQ(without.figures_of(1), metric_figures{});
}

} // namespace troupe::metric_book_test
