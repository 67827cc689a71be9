// A node of a run that has other processes, between neighbours that we play.

#include "tests/support/played_node.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace troupe::node_test {
namespace {

using namespace test;
using ranges = std::vector<index_range>;
using namespace std::chrono_literals;

constexpr size_t all = played_node::parameter_count;
constexpr size_t here = played_node::here_count;

/// What replicas here made of slices 0 and 1.
contribution work_here(uint64_t step) {
  return {step, {0, 2}, 0, test::counting_from(0, all), {1, 2, 0, 0}, 0, 1};
}

using double_in_elements = std::array<float, 2>;

/// A block's share of the gradient's norm, from the neighbour.
sent_piece norm_there(uint64_t step, uint64_t block, double square_sum) {
  const auto elements = std::bit_cast<double_in_elements>(square_sum);
  return {{played_node::from_there(),
           {{tensor_kind::block_sums, 1, step},
            2 * block,
            test::payload_of({elements[0], elements[1]}),
            {},
            {}}}};
}

double norm_in(const tensor_piece& x) {
  return std::bit_cast<double>(double_in_elements{x.values.values()[0], x.values.values()[1]});
}

TEST(node, replicas_hear_of_a_version_once_it_is_whole_whatever_the_order_of_its_pieces) {
  for (const int order : {0, 1, 2}) {
    begun_node run;
    EXPECT_TRUE(run.replica.views.empty()) << "nothing to start from yet";
    const auto give = [&](int part) {
      if (part == 0)
        run.tell(played_node::span_here(0));
      else
        run.tell(part == 1 ? played_node::piece_there(0, here, 1500)
                           : played_node::piece_there(0, here + 1500, 404));
    };
    give(order);
    give(order); // twice
    give((order + 1) % 3);
    EXPECT_TRUE(run.replica.spans.empty());
    give((order + 2) % 3);
    ASSERT_EQ(run.replica.views.size(), 1u) << order;
    EXPECT_EQ(run.replica.views[0].start_version, 0u);
    EXPECT_EQ(run.replica.horizons.back().rule, (horizon_rule{8, true}));
    ASSERT_EQ(run.replica.spans.size(), 2u);
    EXPECT_EQ(values_of(run.replica.spans[0].values), counted(0, here));
    EXPECT_EQ(values_of(run.replica.spans[1].values), counted(here, all - here));
    give(1);
    EXPECT_EQ(run.replica.spans.size(), 2u) << "late";
  }
}

// It may be ahead of where training was rolled back to; nobody would compute what is between.
TEST(node, parameters_of_another_term_are_not_gathered) {
  for (const uint64_t term : {0u, 2u}) {
    begun_node run;
    run.tell(played_node::span_here(0));
    run.tell(played_node::piece_there(0, here, all - here, term));
    EXPECT_TRUE(run.replica.spans.empty());
    run.tell(played_node::piece_there(0, here, all - here));
    EXPECT_EQ(run.replica.spans.size(), 2u);
  }
}

TEST(node, versions_follow_one_another_without_a_new_beginning) {
  node_at_start run;
  run.give_version(1);
  EXPECT_EQ(run.replica.spans.size(), 4u);
  EXPECT_EQ(run.replica.spans.back().version, 1u);
  EXPECT_EQ(run.replica.views.size(), 1u);
}

TEST(node, a_damaged_piece_is_ignored_and_asked_for_again) {
  begun_node run;
  run.tell(played_node::span_here(0));
  run.tell(played_node::piece_there(0, here, 1500));
  const auto last = played_node::piece_there(0, here + 1500, 404);
  run.tell(test::over_a_wire(last, 1));
  EXPECT_TRUE(run.replica.spans.empty());
  run.wait(150ms);
  EXPECT_TRUE(wants_of(run.there, tensor_kind::parameters).empty()) << "it may be on its way";
  run.wait(100ms);
  const auto wants = wants_of(run.there, tensor_kind::parameters);
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(run.there.wants[0].by, (speaker{"here", false}));
  EXPECT_EQ(wants[0].elements, (ranges{{here + 1500, all}})) << "no more than is missing";
  run.wait(300ms);
  EXPECT_EQ(wants_of(run.there, tensor_kind::parameters).size(), 1u) << "twice as patient now";
  run.wait(150ms);
  EXPECT_EQ(wants_of(run.there, tensor_kind::parameters).size(), 2u);
  run.tell(test::over_a_wire(last));
  EXPECT_EQ(run.replica.spans.size(), 2u);
  EXPECT_TRUE(run.stranger.wants.empty());
}

TEST(node, a_version_of_the_shard_here_goes_to_the_process_that_computes_in_pieces) {
  begun_node run;
  run.tell(played_node::span_here(0));
  EXPECT_EQ(run.there.pieces.size(), 3u);
  EXPECT_EQ(run.there.pieces[0].by, (speaker{"here", false}));
  EXPECT_EQ(joined(pieces_of(run.there, tensor_kind::parameters)), counted(0, here));
  run.tell(played_node::span_here(0));
  EXPECT_EQ(run.there.pieces.size(), 3u) << "said again by the shard, not by the node";
  EXPECT_TRUE(run.stranger.pieces.empty());
}

TEST(node, what_others_say_of_the_span_here_is_ignored) {
  begun_node run;
  run.tell(played_node::piece_there(0, 0, all));
  run.tell(played_node::span_here(0));
  EXPECT_TRUE(run.replica.spans.empty());
  auto other = played_node::piece_there(0, 0, 2);
  other.what.values = test::payload_of({7, 8});
  run.tell(other);
  EXPECT_TRUE(run.director.not_finite.empty());
  run.tell(played_node::piece_there(0, here, all - here));
  EXPECT_EQ(run.replica.spans.size(), 2u);
}

TEST(node, gradients_of_others_are_put_together_for_the_shard_here) {
  std::vector<sent_piece> pieces{played_node::gradient_there(0, 0, 1500),
                                 played_node::gradient_there(0, 1500, 1500),
                                 played_node::gradient_there(0, 3000, here - 3000)};
  for (size_t i = 0; i < 3; ++i)
    pieces[i].what.note.remarks[1] = 5 + i % 2;
  for (const size_t first : {0u, 1u, 2u}) {
    begun_node run;
    run.tell(played_node::span_here(0));
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(run.shard.contributions.empty());
      run.tell(pieces[(first + i) % 3]);
      run.tell(pieces[first]); // again
    }
    contribution whole{0, {2, 4}, 0, test::counting_from(0, here), {0.5, 2, 1, 0}, 1, 1};
    whole.computed = 6ns; // the longest that a piece says
    EXPECT_EQ(run.shard.contributions, std::vector{whole});
    EXPECT_TRUE(run.director.not_finite.empty());
  }
}

TEST(node, gradients_that_are_missing_are_asked_for_by_slice) {
  node_at_start run;
  run.tell(test::over_a_wire(played_node::gradient_there(0, 0, 1500), 1));
  auto of_another_term = played_node::gradient_there(0, 0, here);
  of_another_term.what.of.term = 2;
  run.tell(of_another_term);
  EXPECT_TRUE(run.shard.contributions.empty());
  run.wait(150ms);
  EXPECT_TRUE(wants_of(run.there, tensor_kind::gradient).empty());
  run.wait(100ms);
  const auto wants = wants_of(run.there, tensor_kind::gradient);
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0], (tensor_want{{tensor_kind::gradient, 1, 0, {2, 4}}, {{0, here}}}));
  run.tell(played_node::gradient_there(0, 0, here));
  EXPECT_EQ(run.shard.contributions.size(), 1u);
  run.wait(3000ms);
  EXPECT_EQ(wants_of(run.there, tensor_kind::gradient).size(), 1u) << "it is there";
}

TEST(node, of_a_gradient_that_came_in_part_the_rest_is_asked_for) {
  node_at_start run;
  run.tell(played_node::gradient_there(0, 0, 1500));
  run.tell(played_node::gradient_there(0, 3000, here - 3000));
  run.wait(250ms);
  const auto wants = wants_of(run.there, tensor_kind::gradient);
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0].elements, (ranges{{1500, 3000}}));
}

TEST(node, equal_work_with_other_bits_is_reported_with_its_slice_and_replica) {
  begun_node run;
  run.tell(played_node::span_here(0));
  run.tell(played_node::gradient_there(0, 0, here));
  auto other = played_node::gradient_there(0, 0, 2);
  other.what.values = test::payload_of({0, 1.5f});
  run.tell(other);
  ASSERT_EQ(run.director.not_finite.size(), 1u);
  const auto& report = run.director.not_finite[0];
  EXPECT_EQ(report.problem, step_problem::conflict);
  EXPECT_EQ(report.what, "two different gradients of slice 2");
  EXPECT_EQ(report.slice, 2u);
  EXPECT_EQ(report.replica, 1u);
  EXPECT_EQ(report.term, 1u);
}

TEST(node, wants_are_answered_to_members_of_the_view_only) {
  const auto there = played_node::from_there();
  auto newest = asking(there, tensor_kind::parameters, 0);
  newest.what.or_newer = true;
  node_at_start run;
  run.give_version(1);
  run.tell(work_here(1));
  run.tell(block_sums{1, 0, {4}, 1});
  for (const auto kind : {tensor_kind::parameters, tensor_kind::gradient, tensor_kind::block_sums})
    run.tell(asking({"stranger", false}, kind, 1));
  EXPECT_TRUE(run.stranger.pieces.empty());
  run.acknowledge_there();
  run.there = {};
  run.tell(asking(there, tensor_kind::parameters, 0));
  EXPECT_EQ(joined(pieces_of(run.there, tensor_kind::parameters)), counted(0, here))
    << "the version before";
  run.tell(asking(there, tensor_kind::parameters, 2));
  EXPECT_EQ(run.there.pieces.size(), 3u) << "not there yet";
  run.acknowledge_there();
  run.tell(newest);
  EXPECT_EQ(run.there.pieces.size(), 9u) << "both versions";
  run.tell(asking(there, tensor_kind::block_sums, 1));
  const auto norms = pieces_of(run.there, tensor_kind::block_sums);
  ASSERT_EQ(norms.size(), 1u);
  EXPECT_EQ(norm_in(norms[0]), 4);
}

TEST(node, norms_of_the_shard_here_go_out_and_those_of_others_come_in) {
  node_at_start run;
  run.wait(250ms);
  EXPECT_TRUE(wants_of(run.there, tensor_kind::block_sums).empty()) << "there may be none yet";
  run.tell(block_sums{0, 0, {5}, 0}); // the shard has not begun the term yet
  EXPECT_TRUE(pieces_of(run.there, tensor_kind::block_sums).empty());
  run.tell(block_sums{0, 0, {4}, 1});
  const auto sent = pieces_of(run.there, tensor_kind::block_sums);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].of.key, 0u);
  EXPECT_EQ(sent[0].first_element, 0u);
  EXPECT_EQ(norm_in(sent[0]), 4);
  EXPECT_TRUE(run.shard.norms.empty());
  run.wait(250ms);
  const auto wants = wants_of(run.there, tensor_kind::block_sums);
  ASSERT_EQ(wants.size(), 1u) << "its own alone are not enough";
  EXPECT_EQ(wants[0].elements, (ranges{{2, 4}}));
  run.tell(norm_there(0, 1, 9));
  EXPECT_EQ(run.shard.norms, (std::vector<block_sums>{{0, 1, {9}, 1}}));
  run.tell(norm_there(0, 1, 10));
  ASSERT_EQ(run.director.not_finite.size(), 1u);
  EXPECT_EQ(run.director.not_finite[0].what, "two different sums over one block");
}

TEST(node, results_are_repeated_until_the_directive_says_that_they_arrived) {
  begun_node run;
  const training_report row{1, 2, {1, 2, 0, 0}, true, false, 0.5, {}};
  const training_report progress{1, 3, {1, 2, 0, 0}, false, false, 0.5, {}};
  run.tell(row);
  run.tell(progress);
  run.tell(evaluation{1, 2, 0, {{1, 2, 0, 0}}});
  run.tell(span_hash{1, 2, {0, 1}, {{3, 4}, {}}});
  EXPECT_EQ(run.director.reports.size(), 2u);
  run.wait(250ms);
  EXPECT_EQ(run.director.reports.size(), 3u) << "the row, not the progress";
  EXPECT_EQ(run.director.reports.back(), row);
  EXPECT_EQ(run.director.evaluations.size(), 2u);
  EXPECT_EQ(run.director.hashes.size(), 2u);
  run.tell(directive{1, 1, {8, true}, 2, 0});
  run.wait(3000ms);
  EXPECT_EQ(run.director.reports.size(), 3u);
  EXPECT_EQ(run.director.evaluations.size() + run.director.hashes.size(), 4u);
}

// It counts what was done: an answer from before the question is too old.
TEST(node, reports_carry_the_directors_count) {
  begun_node run;
  const auto before = run.director.nodes.size();
  run.tell(directive{1, 1, {8, true}, 0, 0, 5});
  run.wait(100ms);
  ASSERT_EQ(run.director.nodes.size(), before + 1) << "at once";
  EXPECT_EQ(run.director.nodes.back().round, 5u);
}

TEST(node, waits_for_nobody_where_training_is_to_stand) {
  begun_node run;
  run.tell(directive{1, 1, {0, false}, 0, 0});
  run.give_version(0);
  run.wait(1100ms);
  ASSERT_FALSE(run.director.nodes.empty());
  EXPECT_TRUE(run.director.nodes.back().waits.empty());
}

TEST(node, tells_of_a_link_at_once_that_it_said_was_missing) {
  begun_node run;
  run.wait(1000ms);
  const auto usual = run.director.nodes.size();
  run.link_there(10);
  EXPECT_EQ(run.director.nodes.size(), usual) << "nobody was told that this one was missing";
  auto news = test::played_node::both(1, 2);
  news.members.push_back({"third", 12, 1, 0});
  run.tell(news);
  ASSERT_EQ(run.director.nodes.size(), usual + 1) << "with each view";
  EXPECT_EQ(run.director.nodes.back().unreachable, std::vector<std::string>{"third"});
  run.wait(1000ms);
  EXPECT_EQ(run.director.nodes.size(), usual + 5) << "more often while it is so";
  run.tell(std::string{"third"}, uint64_t{12}, run.third());
  ASSERT_EQ(run.director.nodes.size(), usual + 6);
  EXPECT_TRUE(run.director.nodes.back().unreachable.empty());
  run.wait(1000ms);
  EXPECT_EQ(run.director.nodes.size(), usual + 7);
}

TEST(node, counts_no_time_in_which_it_did_not_run_as_work) {
  begun_node run;
  auto news = test::played_node::both(1, 2);
  news.members.push_back({"third", 12, 1, 0});
  run.tell(news);
  run.wait(100ms);
  run.gauge->begin(run.now(), {});
  const auto before = run.director.nodes.size();
  run.sleep_before(6s, std::string{"third"}, uint64_t{12}, run.third()); // it is reported at once
  run.wait(1s);
  ASSERT_GT(run.director.nodes.size(), before + 1);
  for (auto i = before; i < run.director.nodes.size(); ++i)
    EXPECT_LE(run.director.nodes[i].work.busy, 1s) << i;
}

TEST(node, says_whom_it_waits_for) {
  node_at_start run;
  run.wait(1100ms);
  ASSERT_FALSE(run.director.nodes.empty());
  const auto& news = run.director.nodes.back();
  EXPECT_EQ(news.waits, (std::vector<awaited>{{"there", "gradients of step 0, slices 2-3"}}));
  EXPECT_EQ(news.view, (view_number{1, 1}));
  EXPECT_EQ(news.replicas, (std::vector<replica_status>{{4, 5, 6}}));
}

TEST(node, slices_without_rows_are_missed_of_nobody) {
  played_node run;
  auto view = played_node::both(1, 1);
  view.replicas = {{0, 0, {0, 1}}, {1, 0, {1, 4}}};
  run.tell(view);
  run.give_version(0);
  run.give_version(1);
  run.wait(1100ms);
  const auto& waits = run.director.nodes.back().waits;
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].what, "gradients of step 1, slices 1, 3");
}

TEST(node, passes_on_what_the_shard_with_the_book_says_of_everybody) {
  node_at_start run;
  run.shard.figures = {3, {{{"there", 1}, {}}}};
  run.wait(1100ms);
  ASSERT_FALSE(run.director.nodes.empty());
  EXPECT_EQ(run.director.nodes.back().figures, run.shard.figures);
  auto elsewhere = played_node::both(1, 2);
  std::swap(elsewhere.shards[0].member, elsewhere.shards[1].member);
  elsewhere.id = {2, 1};
  run.tell(elsewhere);
  run.wait(1100ms);
  EXPECT_EQ(run.director.nodes.back().figures, trainer_figures{})
    << "the metrics are counted there";
}

TEST(node, ends_with_an_actor_of_its_own_and_says_which) {
  begun_node run;
  caf::scoped_actor self{run.get()};
  self->monitor(run.node());
  run.kill_shard();
  std::string why;
  self->receive([&](const caf::down_msg& news) { why = run.get().render(news.reason); },
                caf::after(0s) >> [] {});
  EXPECT_NE(why.find("shard 0 was lost"), std::string::npos) << why;
}

} // namespace
} // namespace troupe::node_test
