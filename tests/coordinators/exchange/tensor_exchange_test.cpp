// One exchange and what it asks its owner to do, event by event.

#include "tests/support/exchange/one_exchange.hpp"

#include "coordinators/exchange/tensor_exchange.hpp"
#include "tests/support/counted_allocations.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <variant>
#include <vector>

namespace troupe::tensor_exchange_test {

using namespace test;
using namespace std::chrono_literals;

TEST_F(exchange_test, what_is_published_goes_to_its_routes_as_far_as_there_is_credit) {
  begin(2);
  publish(kept(version(0)), {{a, {0, 30}}, {b, {35, 40}}});
  const auto pieces = taken<send_piece>();
  EXPECT_EQ(elements_of(pieces), (ranges{{0, 10}, {10, 20}, {35, 40}}));
  EXPECT_EQ(pieces[1].what.stamp, (link_position{5, 2 * piece_bytes}));
  EXPECT_EQ(pieces[2].to, b);
  EXPECT_EQ(pieces[2].what.note, true_note(version(0)));
  EXPECT_TRUE(is_true(version(0), 35, pieces[2].what.values));
  x.on_credit(a, {5, piece_bytes}, now);
  EXPECT_EQ(elements_of(taken<send_piece>()), (ranges{{20, 30}}));
  bytes_of_kinds sent{};
  sent[static_cast<size_t>(tensor_kind::parameters)] = 3 * piece_bytes + 5 * sizeof(float);
  EXPECT_EQ(x.figures().bytes_sent, sent);
}

TEST_F(exchange_test, copies_outlive_their_term_and_are_given_and_taken_in_any) {
  const tensor_name copy{tensor_kind::copy, 0, 4};
  publish(kept(copy), {});
  publish(kept({tensor_kind::copy, 1, 5}), {}); // a name that there is not
  publish(kept(version(4)), {});
  x.begin_term(2);
  want(copy, {{0, 10}});
  want({tensor_kind::copy, 1, 5}, {{0, 10}});
  want(version(4), {{0, 10}});
  const auto pieces = taken<send_piece>();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].what.of, copy);
  expectation what;
  what.kind = tensor_kind::copy;
  what.key = 6;
  what.elements = all;
  what.sources = {{a, all}};
  what.comes_unasked = false;
  what.memory = [](const tensor_name&) { return float_window{buffer{all.size()}}; };
  x.expect(what, now);
  x.tick(now);
  const auto wants = taken<send_want>();
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0].what.of, (tensor_name{tensor_kind::copy, 0, 6}));
  const tensor_name next{tensor_kind::copy, 0, 6};
  EXPECT_EQ(x.on_piece(a, {next, 0, true_values(next, all), true_note(next), {}}, now),
            piece_verdict::accepted);
  EXPECT_EQ(x.on_piece(a, {{tensor_kind::copy, 2, 6}, 0, true_values(next, all), {}, {}}, now),
            piece_verdict::early);
  EXPECT_EQ(taken<tensor_arrived>().size(), 1u);
  x.forget(tensor_kind::copy, keys_before(5));
  want(copy, {{0, 10}});
  EXPECT_TRUE(taken<send_piece>().empty());
}

TEST_F(exchange_test, who_made_a_copy_hears_that_it_has_come_and_keeps_it) {
  const tensor_name copy{tensor_kind::copy, 0, 4};
  publish(kept(copy), {});
  taken<send_piece>();
  x.on_want(b, {copy, {all}, false, true}, now);
  x.on_want(b, {version(4), {all}, false, true}, now);
  const auto news = taken<tensor_asked>();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].by, b);
  EXPECT_EQ(news[0].what, (tensor_want{copy, {all}, false, true}));
  want(copy, {{0, 10}});
  EXPECT_EQ(taken<send_piece>().size(), 1u);
}

TEST_F(exchange_test, gradients_are_told_in_the_format_they_are_rounded_to) {
  begin(2, number_format::bf16);
  publish(kept(gradient(0)), {{a, {0, 10}}});
  publish(kept(version(0)), {{b, {0, 10}}});
  const auto pieces = taken<send_piece>();
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].what.values.format(), number_format::bf16);
  EXPECT_EQ(pieces[1].what.values.format(), number_format::float32);
  bytes_of_kinds sent{};
  sent[static_cast<size_t>(tensor_kind::gradient)] = piece_bytes / 2;
  sent[static_cast<size_t>(tensor_kind::parameters)] = piece_bytes;
  EXPECT_EQ(x.figures().bytes_sent, sent);
  grow(kept(gradient(1)), {20, 25});
  EXPECT_EQ(x.figures().bytes_early, 5 * sizeof(uint16_t));
}

TEST_F(exchange_test, what_is_published_goes_in_the_order_of_its_routes) {
  publish(kept(version(0)), {{b, {0, 10}}, {a, {10, 20}}});
  const auto first = taken<send_piece>();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].to, b);
  publish(kept(version(1)), {{a, {0, 10}}, {b, {10, 20}}});
  const auto second = taken<send_piece>();
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].to, a);
}

TEST_F(exchange_test, publishing_again_changes_nothing) {
  publish(kept(version(0)), {{a, {0, 10}}});
  x.on_credit(a, {5, piece_bytes}, now);
  taken<send_piece>();
  const auto before = x;
  publish(kept(version(0)), {{a, {0, 10}}});
  EXPECT_TRUE(taken<send_piece>().empty());
  EXPECT_EQ(x, before);
}

TEST_F(exchange_test, what_grows_leaves_as_it_is_final_and_the_rest_when_all_is) {
  const auto what = kept(gradient(0));
  grow(what, {20, 25});
  EXPECT_EQ(elements_of(taken<send_piece>()), (ranges{{20, 25}}));
  grow(what, {20, 25});
  grow(what, {20, 30});
  EXPECT_EQ(x.figures().bytes_early, 10 * sizeof(float));
  x.on_credit(a, {5, 10 * sizeof(float)}, now);
  taken<send_piece>();
  publish(what, {{a, all}});
  EXPECT_EQ(elements_of(taken<send_piece>()), (ranges{{0, 10}, {10, 20}, {30, 40}}));
  EXPECT_EQ(x.figures().bytes_early, 10 * sizeof(float)) << "the rest was not early";
}

TEST_F(exchange_test, what_does_not_grow_there_is_not_sent_from_there) {
  grow(kept(gradient(0)), {0, 10});
  taken<send_piece>();
  grow(kept(gradient(0)), {10, 20}); // computed anew, in other memory
  EXPECT_TRUE(taken<send_piece>().empty());
  publish(kept(gradient(0)), {{a, all}});
  EXPECT_EQ(elements_of(taken<send_piece>()), (ranges{{10, 20}, {20, 30}, {30, 40}}));
}

TEST_F(exchange_test, remarks_are_those_of_the_last_word) {
  auto what = kept(gradient(0));
  grow(what, {0, 10});
  what.note.remarks = {0, 77};
  grow(what, {10, 20});
  const auto pieces = taken<send_piece>();
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].what.note.remarks[1], 77u);
}

TEST_F(exchange_test, who_wants_what_grows_is_sent_what_is_final) {
  x.grow(kept(gradient(0)), {10, 14}, {}, now);
  want(gradient(0), {all});
  EXPECT_EQ(elements_of(taken<send_piece>()), (ranges{{10, 14}}));
}

TEST_F(exchange_test, the_newest_two_are_kept_of_each_span) {
  begin(1);
  for (const uint64_t key : {0u, 1u, 2u}) {
    auto what = kept(version(key), {0, 20});
    what.newest_kept = 2;
    publish(what, {{a, all}});
  }
  auto other = kept(version(0), {20, 40});
  other.newest_kept = 2;
  publish(other, {});
  taken<send_piece>();
  EXPECT_EQ(x.figures().tensors_kept, 3u);
  x.on_credit(a, {5, piece_bytes}, now);
  const auto pieces = taken<send_piece>();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].what.of, version(1)) << "the rest of version 0 is gone";
}

TEST_F(exchange_test, what_is_forgotten_is_gone_and_waits_no_more) {
  begin(1);
  publish(kept(gradient(3)), {{a, all}});
  publish(kept(gradient(4)), {{a, all}});
  publish(kept(version(3)), {{a, all}});
  taken<send_piece>();
  x.forget(tensor_kind::gradient, keys_before(4));
  EXPECT_EQ(x.figures().tensors_kept, 2u);
  EXPECT_EQ(x.figures().ranges_waiting, 2u);
  want(gradient(3), {all});
  x.on_credit(a, {5, piece_bytes}, now);
  EXPECT_EQ(taken<send_piece>().at(0).what.of, gradient(4));
  x.forget(tensor_kind::gradient, only_key(4));
  x.forget(tensor_kind::parameters, {});
  EXPECT_EQ(x.figures().tensors_kept, 0u);
  EXPECT_EQ(x.figures().ranges_waiting, 0u);
}

TEST_F(exchange_test, a_new_term_forgets_all_but_credit) {
  begin(1);
  publish(kept(version(0)), {{a, all}});
  x.expect(versions_of(b), now);
  taken<send_piece>();
  x.begin_term(2);
  EXPECT_EQ(x.figures().tensors_kept, 0u);
  EXPECT_EQ(x.figures().ranges_waiting, 0u);
  EXPECT_EQ(x.figures().bytes_under_way, piece_bytes);
  publish(kept(version(1)), {{a, all}});
  EXPECT_EQ(x.figures().tensors_kept, 0u) << "of the term before";
  publish(kept(version(1, 2)), {{a, all}});
  EXPECT_TRUE(taken<send_piece>().empty());
  EXPECT_EQ(x.on_piece(b, {version(0, 2), 0, true_values(version(0), all), {}, {}}, now),
            piece_verdict::unexpected);
  EXPECT_EQ(x.on_piece(b, {version(0, 1), 0, true_values(version(0), all), {}, {}}, now),
            piece_verdict::stale);
  EXPECT_EQ(x.on_piece(b, {version(0, 3), 0, true_values(version(0), all), {}, {}}, now),
            piece_verdict::early);
}

TEST_F(exchange_test, who_is_withdrawn_is_sent_nothing_that_waited) {
  begin(1);
  publish(kept(version(0)), {{a, all}, {b, all}});
  taken<send_piece>();
  x.withdraw(a);
  x.on_credit(a, {5, piece_bytes}, now);
  x.on_credit(b, {6, piece_bytes}, now);
  const auto pieces = taken<send_piece>();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].to, b);
}

TEST_F(exchange_test, without_a_link_nothing_is_sent_and_a_new_one_begins_anew) {
  x.link_closed(a);
  publish(kept(version(0)), {{a, all}});
  x.send(a, version(0), all, now);
  EXPECT_TRUE(taken<send_piece>().empty());
  x.link_opened(a, 8, false);
  x.send(a, version(0), {5, 10}, now);
  const auto pieces = taken<send_piece>();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].what.stamp, (link_position{8, 5 * sizeof(float)}));
  EXPECT_EQ(sum_of(x.figures().bytes_sent), 0u) << "it crosses no wire";
}

TEST_F(exchange_test, the_director_is_a_peer_and_its_wants_are_no_repairs) {
  x.link_opened(peer_id::director, 1, true);
  publish(kept(version(0)), {});
  x.on_want(peer_id::director, {version(0), {all}}, now);
  EXPECT_EQ(taken<send_piece>().size(), 4u);
  EXPECT_EQ(x.figures().resends, 0u);
}

// ---- what is expected ----

TEST_F(exchange_test, what_arrives_is_told_once_with_its_values) {
  x.expect(versions_of(a), now);
  const auto what = kept(version(0));
  EXPECT_EQ(x.on_piece(a, {what.of, 0, what.part({0, 25}), what.note, {5, 100}}, now),
            piece_verdict::accepted);
  EXPECT_TRUE(taken<tensor_arrived>().empty());
  EXPECT_EQ(x.offer(kept(version(0), {25, 40}), now), piece_verdict::accepted) << "from here";
  const auto news = taken<tensor_arrived>();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].values, what.values);
  EXPECT_EQ(x.on_piece(a, {what.of, 0, what.values, what.note, {5, 100}}, now),
            piece_verdict::stale);
}

TEST_F(exchange_test, odd_pieces_are_malformed) {
  x.expect(versions_of(a), now);
  const auto verdict = [&](uint64_t first, size_t count) {
    return x.on_piece(a, {version(0), first, {buffer{count}, 0, count}, {}, {}}, now);
  };
  EXPECT_EQ(verdict(0, 0), piece_verdict::malformed);
  EXPECT_EQ(verdict(UINT64_MAX, 3), piece_verdict::malformed);
  EXPECT_EQ(verdict(UINT64_MAX - 2, 3), piece_verdict::malformed);
  EXPECT_EQ(verdict(element_count_max, 3), piece_verdict::unexpected);
}

TEST_F(exchange_test, silence_is_followed_by_a_want_and_credit_goes_with_it) {
  x.expect(versions_of(a), now);
  const auto what = kept(version(0));
  x.on_piece(a, {what.of, 0, what.part({0, 1}), what.note, {5, 4}}, now);
  x.tick(now + 199ms);
  EXPECT_TRUE(taken<send_want>().empty());
  x.tick(now + 200ms);
  x.take_effects(effects);
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_EQ(std::get<send_want>(effects[0]).what,
            (tensor_want{version(0), {{1, 40}}, true, false, {5, 4}}));
  x.link_closed(a);
  x.tick(now + 10s);
  EXPECT_TRUE(taken<send_want>().empty()) << "there is no way";
  EXPECT_EQ(x.awaited().size(), 1u) << "but people are told";
}

TEST_F(exchange_test, expectations_are_replaced_and_dismissed) {
  x.expect(versions_of(a), now);
  x.offer(kept(version(0), {0, 5}), now);
  EXPECT_EQ(x.figures().tensors_arriving, 1u);
  auto anew = versions_of(b);
  anew.key = 3;
  x.expect(anew, now);
  EXPECT_EQ(x.figures().tensors_arriving, 0u);
  ASSERT_EQ(x.awaited().size(), 1u);
  EXPECT_EQ(x.awaited()[0].to, b);
  x.set_sources(tensor_kind::parameters, 3, all, {{a, {0, 4}}});
  EXPECT_EQ(x.awaited()[0].what.elements, (ranges{{0, 4}}));
  x.dismiss(tensor_kind::gradient, {});
  x.dismiss(tensor_kind::parameters, {}, {0, 39});
  EXPECT_EQ(x.awaited().size(), 1u) << "of another kind, and of fewer elements";
  x.dismiss(tensor_kind::parameters, only_key(3));
  EXPECT_TRUE(x.awaited().empty());
  EXPECT_EQ(x.offer(kept(version(3)), now), piece_verdict::unexpected);
}

// ---- credit ----

TEST_F(exchange_test, credit_goes_back_after_a_part_of_the_window_whatever_the_piece_was) {
  x = tensor_exchange{{16 * piece_bytes, piece_elements}};
  x.begin_term(1);
  x.link_opened(a, 5, true);
  const auto news = [&](uint64_t position) {
    x.on_piece(a, {version(0), 0, true_values(version(0), {0, 1}), {}, {3, position}}, now);
    return taken<send_credit>();
  };
  EXPECT_TRUE(news(piece_bytes - 1).empty());
  const auto told = news(piece_bytes);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].what, (link_position{3, piece_bytes}));
  EXPECT_TRUE(news(piece_bytes).empty());
}

TEST_F(exchange_test, a_question_is_answered_with_credit_and_asked_when_it_is_missing) {
  x.on_stamp(a, {9, 77});
  x.on_stamp(peer_id{99}, {9, 77});
  const auto told = taken<send_credit>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].what, (link_position{9, 77}));
  begin(2);
  publish(kept(version(0)), {{a, all}});
  taken<send_piece>();
  x.tick(now + 199ms);
  EXPECT_TRUE(taken<send_stamp>().empty());
  x.tick(now + 200ms);
  const auto asked = taken<send_stamp>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].what, (link_position{5, 2 * piece_bytes}));
}

// A checkpoint lies in a file: what of it may go is told, and is sent by who can read it.
TEST_F(exchange_test, values_that_lie_elsewhere_are_asked_for_when_they_may_go) {
  begin(2);
  kept_tensor whole;
  whole.of = version(3);
  whole.elsewhere = all.size();
  publish(whole, {});
  EXPECT_TRUE(taken<piece_due>().empty()) << "nobody wants it";
  want(version(3), {all});
  const auto first = taken<piece_due>();
  ASSERT_EQ(first.size(), 2u) << "as far as there is credit";
  EXPECT_EQ(first[0].to, a);
  EXPECT_EQ(first[0].what.of, version(3));
  EXPECT_EQ(first[1].elements, (index_range{10, 20}));
  EXPECT_EQ(first[1].what.first_element, 10u);
  EXPECT_EQ(first[1].what.stamp, (link_position{5, 2 * piece_bytes}));
  x.on_credit(a, {5, 2 * piece_bytes}, now);
  const auto rest = taken<piece_due>();
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[1].elements, (index_range{30, 40}));
  EXPECT_EQ(sum_of(x.figures().bytes_sent), 4 * piece_bytes);
  x.forget(tensor_kind::parameters, {});
  want(version(3), {all});
  EXPECT_TRUE(taken<piece_due>().empty());
}

TEST_F(exchange_test, who_holds_credit_tells_it_once_all_can_be_taken_in) {
  auto what = versions_of(a);
  what.newest = false;
  size_t taken_in = 0;
  what.sink = [&](const tensor_name& of, uint64_t first, const float_view& values) {
    EXPECT_EQ(values, true_values(of, {first, first + values.size()}));
    taken_in += values.size();
  };
  x.expect(what, now);
  const auto bring = [&](const index_range& elements, uint64_t position) {
    return x.on_piece(a,
                      {version(0),
                       elements.begin,
                       true_values(version(0), elements),
                       true_note(version(0)),
                       {9, position}},
                      now);
  };
  x.hold_credit(true);
  EXPECT_EQ(bring({0, 10}, piece_bytes), piece_verdict::accepted);
  EXPECT_EQ(bring({5, 20}, 2 * piece_bytes), piece_verdict::accepted);
  EXPECT_EQ(bring({5, 20}, 2 * piece_bytes), piece_verdict::known);
  x.on_stamp(a, {9, 3 * piece_bytes});
  EXPECT_EQ(taken_in, 20u) << "each once";
  EXPECT_TRUE(taken<send_credit>().empty());
  x.hold_credit(false);
  const auto told = taken<send_credit>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].what, (link_position{9, 3 * piece_bytes}));
  EXPECT_EQ(bring({20, 40}, 4 * piece_bytes), piece_verdict::accepted);
  const auto arrived = taken<tensor_arrived>();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].values.size(), 0u) << "the sink has them";
  EXPECT_EQ(taken_in, 40u);
}

// Steps in a steady state allocate nothing: gradients that leave while they are computed, versions
// that replace others, credit that comes back.

namespace {

/// A process of a run in its steady state, to two others.
class steady_process {
public:
  steady_process() {
    exchange_.begin_term(1);
    for (size_t i = 0; i < peers.size(); ++i)
      exchange_.link_opened(peers[i], i + 1, true);
  }

  /// Layer by layer, the last one first; then its span of the next version.
  void step(uint64_t number) {
    kept_tensor gradient{{tensor_kind::gradient, 1, number, {0, 2}}, 0, {sums_, 0, sums_.size()}};
    const std::array<tensor_route, 2> owners{{{peers[0], {0, 500}}, {peers[1], {500, 900}}}};
    for (const index_range layer : {index_range{700, 1000}, {400, 700}, {0, 200}})
      exchange_.grow(gradient, layer, owners, {});
    exchange_.publish(gradient, owners, {});
    kept_tensor version{
      {tensor_kind::parameters, 1, number + 1}, 900, {parameters_, 900, 100}, {}, {}, 2};
    const std::array<tensor_route, 2> others{{{peers[0], {0, 1000}}, {peers[1], {0, 1000}}}};
    exchange_.publish(version, others, {});
    exchange_.forget(tensor_kind::gradient, keys_before(number));
    exchange_.tick({});
    give_credit();
  }

  size_t sent = 0; ///< pieces

private:
  static constexpr std::array peers{peer_id{1}, peer_id{2}};

  void give_credit() {
    do {
      exchange_.take_effects(effects_);
      for (const auto& effect : effects_)
        if (const auto* piece = std::get_if<send_piece>(&effect)) {
          ++sent;
          exchange_.on_credit(piece->to, piece->what.stamp, {});
        }
    } while (!effects_.empty());
  }

  tensor_exchange exchange_{{1000, 64}};
  buffer sums_{1000};
  buffer parameters_{1000};
  std::vector<exchange_effect> effects_;
};

} // namespace

TEST(exchange_allocation, none_in_a_step_after_the_first_few) {
  steady_process process;
  for (uint64_t step = 0; step < 4; ++step)
    process.step(step);
  const auto before = allocation_count;
  process.sent = 0;
  for (uint64_t step = 4; step < 20; ++step)
    process.step(step);
  EXPECT_EQ(allocation_count, before);
  EXPECT_EQ(process.sent, 16u * 22) << "it did send";
}

} // namespace troupe::tensor_exchange_test
