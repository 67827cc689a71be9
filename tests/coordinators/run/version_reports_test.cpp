// What processes report of versions: the same figures and hashes in whatever order parts come, and nothing of what is none of the
// job's.

#include "coordinators/run/version_reports.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::version_reports_test {

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

constexpr uint64_t top = ~uint64_t{0};

version_hash hash(uint64_t low, uint64_t high = 0) {
  return {{high, low}, {high, low + 1}};
}

TEST(version_hashes, a_version_has_its_hash_once_all_blocks_are_told_of_in_any_order) {
  version_hashes book{5};
  EXPECT_TRUE(book.add(8, {2, 5}, hash(3)));
  EXPECT_EQ(book.hash_of(8), std::nullopt);
  EXPECT_TRUE(book.add(8, {0, 2}, hash(4)));
  EXPECT_EQ(book.hash_of(8), (version_hash{{0, 7}, {0, 9}}));
  EXPECT_EQ(book.hash_of(7), std::nullopt);
}

TEST(version_hashes, sums_carry_and_are_modulo_two_to_the_128) {
  version_hashes book{2};
  book.add(1, {0, 1}, {{top, top}, {0, top}});
  book.add(1, {1, 2}, {{0, 1}, {0, 2}});
  EXPECT_EQ(book.hash_of(1), (version_hash{{0, 0}, {1, 1}}));
}

TEST(version_hashes, what_is_told_twice_counts_once) {
  version_hashes book{2};
  book.add(1, {0, 1}, hash(1));
  EXPECT_TRUE(book.add(1, {0, 1}, hash(1)));
  EXPECT_EQ(book.hash_of(1), std::nullopt);
  book.add(1, {1, 2}, hash(1));
  EXPECT_TRUE(book.add(1, {1, 2}, hash(1)));
  EXPECT_EQ(book.hash_of(1), (version_hash{{0, 2}, {0, 4}}));
}

TEST(version_hashes, blocks_that_there_are_not_or_that_overlap_are_refused) {
  version_hashes book{6};
  EXPECT_FALSE(book.add(1, {4, 7}, hash(1)));
  EXPECT_FALSE(book.add(1, {3, 3}, hash(1)));
  EXPECT_FALSE(book.add(1, {5, 2}, hash(1)));
  EXPECT_TRUE(book.add(1, {2, 4}, hash(1)));
  EXPECT_FALSE(book.add(1, {2, 3}, hash(1)));
  EXPECT_FALSE(book.add(1, {3, 6}, hash(1)));
  EXPECT_FALSE(book.add(1, {0, 3}, hash(1)));
  EXPECT_TRUE(book.add(1, {4, 6}, hash(1)));
  EXPECT_TRUE(book.add(1, {0, 2}, hash(1)));
  EXPECT_EQ(book.hash_of(1), (version_hash{{0, 3}, {0, 6}}));
}

TEST(version_hashes, forgets_what_nobody_asks_for) {
  version_hashes book{1};
  book.add(1, {0, 1}, hash(1));
  book.add(2, {0, 1}, hash(2));
  book.forget_below(2);
  EXPECT_EQ(book.hash_of(1), std::nullopt);
  EXPECT_EQ(book.hash_of(2), hash(2));
  book.forget();
  EXPECT_EQ(book.hash_of(2), std::nullopt);
}

TEST(version_times, the_first_word_on_a_version_counts_until_nobody_asks) {
  version_times times;
  EXPECT_EQ(times.of(0), std::nullopt);
  times.add(5, 1.5, true);
  times.add(5, 9, true);
  times.add(6, 1.7, false);
  EXPECT_EQ(times.of(6), 1.7);
  times.add(7, 2, false);
  times.add(7, 3, true);
  EXPECT_EQ(times.of(5), 1.5);
  EXPECT_EQ(times.of(6), std::nullopt);
  EXPECT_EQ(times.of(7), 2);
  times.forget_below(7);
  EXPECT_EQ(times.of(5), std::nullopt);
  EXPECT_EQ(times.of(7), 2);
  times.clear();
  EXPECT_EQ(times.of(7), std::nullopt);
}

TEST(version_times, a_row_that_waits_is_not_forgotten_for_progress) {
  version_times times;
  times.add(10, 1, true);
  for (uint64_t version = 11; version < 100'000; ++version)
    times.add(version, 2, false);
  EXPECT_EQ(times.of(10), 1);
  EXPECT_EQ(times.size(), 1u);
}

TEST(version_times, a_run_without_rows_takes_no_more_memory_with_time) {
  version_times times;
  for (uint64_t version = 1; version < 100'000; ++version) {
    times.add(version, static_cast<double>(version), true);
    ASSERT_LE(times.size(), version_times::kept_max);
  }
  EXPECT_EQ(times.of(99'999), 99'999);
  EXPECT_EQ(times.of(99'950), 99'950);
}

} // namespace

TEST(version_metrics, figures_are_there_once_all_chunks_are) {
  version_metrics book{some_metrics(), rows};
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

TEST(version_metrics, chunks_come_in_any_order_and_twice) {
  version_metrics straight{some_metrics(), rows};
  straight.add(1, 0, all_chunks);
  std::mt19937 random{7};
  for (int trial = 0; trial < 50; ++trial) {
    version_metrics book{some_metrics(), rows};
    std::vector<size_t> order{0, 1, 2, 3, 4, 0, 2, 4};
    std::ranges::shuffle(order, random);
    for (const auto chunk : order)
      book.add(1, chunk, {all_chunks[chunk]});
    EXPECT_TRUE(book.figures_of(1) == straight.figures_of(1)); // to the bit
  }
}

TEST(version_metrics, takes_nothing_that_is_none_of_the_job) {
  const version_metrics book{some_metrics(), rows};
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
  const version_metrics without{nullptr, rows};
  EXPECT_TRUE(without.takes(3, 2, {}));
  EXPECT_FALSE(without.takes(3, 2, {all_chunks[3], all_chunks[4]}));
  EXPECT_EQ(without.figures_of(1), metric_figures{});
}

} // namespace troupe::version_reports_test
