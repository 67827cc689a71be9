// Checkpoints in the making: ten parameters and one slot, of two shards with a span, one without.

#include "troupe/actors/director/checkpoint_drafts.hpp"
#include "troupe/tests/support/payloads.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using test::counting_from;

constexpr size_t size = 10;

class checkpoint_drafts_test : public testing::Test {
protected:
  checkpoint_drafts_test() { drafts.begin_term({{a, {0, 6}}, {b, {6, size}}, {b, {size, size}}}); }

  void remember(uint64_t version) {
    checkpoint memory;
    memory.version = version;
    memory.term = 1;
    memory.seconds = 1.5;
    drafts.set_memory(std::move(memory), now);
  }
  /// A whole tensor, of which the first element is `from`.
  void bring(uint64_t version, uint64_t part, float from) {
    drafts.on_tensor(version, part, counting_from(from, size).storage());
  }
  void bring_tensors(uint64_t version) {
    bring(version, 0, 0);
    bring(version, 1, 20);
  }
  void tell_numbers(uint64_t version) {
    drafts.on_numbers({version, 0, {1, 2}, true, {3, 4, 0, 0}});
    drafts.on_numbers({version, 6, {}, false, {9, 9, 9, 9}});
  }

  static constexpr peer_id a{1}, b{2};
  moment now{};
  checkpoint_drafts drafts{1};
};

} // namespace

TEST_F(checkpoint_drafts_test, one_is_complete_with_memory_tensors_and_numbers_whatever_is_last) {
  for (const uint64_t last : {0, 1, 2, 3}) {
    const auto version = 5 + last;
    EXPECT_TRUE(drafts.expect(version));
    EXPECT_FALSE(drafts.expect(version)) << "it is";
    const auto give = [&](uint64_t what) {
      if (what < 2)
        bring(version, what, static_cast<float>(20 * what));
      else
        what == 2 ? tell_numbers(version) : remember(version);
    };
    for (const uint64_t what : {3, 2, 1, 0})
      if (what != last)
        give(what);
    EXPECT_FALSE(drafts.take_complete()) << "what is missing: " << last;
    give(last);
    const auto whole = drafts.take_complete();
    ASSERT_TRUE(whole) << last;
    EXPECT_EQ(whole->version, version);
    EXPECT_EQ(whole->seconds, 1.5);
    EXPECT_EQ(whole->parameters.values()[9], 9);
    EXPECT_EQ(whole->slots.at(0).values()[9], 29);
    EXPECT_EQ(whole->optimizer_numbers, (std::vector<double>{1, 2})) << "not of who has none";
    EXPECT_EQ(whole->book, (batch_sums{3, 4, 0, 0})) << "from the shard that keeps it";
    EXPECT_FALSE(drafts.take_complete());
  }
}

TEST_F(checkpoint_drafts_test, numbers_are_asked_for_beside_tensors_that_are_here) {
  drafts.expect(5);
  remember(5);
  drafts.on_numbers({5, 0, {}, true, {}});
  now += 200ms;
  EXPECT_TRUE(drafts.due(now).empty()) << "they come with the tensors";
  bring_tensors(5);
  EXPECT_TRUE(drafts.due(now + 399ms).empty());
  const auto questions = drafts.due(now + 400ms);
  ASSERT_EQ(questions.size(), 1u) << "not of a span without elements";
  EXPECT_EQ(questions[0].to, b);
  EXPECT_EQ(questions[0].what, (tensor_want{{tensor_kind::state, 1, 5}, {}}));
}

TEST_F(checkpoint_drafts_test, numbers_count_once_and_those_of_unknown_versions_not_at_all) {
  drafts.expect(5);
  remember(5);
  bring_tensors(5);
  EXPECT_FALSE(drafts.on_numbers({4, 0, {7}, true, {7, 7, 0, 0}}));
  EXPECT_TRUE(drafts.on_numbers({5, 0, {1}, true, {1, 1, 0, 0}}));
  EXPECT_FALSE(drafts.on_numbers({5, 0, {8}, true, {8, 8, 0, 0}}));
  EXPECT_TRUE(drafts.on_numbers({5, 6, {}, false, {}}));
  const auto whole = drafts.take_complete();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->optimizer_numbers, std::vector<double>{1});
  EXPECT_EQ(whole->book.sample_count, 1u);
}

TEST_F(checkpoint_drafts_test, a_complete_one_ends_those_before_it_and_none_that_is_later) {
  for (const uint64_t version : {5, 6, 7}) {
    drafts.expect(version);
    remember(version);
  }
  tell_numbers(6);
  bring_tensors(6);
  EXPECT_EQ(drafts.take_complete().value().version, 6u);
  tell_numbers(5);
  bring_tensors(5);
  EXPECT_FALSE(drafts.take_complete());
  tell_numbers(7);
  bring_tensors(7);
  EXPECT_EQ(drafts.take_complete().value().version, 7u);
  EXPECT_FALSE(drafts.is_awaiting());
}

TEST_F(checkpoint_drafts_test, versions_that_will_not_be_reached_are_dropped) {
  for (const uint64_t version : {5, 6}) {
    drafts.expect(version);
    remember(version);
  }
  drafts.drop_from(6);
  tell_numbers(6);
  bring_tensors(6);
  EXPECT_FALSE(drafts.take_complete());
  EXPECT_TRUE(drafts.is_awaiting());
  drafts.drop_from(0);
  EXPECT_FALSE(drafts.is_awaiting());
}

} // namespace troupe
