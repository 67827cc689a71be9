#include "actors/net/table/table_agreement.hpp"

#include "tests/support/contains.hpp"

#include <gtest/gtest.h>

#include <set>

namespace troupe::table_agreement_test {
namespace {

/// A node with rows of these classes, and its two cards.
struct player {
  player(std::string node, const std::vector<std::string>& classes, float first)
    : name(std::move(node)) {
    rows.row_count = 2 * classes.size();
    rows.feature_count = 1;
    rows.feature_names = {"x"};
    rows.target_names = {"kind"};
    rows.classes = classes;
    for (size_t i = 0; i < rows.row_count; ++i) {
      rows.features.push_back(first + static_cast<float>(i));
      rows.labels.push_back(static_cast<int32_t>(i % classes.size()));
    }
    card.fingerprint = content_fingerprint(rows);
    card.form = form_text(without_rows(rows));
  }

  std::string first() const { return card_text(card); }
  std::string second(const std::string& form) {
    const auto agreed = form_of(form, name);
    card.facts = facts_text(split_at_home({name, rows, card.fingerprint}, agreed, {}).facts);
    card.learned = scales_text({});
    return card_text(card);
  }

  std::string name;
  dataset rows;
  row_card card;
};

table_agreement agreement_of(const std::vector<std::string>& holders) {
  return table_agreement{{holders, holders, 10, {}}};
}

TEST(table_agreement, forms_come_first_then_facts_and_all_hear_the_same) {
  auto agreement = agreement_of({"north", "south"});
  player north{"north", {"cat", "dog"}, 1}, south{"south", {"emu"}, 9};
  auto answer = agreement.on_card("north", north.first());
  EXPECT_EQ(answer.waits_for, "south");
  EXPECT_EQ(answer.form, "");
  answer = agreement.on_card("south", south.first());
  ASSERT_NE(answer.form, "");
  EXPECT_FALSE(answer.is_alone);
  EXPECT_EQ(form_of(answer.form, "here").classes, (std::vector<std::string>{"cat", "dog", "emu"}));
  EXPECT_EQ(agreement.missing(), (std::vector<std::string>{"north", "south"})) << "of facts";
  EXPECT_EQ(agreement.on_card("south", south.second(answer.form)).table, "");
  const auto last = agreement.on_card("north", north.second(answer.form));
  ASSERT_NE(last.table, "");
  EXPECT_TRUE(agreement.is_over());
  const auto table = table_of(last.table, "here");
  EXPECT_EQ(table.facts.size.train, 6u);
  EXPECT_EQ(table.holdings[*table.holding_of("south")].size.train, 2u);
  EXPECT_EQ(last.form, "") << "the table has it";
  EXPECT_EQ(agreement.on_card("director", "").table, last.table) << "who has no rows hears it, too";
  EXPECT_EQ(agreement.on_card("south", south.first()).table, last.table)
    << "another life asks anew";
}

TEST(table_agreement, follows_from_what_came_and_not_from_when) {
  std::set<std::string> tables;
  for (const bool reversed : {false, true}) {
    auto agreement = agreement_of({"a", "b", "c"});
    std::vector<player> players{{"a", {"x", "y"}, 1}, {"b", {"y", "z"}, 5}, {"c", {"x"}, 3}};
    if (reversed)
      std::swap(players[0], players[2]);
    std::string form;
    for (const auto& one : players)
      form = agreement.on_card(one.name, one.first()).form;
    for (auto& one : players)
      agreement.on_card(one.name, one.second(form));
    ASSERT_TRUE(agreement.table());
    tables.insert(table_text(*agreement.table()));
  }
  EXPECT_EQ(tables.size(), 1u);
}

TEST(table_agreement, copies_are_one_holding_with_two_holders) {
  auto agreement = agreement_of({"north", "copy"});
  player north{"north", {"cat", "dog"}, 1}, copy{"copy", {"cat", "dog"}, 1};
  agreement.on_card("north", north.first());
  const auto answer = agreement.on_card("copy", copy.first());
  EXPECT_TRUE(answer.is_alone);
  agreement.on_card("north", north.second(answer.form));
  agreement.on_card("copy", copy.second(answer.form));
  ASSERT_TRUE(agreement.table());
  ASSERT_EQ(agreement.table()->holdings.size(), 1u);
  EXPECT_EQ(agreement.table()->holdings[0].holders, (std::vector<std::string>{"copy", "north"}));
}

TEST(table_agreement, what_does_not_fit_ends_it_for_all_with_the_reason) {
  auto agreement = agreement_of({"north", "south"});
  player north{"north", {"cat", "dog"}, 1}, south{"south", {"cat"}, 2};
  south.rows.feature_names = {"z"};
  south.card.form = form_text(without_rows(south.rows));
  agreement.on_card("north", north.first());
  const auto answer = agreement.on_card("south", south.first());
  EXPECT_EQ(answer.problem_code, 65);
  EXPECT_TRUE(test::contains(answer.problem, "no column"));
  EXPECT_TRUE(agreement.is_over());
  EXPECT_EQ(agreement.on_card("north", north.first()), answer);
}

TEST(table_agreement, rows_that_change_on_the_way_are_that_nodes_problem) {
  auto agreement = agreement_of({"north", "south"});
  player north{"north", {"cat", "dog"}, 1}, south{"south", {"cat"}, 2}, other{"south", {"cat"}, 3};
  agreement.on_card("south", other.first());
  EXPECT_EQ(agreement.on_card("south", south.first()).problem_code, 0) << "before all is agreed";
  const auto form = agreement.on_card("north", north.first()).form;
  EXPECT_EQ(agreement.on_card("south", other.first()).problem_code, 65);
  EXPECT_FALSE(agreement.is_over());
  agreement.on_card("south", south.second(form));
  agreement.on_card("north", north.second(form));
  ASSERT_TRUE(agreement.table());
  EXPECT_EQ(agreement.on_card("south", other.first()).problem_code, 65);
}

TEST(table_agreement, cards_that_are_none_and_nodes_that_say_otherwise_are_refused) {
  auto agreement = agreement_of({"north", "south"});
  for (const auto* text :
       {"x", "{}",
        R"({"fingerprint":"f","form":"","facts":"","learned":"","code":0,"problem":""})"})
    EXPECT_EQ(agreement.on_card("north", text).problem_code, 65) << text;
  EXPECT_EQ(agreement.on_card("north", "").problem_code, 76);
  EXPECT_EQ(agreement.on_card("west", player("west", {"a"}, 1).first()).problem_code, 76);
  EXPECT_EQ(agreement.missing().size(), 2u);
  EXPECT_FALSE(agreement.is_over());
}

TEST(table_agreement, a_node_that_cannot_take_part_says_why_and_ends_all) {
  auto agreement = agreement_of({"north", "south"});
  row_card card;
  card.fingerprint = std::string(64, '0');
  card.problem_code = 65;
  card.problem = "south.csv:3: no number";
  const auto answer = agreement.on_card("south", card_text(card));
  EXPECT_EQ(answer.problem_code, 65);
  EXPECT_EQ(answer.problem_place, "south");
  EXPECT_EQ(agreement.on_card("north", player("north", {"a", "b"}, 1).first()), answer);
}

TEST(table_agreement, rows_that_nobody_can_compute_on_are_refused_at_once) {
  table_agreement agreement{{{"north", "south"}, {"north"}, 10, {}}};
  agreement.on_card("north", player("north", {"a", "b"}, 1).first());
  const auto answer = agreement.on_card("south", player("south", {"a"}, 5).first());
  EXPECT_EQ(answer.problem_code, 78);
  EXPECT_EQ(answer.problem_place, "south");
}

TEST(table_agreement, forms_that_differ_in_how_cells_are_read_are_refused) {
  auto agreement = agreement_of({"north", "south"});
  player north{"north", {"a", "b"}, 1}, south{"south", {"a"}, 5};
  south.rows.columns.columns = {{"x"}};
  south.card.form = form_text(without_rows(south.rows));
  agreement.on_card("north", north.first());
  EXPECT_EQ(agreement.on_card("south", south.first()).problem_code, 65);
}

TEST(table_agreement, who_does_not_come_is_the_reason_why_it_ends) {
  auto agreement = agreement_of({"north", "south"});
  agreement.fail({failure_code::unavailable, "no rows came from south within 1 s"});
  const auto answer = agreement.on_card("north", player("north", {"a", "b"}, 1).first());
  EXPECT_EQ(answer.problem_code, 69);
  EXPECT_TRUE(test::contains(answer.problem, "south"));
}

} // namespace
} // namespace troupe::table_agreement_test
