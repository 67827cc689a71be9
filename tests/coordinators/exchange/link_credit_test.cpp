#include "troupe/coordinators/exchange/link_credit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace troupe {

namespace {

using namespace std::chrono_literals;

constexpr size_t piece_elements = 10;
constexpr size_t piece_bytes = piece_elements * sizeof(float);
constexpr size_t window = 4 * piece_bytes;
constexpr uint64_t this_link = 7;

piece_name gradient_of(uint64_t step) {
  return {piece_kind::gradient, step, {0, 1}, 0, 0};
}

piece_name state_at(uint64_t version, uint64_t slot = 0) {
  return {piece_kind::state, version, {}, slot, 0};
}

link_credit new_link(uint64_t number = this_link) {
  return {number, window, piece_elements};
}

/// Everything there is credit for.
std::vector<link_credit::granted> take_all(link_credit& link, moment now = {}) {
  std::vector<link_credit::granted> result;
  while (const auto piece = link.next(now))
    result.push_back(*piece);
  return result;
}

} // namespace

TEST(link_credit, pieces_go_in_order_with_their_positions_until_the_window_is_full) {
  auto link = new_link();
  EXPECT_EQ(link.add(gradient_of(3), {100, 125}, urgency::training), 25u);
  EXPECT_EQ(link.add(state_at(4), {0, 30}, urgency::training), 30u);
  const auto pieces = take_all(link);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0], (link_credit::granted{gradient_of(3), {100, 110}, 40}));
  EXPECT_EQ(pieces[1], (link_credit::granted{gradient_of(3), {110, 120}, 80}));
  EXPECT_EQ(pieces[2], (link_credit::granted{gradient_of(3), {120, 125}, 100}));
  EXPECT_EQ(pieces[3], (link_credit::granted{state_at(4), {0, 10}, 140}));
  EXPECT_EQ(link.bytes_under_way(), 140u);
  EXPECT_EQ(link.waiting_count(), 1u);
  link.on_credit(this_link, 40, {});
  EXPECT_EQ(take_all(link).size(), 1u) << "as much as has been seen";
}

TEST(link_credit, a_piece_above_the_window_goes_alone) {
  link_credit link{this_link, piece_bytes / 2, piece_elements};
  link.add(state_at(1), {0, 20}, urgency::training);
  EXPECT_EQ(take_all(link).size(), 1u);
  link.on_credit(this_link, piece_bytes, {});
  EXPECT_EQ(take_all(link).size(), 1u);
}

TEST(link_credit, what_waits_or_is_under_way_is_not_queued_again) {
  auto link = new_link();
  link.add(state_at(1), {0, 60}, urgency::training);
  take_all(link);
  const auto before = link;
  EXPECT_EQ(link.add(state_at(1), {40, 60}, urgency::training), 0u) << "waits";
  EXPECT_EQ(link, before);
  EXPECT_EQ(link.add(state_at(1), {0, 60}, urgency::training), 0u) << "and is under way";
  EXPECT_EQ(link.add(state_at(1), {30, 70}, urgency::training), 10u) << "some of it is new";
  EXPECT_EQ(link.add(state_at(1), {0, 40}, urgency::training), 0u);
  link.on_credit(this_link, 2 * piece_bytes, {});
  EXPECT_EQ(link.add(state_at(1), {0, 20}, urgency::training), 20u) << "it came, and is wanted";
  EXPECT_EQ(link.add(state_at(2), {0, 20}, urgency::training), 20u) << "another version";
  EXPECT_EQ(link.add(state_at(2), {20, 20}, urgency::training), 0u) << "nothing";
}

TEST(link_credit, wanting_what_seems_to_be_under_way_asks_what_has_come) {
  auto link = new_link();
  link.add(state_at(1), {0, 20}, urgency::training);
  take_all(link);
  EXPECT_FALSE(link.question({}));
  link.add(state_at(1), {10, 30}, urgency::training);
  EXPECT_EQ(link.question({}), 2 * piece_bytes);
  EXPECT_FALSE(link.question({})) << "once for each time";
  link.add(state_at(1), {0, 20}, urgency::training);
  EXPECT_TRUE(link.question({}));
  link.on_credit(this_link, 2 * piece_bytes, {}); // they came, or were lost
  EXPECT_EQ(link.add(state_at(1), {0, 20}, urgency::training), 20u);
  EXPECT_FALSE(link.question({}));
}

TEST(link_credit, who_waits_for_credit_asks_for_it_again_and_again) {
  auto link = new_link();
  const moment start{};
  link.add(state_at(1), {0, 60}, urgency::training);
  take_all(link, start);
  EXPECT_FALSE(link.question(start + 150ms));
  EXPECT_EQ(link.question(start + 200ms), window);
  EXPECT_FALSE(link.question(start + 500ms)) << "twice as patient now";
  EXPECT_TRUE(link.question(start + 600ms));
  link.on_credit(this_link, piece_bytes, start + 700ms);
  EXPECT_FALSE(link.question(start + 850ms)) << "credit has come";
  link.on_credit(this_link, window, start + 900ms);
  take_all(link, start + 900ms);
  EXPECT_FALSE(link.question(start + 10s)) << "nothing waits";
}

TEST(link_credit, credit_that_is_old_of_another_link_or_impossible_says_nothing) {
  auto link = new_link();
  link.add(state_at(1), {0, 100}, urgency::training);
  take_all(link);
  link.on_credit(this_link, 2 * piece_bytes, {});
  const auto before = link;
  link.on_credit(this_link, 2 * piece_bytes, moment{} + 1s);
  link.on_credit(this_link, piece_bytes, moment{} + 1s);
  link.on_credit(this_link + 1, window, moment{} + 1s);
  link.on_credit(this_link, window + 1, moment{} + 1s);
  EXPECT_EQ(link, before);
}

TEST(link_credit, training_goes_before_checkpoints_which_fill_a_quarter) {
  auto link = new_link();
  link.add(state_at(8, 1), {0, 50}, urgency::checkpoint);
  ASSERT_EQ(take_all(link).size(), 1u);
  link.add(state_at(8, 2), {0, 50}, urgency::checkpoint);
  link.add(gradient_of(8), {0, 20}, urgency::training);
  const auto pieces = take_all(link);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].name, gradient_of(8));
  link.add(state_at(8, 2), {0, 50}, urgency::training);
  EXPECT_EQ(take_all(link).at(0).name, state_at(8, 2)) << "moved before the other";
  link.on_credit(this_link, window, {});
  EXPECT_EQ(take_all(link).at(0), (link_credit::granted{state_at(8, 2), {10, 20}, 200}));
}

TEST(link_credit, what_is_out_of_date_is_dropped_and_costs_no_credit) {
  auto link = new_link();
  link.add(gradient_of(1), {0, 50}, urgency::training);
  link.add(gradient_of(2), {0, 10}, urgency::training);
  take_all(link);
  link.drop_if([](const piece_name& x) { return x.version < 2; });
  link.on_credit(this_link, piece_bytes, {});
  EXPECT_EQ(take_all(link), (std::vector{link_credit::granted{gradient_of(2), {0, 10}, 200}}));
  EXPECT_EQ(link.waiting_count(), 0u);
}

TEST(link_credit, what_was_forgotten_may_be_sent_again_and_its_bytes_still_count) {
  auto link = new_link();
  link.add(state_at(0), {0, 60}, urgency::training);
  take_all(link);
  link.add(state_at(0), {0, 10}, urgency::training);
  link.forget();
  EXPECT_EQ(link.waiting_count(), 0u);
  EXPECT_FALSE(link.question({})) << "nothing is waited for";
  EXPECT_EQ(link.bytes_under_way(), window);
  EXPECT_EQ(link.add(state_at(0), {0, 10}, urgency::training), 10u);
  EXPECT_FALSE(link.next({}));
}

TEST(link_receipt, tells_after_a_part_of_the_window_and_of_the_highest_position) {
  constexpr size_t window = 16 * piece_bytes;
  link_receipt here;
  here.on_stamp({"there", this_link, piece_bytes - 1});
  EXPECT_FALSE(here.due(window));
  EXPECT_TRUE(here.is_news());
  here.on_stamp({"there", this_link, piece_bytes});
  EXPECT_TRUE(here.due(window));
  here.on_stamp({"there", this_link, 8}); // again
  EXPECT_EQ(here.tell("here"), (credit{"here", this_link, piece_bytes}));
  EXPECT_FALSE(here.due(window) || here.is_news());
  here.on_stamp({"there", this_link + 1, 12});
  EXPECT_EQ(here.tell("here"), (credit{"here", this_link + 1, 12})) << "a new link";
}

TEST(link_receipt, a_window_smaller_than_a_piece_is_told_of_news_only) {
  link_receipt here;
  EXPECT_FALSE(here.due(2));
  here.on_stamp({"there", this_link, 40});
  EXPECT_TRUE(here.due(2));
}

// Whatever the pieces' sizes, it needs no question.
TEST(link_receipt, tells_before_a_sender_of_checkpoints_stands_still) {
  for (const size_t size : {size_t{1}, size_t{999}, piece_elements_max - 1, piece_elements_max}) {
    link_credit sender{this_link, link_credit_bytes, size};
    link_receipt here;
    sender.add(state_at(1), {0, size_t{3} << 20}, urgency::checkpoint);
    while (const auto piece = sender.next({})) {
      here.on_stamp({"there", this_link, piece->position});
      if (here.due(link_credit_bytes))
        sender.on_credit(this_link, here.tell("here").position, {});
    }
    EXPECT_EQ(sender.waiting_count(), 0u) << size;
  }
}

// Pieces, questions and credit are lost and come twice; the receiver wants what it misses. It gets
// all of it, the window is kept, and nothing waits twice.
TEST(link_credit, everything_arrives_whatever_is_lost) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random{seed};
    const auto falls = [&](unsigned percent) { return random() % 100 < percent; };
    const unsigned loss = seed % 3 == 0 ? 0 : 20;
    auto sender = new_link();
    link_receipt receiver;
    span_set here;
    std::deque<std::pair<index_range, uint64_t>> wire; // in order; an empty range: a question
    const index_range all{0, 500};
    moment now{};
    sender.add(state_at(1), all, urgency::training);
    size_t sent = 0;
    for (int turn = 0; turn < 20'000 && !here.contains(all); ++turn) {
      now += 10ms;
      const auto tell = [&](const credit& x) {
        for (int times = falls(loss) ? 0 : falls(loss) ? 2 : 1; times > 0; --times)
          sender.on_credit(x.link, x.position, now);
      };
      while (const auto piece = sender.next(now)) {
        ASSERT_LE(sender.bytes_under_way(), window);
        ++sent;
        wire.emplace_back(piece->elements, piece->position);
      }
      if (const auto position = sender.question(now))
        wire.emplace_back(index_range{}, *position);
      if (!wire.empty() && falls(70)) {
        const auto [elements, position] = wire.front();
        wire.pop_front();
        if (!falls(loss)) {
          receiver.on_stamp({"a", this_link, position});
          here.add(elements);
          if (elements.empty() || receiver.due(window))
            tell(receiver.tell("b"));
        }
      }
      if (turn % 40 == 39) {
        if (receiver.is_news())
          tell(receiver.tell("b"));
        for (const auto& range : here.missing_in(all))
          sender.add(state_at(1), range, urgency::training);
      }
    }
    EXPECT_TRUE(here.contains(all)) << "seed " << seed;
    if (loss == 0) {
      EXPECT_EQ(sent, 50u) << "wanting makes nothing come twice";
    }
  }
}

} // namespace troupe
