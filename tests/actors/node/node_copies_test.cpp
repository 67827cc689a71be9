// What a node does with copies of spans: those of its own for a deputy, and those of another owner as its deputy.

#include "tests/support/played_node.hpp"

#include <gtest/gtest.h>

namespace troupe::node_copies_test {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr size_t all = played_node::parameter_count;
constexpr size_t here = played_node::here_count;

tensor_name copy_of(uint64_t version, uint64_t part = 0) {
  return {tensor_kind::copy, 0, version, only_leaf, part};
}

tensor_want come(uint64_t version, const index_range& elements) {
  return {copy_of(version), {elements}, false, true};
}

/// Two owners, deputies of each other, with copies every two steps and one slot.
struct copying_node : played_node {
  explicit copying_node(uint64_t start_version = 0) : played_node(1) {
    tell(view(1, start_version));
    tell(directive{1, 1, {8, true}, 0, 0});
  }

  static cluster_view view(uint64_t term, uint64_t start_version = 0) {
    auto result = both(term, 1, start_version);
    result.deputies = 1;
    result.copy_every = 2;
    return result;
  }

  /// The shard here has copied its span.
  void copy_here(uint64_t version) {
    shard_copy news{version, 0, counting_from(0, here), {counting_from(1, here)}, {}, false, true};
    news.numbers.metrics = {2, 3, 0, 0};
    tell(news);
  }

  static sent_piece piece_there(uint64_t version, uint64_t part, size_t first, size_t size) {
    auto what = piece_of(copy_of(version, part), first, size);
    what.note = note_of({2, 3, 0, 0}, 0);
    what.note.remarks = {};
    return {{from_there(), what}};
  }
  /// The neighbour's copy comes, whole.
  void give_copy(uint64_t version) {
    tell(piece_there(version, 0, here, all - here));
    tell(piece_there(version, 1, here, all - here));
  }

  void it_came(uint64_t version) { tell(sent_want{{from_there(), come(version, {0, here})}}); }

  std::vector<tensor_want> said() const {
    auto result = wants_of(there, tensor_kind::copy);
    std::erase_if(result, [](const tensor_want& x) { return !x.have_come; });
    return result;
  }
};

TEST(node_copies, a_copy_goes_to_the_deputy_and_the_shard_goes_on_once_it_has_come) {
  copying_node run;
  run.copy_here(2);
  const auto pieces = pieces_of(run.there, tensor_kind::copy);
  ASSERT_EQ(pieces.size(), 6u) << "three of each part";
  EXPECT_EQ(pieces[0].of, copy_of(2));
  EXPECT_EQ(pieces[5].of, copy_of(2, 1));
  EXPECT_EQ(pieces[0].note.facts, played_node::note_of({2, 3, 0, 0}, 0).facts);
  EXPECT_TRUE(run.shard.saved.empty());
  run.it_came(1);
  run.tell(sent_want{{played_node::from_there(), come(2, {0, here - 1})}});
  EXPECT_TRUE(run.shard.saved.empty());
  run.it_came(2);
  run.it_came(2); // it is said again and again
  EXPECT_EQ(run.shard.saved, std::vector<uint64_t>{2});
  EXPECT_TRUE(run.director.pieces.empty()) << "it is no checkpoint";
}

TEST(node_copies, a_deputy_says_that_a_copy_has_come_until_the_next_one_does) {
  copying_node run;
  run.tell(copying_node::piece_there(2, 0, here, all - here));
  EXPECT_TRUE(run.said().empty());
  run.wait(250ms);
  const auto wants = wants_of(run.there, tensor_kind::copy);
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0].of, copy_of(2, 1));
  EXPECT_EQ(wants[0].elements, (std::vector<index_range>{{here, all}}));
  run.tell(copying_node::piece_there(2, 1, here, all - here));
  EXPECT_EQ(run.said(), (std::vector{come(2, {here, all})}));
  run.wait(250ms);
  EXPECT_EQ(run.said().size(), 2u);
  run.give_copy(4);
  EXPECT_EQ(run.said().back(), come(4, {here, all}));
}

TEST(node_copies, what_is_held_is_said_when_it_is_asked_and_then_nothing_is_released) {
  copying_node run;
  run.copy_here(2);
  run.it_came(2);
  run.give_copy(2);
  run.copy_here(4);
  EXPECT_EQ(run.director.nodes.back().copies, (held_copies{}));
  for (const auto& other : {copies_request{2, 0}, copies_request{9, 8}, copies_request{1, 1}}) {
    run.tell(other); // of another director
    EXPECT_EQ(run.director.nodes.back().copies, (held_copies{}));
  }
  run.tell(copies_request{2, 1});
  EXPECT_EQ(run.director.nodes.back().copies, (held_copies{2, {{2, {{0, 2}}}, {4, {{0, 1}}}}}));
  run.it_came(4);
  EXPECT_EQ(run.shard.saved, std::vector<uint64_t>{2}) << "not before the next term";
  run.tell(played_node::span_here(7));
  run.tell(copies_request{3, 1}); // another span was lost meanwhile
  EXPECT_EQ(run.director.nodes.back().copies.term, 3u);
  EXPECT_EQ(run.director.nodes.back().copies.copies.size(), 2u) << "nothing is forgotten either";
}

TEST(node_copies, older_ones_are_forgotten_when_the_next_are_everywhere) {
  copying_node run;
  for (uint64_t version = 2; version <= 6; version += 2) {
    run.copy_here(version);
    run.it_came(version);
    run.give_copy(version);
  }
  run.tell(played_node::span_here(6)); // so version 5 was whole
  run.tell(asking(played_node::from_there(), tensor_kind::copy, 2, 0));
  EXPECT_FALSE(pieces_of(run.there, tensor_kind::copy).empty());
  run.acknowledge_there();
  run.there.pieces.clear();
  run.tell(played_node::span_here(7));
  run.tell(asking(played_node::from_there(), tensor_kind::copy, 2, 0));
  EXPECT_TRUE(pieces_of(run.there, tensor_kind::copy).empty());
  run.tell(asking(played_node::from_there(), tensor_kind::copy, 4, 0));
  EXPECT_EQ(joined(pieces_of(run.there, tensor_kind::copy)), counted(0, all)) << "of both spans";
}

TEST(node_copies, a_cut_stays_here_and_is_said_at_once) {
  copying_node run;
  run.copy_here(2);
  run.tell(directive{1, 2, {3, false, {}, true}, 0, 0});
  run.there.pieces.clear();
  shard_copy news{3, 0, counting_from(0, here), {counting_from(1, here)}, {}, false, false, true};
  run.tell(copies_request{2, 1});
  EXPECT_EQ(run.director.nodes.back().copies, (held_copies{2, {{2, {{0, 1}}}}}));
  const auto reports = run.director.nodes.size();
  run.tell(news);
  ASSERT_EQ(run.director.nodes.size(), reports + 1);
  EXPECT_EQ(run.director.nodes.back().copies, (held_copies{2, {{2, {{0, 1}}}, {3, {{0, 1}}}}}));
  EXPECT_TRUE(pieces_of(run.there, tensor_kind::copy).empty());
  EXPECT_TRUE(run.shard.saved.empty());
  run.it_came(2);
  EXPECT_EQ(run.shard.saved, std::vector<uint64_t>{2})
    << "the shard may have to go on to where all stand";
}

TEST(node_copies, a_shard_goes_on_to_where_all_stand_though_the_director_has_asked_before) {
  copying_node run;
  run.copy_here(2);
  run.tell(copies_request{2, 1});
  run.it_came(2);
  EXPECT_TRUE(run.shard.saved.empty());
  run.tell(directive{1, 2, {3, false, {}, true}, 0, 0});
  EXPECT_EQ(run.shard.saved, std::vector<uint64_t>{2});
  run.tell(directive{1, 3, {4, false, {}, true}, 0, 0});
  EXPECT_EQ(run.shard.saved, std::vector<uint64_t>{2}) << "once";
}

// The neighbour was lost: this process has its own copy and the neighbour's, but owns another span now.
TEST(node_copies, a_term_begins_with_what_is_here_and_what_others_hold) {
  copying_node run;
  run.copy_here(2);
  run.give_copy(2);
  auto next = copying_node::view(2, 2);
  next.shards = {{0, 0, {0, 2}}};
  next.deputies = next.copy_every = 0;
  next.holders = {{0, {0, 2}}};
  run.tell(next);
  ASSERT_EQ(run.shard.starts.size(), 2u) << "at once";
  const auto& start = run.shard.starts.back();
  EXPECT_EQ(values_of(start.parameters), counted(0, all));
  EXPECT_EQ(values_of(start.slots.at(0)).at(here), here);
  EXPECT_EQ(start.numbers.metrics, (batch_sums{2, 3, 0, 0}));
  EXPECT_EQ(run.shard.views.back().start_version, 2u);
}

TEST(node_copies, what_another_process_holds_is_asked_for_at_once) {
  copying_node run;
  run.copy_here(2);
  auto next = copying_node::view(2, 2);
  next.shards = {{0, 0, {0, 2}}};
  next.deputies = next.copy_every = 0;
  next.holders = {{0, {0, 1}}, {1, {1, 2}}};
  run.there.wants.clear();
  run.tell(next);
  EXPECT_EQ(wants_of(run.there, tensor_kind::copy),
            (std::vector<tensor_want>{{copy_of(2), {{here, all}}, false},
                                      {copy_of(2, 1), {{here, all}}, false}}));
  EXPECT_TRUE(wants_of(run.director, tensor_kind::state).empty());
  run.wait(1000ms);
  EXPECT_EQ(run.director.nodes.back().waits,
            (std::vector<awaited>{{"there", "copies of version 2"}}));
  run.tell(copying_node::piece_there(2, 0, here, all - here));
  EXPECT_EQ(run.shard.starts.size(), 1u);
  run.tell(copying_node::piece_there(2, 1, here, all - here));
  ASSERT_EQ(run.shard.starts.size(), 2u);
  EXPECT_EQ(values_of(run.shard.starts.back().parameters), counted(0, all));
}

} // namespace
} // namespace troupe::node_copies_test
