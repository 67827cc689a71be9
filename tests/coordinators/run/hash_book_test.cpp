#include "troupe/coordinators/run/hash_book.hpp"

#include <gtest/gtest.h>

namespace troupe::hash_book_test {
namespace {

constexpr uint64_t top = ~uint64_t{0};

version_hash hash(uint64_t low, uint64_t high = 0) {
  return {{high, low}, {high, low + 1}};
}

TEST(hash_book, a_version_has_its_hash_once_all_blocks_are_told_of_in_any_order) {
  hash_book book{5};
  EXPECT_TRUE(book.add(8, {2, 5}, hash(3)));
  EXPECT_EQ(book.hash_of(8), std::nullopt);
  EXPECT_TRUE(book.add(8, {0, 2}, hash(4)));
  EXPECT_EQ(book.hash_of(8), (version_hash{{0, 7}, {0, 9}}));
  EXPECT_EQ(book.hash_of(7), std::nullopt);
}

TEST(hash_book, sums_carry_and_are_modulo_two_to_the_128) {
  hash_book book{2};
  book.add(1, {0, 1}, {{top, top}, {0, top}});
  book.add(1, {1, 2}, {{0, 1}, {0, 2}});
  EXPECT_EQ(book.hash_of(1), (version_hash{{0, 0}, {1, 1}}));
}

TEST(hash_book, what_is_told_twice_counts_once) {
  hash_book book{2};
  book.add(1, {0, 1}, hash(1));
  EXPECT_TRUE(book.add(1, {0, 1}, hash(1)));
  EXPECT_EQ(book.hash_of(1), std::nullopt);
  book.add(1, {1, 2}, hash(1));
  EXPECT_TRUE(book.add(1, {1, 2}, hash(1)));
  EXPECT_EQ(book.hash_of(1), (version_hash{{0, 2}, {0, 4}}));
}

TEST(hash_book, blocks_that_there_are_not_or_that_overlap_are_refused) {
  hash_book book{6};
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

TEST(hash_book, forgets_what_nobody_asks_for) {
  hash_book book{1};
  book.add(1, {0, 1}, hash(1));
  book.add(2, {0, 1}, hash(2));
  book.forget_below(2);
  EXPECT_EQ(book.hash_of(1), std::nullopt);
  EXPECT_EQ(book.hash_of(2), hash(2));
  book.forget();
  EXPECT_EQ(book.hash_of(2), std::nullopt);
}

} // namespace
} // namespace troupe::hash_book_test
