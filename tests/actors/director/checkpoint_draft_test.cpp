#include "troupe/actors/director/checkpoint_draft.hpp"
#include "troupe/tests/support/payloads.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

using ranges = std::vector<index_range>;

/// Two shards with a span, one without.
const ranges spans{{0, 6}, {6, 6}, {6, 10}};

checkpoint memory_of(uint64_t version) {
  checkpoint x;
  x.version = version;
  x.seconds = 1.5;
  return x;
}

/// A draft of version 5 with one slot that has both tensors.
checkpoint_draft with_tensors() {
  checkpoint_draft draft{5, 10, 1};
  EXPECT_TRUE(draft.offer(state_piece{1, 5, 0, 0, test::counting_from(0, 10)}));
  EXPECT_TRUE(draft.offer(state_piece{1, 5, 1, 0, test::counting_from(20, 10)}));
  return draft;
}

} // namespace

TEST(checkpoint_draft, is_complete_with_the_memory_every_tensor_and_every_spans_numbers) {
  // Which of four parts came last; each order of the others is as good.
  for (const int last : {0, 1, 2, 3}) {
    checkpoint_draft draft{5, 10, 1};
    const auto give = [&](int part) {
      if (part == 0)
        draft.set_memory(memory_of(5));
      if (part == 1)
        draft.offer(state_piece{1, 5, 0, 0, test::counting_from(0, 10)});
      if (part == 2)
        draft.offer(state_piece{1, 5, 1, 0, test::counting_from(20, 10)});
      if (part == 3) {
        draft.offer(shard_numbers{5, 0, {1, 2}, true, {3, 4, 0, 0}});
        draft.offer(shard_numbers{5, 6, {1, 2}, false, {9, 9, 9, 9}});
      }
    };
    for (const int part : {3, 2, 1, 0})
      if (part != last)
        give(part);
    EXPECT_FALSE(draft.take(spans)) << "part " << last << " is missing";
    give(last);
    const auto whole = draft.take(spans);
    ASSERT_TRUE(whole) << last;
    EXPECT_EQ(whole->version, 5u);
    EXPECT_EQ(whole->seconds, 1.5);
    EXPECT_EQ(whole->parameters.values()[9], 9);
    ASSERT_EQ(whole->slots.size(), 1u);
    EXPECT_EQ(whole->slots[0].values()[9], 29);
    EXPECT_EQ(whole->optimizer_numbers, (std::vector<double>{1, 2}));
    EXPECT_EQ(whole->book, (batch_sums{3, 4, 0, 0})) << "from the shard that keeps it";
  }
}

TEST(checkpoint_draft, says_what_is_missing) {
  checkpoint_draft draft{5, 10, 1};
  EXPECT_EQ(draft.missing(spans), (ranges{{0, 10}}));
  draft.offer(state_piece{1, 5, 0, 0, test::counting_from(0, 10)});
  draft.offer(state_piece{1, 5, 1, 0, test::counting_from(0, 8)});
  draft.offer(shard_numbers{5, 0, {}, true, {}});
  draft.offer(shard_numbers{5, 6, {}, false, {}});
  EXPECT_EQ(draft.missing(spans), (ranges{{8, 10}}));
  draft.offer(state_piece{1, 5, 1, 8, test::counting_from(0, 2)});
  EXPECT_EQ(draft.missing(spans), ranges{});
}

TEST(checkpoint_draft, a_span_without_its_numbers_is_missing_one_without_elements_is_not) {
  auto draft = with_tensors();
  draft.offer(shard_numbers{5, 0, {}, true, {}});
  EXPECT_EQ(draft.missing(spans), (ranges{{6, 10}}));
}

TEST(checkpoint_draft, numbers_count_once_and_those_of_other_versions_not_at_all) {
  auto draft = with_tensors();
  EXPECT_FALSE(draft.offer(shard_numbers{4, 0, {7}, true, {7, 7, 0, 0}}));
  EXPECT_TRUE(draft.offer(shard_numbers{5, 0, {1}, true, {1, 1, 0, 0}}));
  EXPECT_FALSE(draft.offer(shard_numbers{5, 0, {8}, true, {8, 8, 0, 0}}));
  EXPECT_TRUE(draft.offer(shard_numbers{5, 6, {}, false, {}}));
  draft.set_memory(memory_of(5));
  const auto whole = draft.take(spans);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->optimizer_numbers, std::vector<double>{1}) << "a shard without any says nothing";
  EXPECT_EQ(whole->book.sample_count, 1u);
}

// Fresh ones, each in place of one just freed, would cost memory that the allocator never gives
// back.
TEST(checkpoint_draft, one_after_the_other_takes_no_new_buffers) {
  const auto pool = std::make_shared<buffer_pool>(10);
  std::optional<checkpoint> last; // the director has it until the next one is written
  for (uint64_t version = 1; version <= 100; ++version) {
    checkpoint_draft draft{version, 10, 1, pool};
    for (const uint64_t slot : {0, 1})
      for (const uint64_t first : {0, 6})
        draft.offer(state_piece{
          1, version, slot, first,
          test::counting_from(static_cast<float>(version + first), first == 0 ? 6 : 4)});
    draft.offer(shard_numbers{version, 0, {}, true, {}});
    draft.offer(shard_numbers{version, 6, {}, false, {}});
    draft.set_memory(memory_of(version));
    last = draft.take(spans);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->parameters.values()[7], static_cast<float>(version + 7));
    EXPECT_LE(pool->made_count(), 4u) << "two tensors of two checkpoints";
  }
}

TEST(checkpoint_draft, has_no_memory_before_the_director_gives_it_one) {
  auto draft = with_tensors();
  EXPECT_FALSE(draft.has_memory());
  draft.set_memory(memory_of(5));
  EXPECT_TRUE(draft.has_memory());
}

} // namespace troupe
