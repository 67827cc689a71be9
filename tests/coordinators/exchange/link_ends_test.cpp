#include "coordinators/exchange/link_ends.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace troupe::link_ends_test {
namespace {

using namespace std::chrono_literals;

constexpr size_t piece_elements = 10;
constexpr size_t piece_bytes = piece_elements * sizeof(float);
constexpr size_t window = 4 * piece_bytes;
constexpr uint64_t this_link = 7;

tensor_name gradient_of(uint64_t step) {
  return {tensor_kind::gradient, 1, step};
}

tensor_name state_at(uint64_t version, uint64_t part = 0) {
  return {tensor_kind::state, 1, version, only_leaf, part};
}

outgoing_link new_link() {
  return {this_link, window, piece_elements};
}

/// Everything there is credit for.
std::vector<outgoing_link::granted> take_all(outgoing_link& link, moment now = {}) {
  std::vector<outgoing_link::granted> result;
  while (const auto piece = link.next(now))
    result.push_back(*piece);
  return result;
}

void see(outgoing_link& link, uint64_t bytes, moment now = {}) {
  link.on_credit({this_link, bytes}, now);
}

TEST(outgoing_link, pieces_go_in_order_with_their_positions_until_the_window_is_full) {
  auto link = new_link();
  EXPECT_EQ(link.add(gradient_of(3), {100, 125}, urgency::training), 25u);
  EXPECT_EQ(link.add(state_at(4), {0, 30}, urgency::training), 30u);
  const auto pieces = take_all(link);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0], (outgoing_link::granted{gradient_of(3), {100, 110}, 40}));
  EXPECT_EQ(pieces[1], (outgoing_link::granted{gradient_of(3), {110, 120}, 80}));
  EXPECT_EQ(pieces[2], (outgoing_link::granted{gradient_of(3), {120, 125}, 100}));
  EXPECT_EQ(pieces[3], (outgoing_link::granted{state_at(4), {0, 10}, 140}));
  EXPECT_EQ(link.bytes_under_way(), 140u);
  EXPECT_EQ(link.waiting_count(), 1u);
  see(link, 40);
  EXPECT_EQ(take_all(link).size(), 1u) << "as much as has been seen";
}

TEST(outgoing_link, a_piece_above_the_window_goes_alone) {
  outgoing_link link{this_link, piece_bytes / 2, piece_elements};
  link.add(state_at(1), {0, 20}, urgency::training);
  EXPECT_EQ(take_all(link).size(), 1u);
  see(link, piece_bytes);
  EXPECT_EQ(take_all(link).size(), 1u);
}

TEST(outgoing_link, what_waits_or_is_under_way_is_not_queued_again) {
  auto link = new_link();
  link.add(state_at(1), {0, 60}, urgency::training);
  take_all(link);
  const auto before = link;
  EXPECT_EQ(link.add(state_at(1), {40, 60}, urgency::training), 0u) << "waits";
  EXPECT_EQ(link, before);
  EXPECT_EQ(link.add(state_at(1), {0, 60}, urgency::training), 0u) << "and is under way";
  EXPECT_EQ(link.add(state_at(1), {30, 70}, urgency::training), 10u) << "some of it is new";
  EXPECT_EQ(link.add(state_at(1), {0, 40}, urgency::training), 0u);
  see(link, 2 * piece_bytes);
  EXPECT_EQ(link.add(state_at(1), {0, 20}, urgency::training), 20u) << "it came, and is wanted";
  EXPECT_EQ(link.add(state_at(2), {0, 20}, urgency::training), 20u) << "another version";
  EXPECT_EQ(link.add(state_at(2), {20, 20}, urgency::training), 0u) << "nothing";
  EXPECT_EQ(link.add(state_at(2), {30, 20}, urgency::training), 0u) << "no range";
}

TEST(outgoing_link, gaps_between_what_is_known_are_queued) {
  outgoing_link link{this_link, 2 * piece_bytes, piece_elements};
  link.add(state_at(1), {10, 30}, urgency::training);
  take_all(link);
  link.add(state_at(1), {50, 60}, urgency::training);
  EXPECT_EQ(link.add(state_at(1), {0, 100}, urgency::training), 70u);
  EXPECT_EQ(link.waiting_count(), 4u) << "50..60, 0..10, 30..50, 60..100";
}

TEST(outgoing_link, wanting_what_seems_to_be_under_way_asks_what_has_come) {
  auto link = new_link();
  link.add(state_at(1), {0, 20}, urgency::training);
  take_all(link);
  EXPECT_FALSE(link.question({}));
  link.add(state_at(1), {10, 30}, urgency::training);
  EXPECT_EQ(link.question({}), 2 * piece_bytes);
  EXPECT_FALSE(link.question({})) << "once for each time";
  link.add(state_at(1), {0, 20}, urgency::training);
  EXPECT_TRUE(link.question({}));
  see(link, 2 * piece_bytes); // they came, or were lost
  EXPECT_EQ(link.add(state_at(1), {0, 20}, urgency::training), 20u);
  EXPECT_FALSE(link.question({}));
}

TEST(outgoing_link, who_waits_for_credit_asks_for_it_again_and_again) {
  auto link = new_link();
  const moment start{};
  link.add(state_at(1), {0, 60}, urgency::training);
  take_all(link, start);
  EXPECT_FALSE(link.question(start + 150ms));
  EXPECT_EQ(link.question(start + 200ms), window);
  EXPECT_FALSE(link.question(start + 500ms)) << "twice as patient now";
  EXPECT_TRUE(link.question(start + 600ms));
  see(link, piece_bytes, start + 700ms);
  EXPECT_FALSE(link.question(start + 899ms)) << "credit has come";
  EXPECT_TRUE(link.question(start + 900ms)) << "and patience is short again";
  see(link, window, start + 910ms);
  take_all(link, start + 910ms);
  EXPECT_FALSE(link.question(start + 10s)) << "nothing waits";
}

TEST(outgoing_link, credit_that_is_old_of_another_link_or_impossible_says_nothing) {
  auto link = new_link();
  link.add(state_at(1), {0, 100}, urgency::training);
  take_all(link);
  see(link, 2 * piece_bytes);
  const auto before = link;
  see(link, 2 * piece_bytes, moment{} + 1s);
  see(link, piece_bytes, moment{} + 1s);
  link.on_credit({this_link + 1, window}, moment{} + 1s);
  see(link, window + 1, moment{} + 1s);
  EXPECT_EQ(link, before);
}

TEST(outgoing_link, training_goes_before_checkpoints_which_fill_a_quarter) {
  auto link = new_link();
  link.add(state_at(8, 1), {0, 50}, urgency::checkpoint);
  ASSERT_EQ(take_all(link).size(), 1u);
  link.add(state_at(8, 2), {0, 50}, urgency::checkpoint);
  link.add(gradient_of(8), {0, 20}, urgency::training);
  link.add(gradient_of(9), {0, 5}, urgency::training);
  const auto pieces = take_all(link);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].name, gradient_of(8));
  EXPECT_EQ(pieces[2].name, gradient_of(9)) << "in the order they came";
}

TEST(outgoing_link, what_is_out_of_date_is_dropped_and_costs_no_credit) {
  auto link = new_link();
  link.add(gradient_of(1), {0, 50}, urgency::training);
  link.add(gradient_of(2), {0, 10}, urgency::training);
  take_all(link);
  link.drop_if([](const tensor_name& x, const index_range&) { return x.key < 2; });
  see(link, piece_bytes);
  EXPECT_EQ(take_all(link), (std::vector{outgoing_link::granted{gradient_of(2), {0, 10}, 200}}));
  EXPECT_EQ(link.waiting_count(), 0u);
}

TEST(outgoing_link, what_was_forgotten_may_be_sent_again_and_its_bytes_still_count) {
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

TEST(incoming_link, tells_after_a_part_of_the_window_and_of_the_highest_position) {
  constexpr size_t large_window = 16 * piece_bytes;
  incoming_link here;
  here.on_stamp({this_link, piece_bytes - 1});
  EXPECT_FALSE(here.due(large_window));
  EXPECT_TRUE(here.is_news());
  here.on_stamp({this_link, piece_bytes});
  EXPECT_TRUE(here.due(large_window));
  here.on_stamp({this_link, 8}); // again
  EXPECT_EQ(here.tell(), (link_position{this_link, piece_bytes}));
  EXPECT_FALSE(here.due(large_window) || here.is_news());
  here.on_stamp({this_link + 1, 12});
  EXPECT_EQ(here.tell(), (link_position{this_link + 1, 12})) << "a new link";
}

TEST(incoming_link, a_window_smaller_than_a_piece_is_told_of_news_only) {
  incoming_link here;
  EXPECT_FALSE(here.due(2));
  here.on_stamp({this_link, 40});
  EXPECT_TRUE(here.due(2));
}

TEST(link_credit, is_a_budget_of_the_process_that_its_links_share) {
  for (const size_t few : {0u, 1u, 2u, 17u})
    EXPECT_EQ(link_credit_of(few), link_credit_bytes) << few;
  EXPECT_EQ(link_credit_of(33), link_credit_bytes / 2);
  EXPECT_EQ(link_credit_of(100'000), 4 * piece_elements_max * sizeof(float));
  for (const size_t many : {18u, 64u, 256u})
    EXPECT_LE((many - 1) * link_credit_of(many), process_credit_bytes) << many;
}

TEST(incoming_link, tells_after_a_number_of_pieces_however_small_they_are) {
  incoming_link here;
  for (int round = 0; round < 3; ++round) {
    for (uint64_t k = 1; k <= credit_return_pieces; ++k) {
      EXPECT_FALSE(here.due(link_credit_bytes)) << k;
      here.on_stamp({this_link, here.seen().bytes + 4});
    }
    EXPECT_TRUE(here.due(link_credit_bytes));
    here.tell();
  }
  for (uint64_t k = 0; k < 2 * credit_return_pieces; ++k)
    here.on_stamp(here.seen()); // the same again is no news
  EXPECT_FALSE(here.due(link_credit_bytes));
}

// Whatever the pieces' sizes, it needs no question.
TEST(incoming_link, tells_before_a_sender_of_checkpoints_stands_still) {
  for (const size_t size : {size_t{1}, size_t{999}, piece_elements_max - 1, piece_elements_max}) {
    outgoing_link sender{this_link, link_credit_bytes, size};
    incoming_link here;
    sender.add(state_at(1), {0, size == 1 ? 1'000'000 : size_t{3} << 20}, urgency::checkpoint);
    while (const auto piece = sender.next({})) {
      here.on_stamp({this_link, piece->position});
      if (here.due(link_credit_bytes))
        sender.on_credit(here.tell(), {});
    }
    EXPECT_EQ(sender.waiting_count(), 0u) << size;
  }
}

} // namespace
} // namespace troupe::link_ends_test
