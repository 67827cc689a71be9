#include "data/training_rows/row_table.hpp"

#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <functional>
#include <limits>

namespace troupe::row_table_test {
namespace {

using json = nlohmann::ordered_json;

dataset some_form() {
  dataset form;
  form.feature_count = 2;
  form.feature_names = {"x", "an \"odd\" name"};
  form.target_names = {"t"};
  form.classes = {"a", "b"};
  return form;
}

holding_facts some_facts() {
  holding_facts facts;
  facts.size = {10, 3, 2};
  facts.features = {{9, {0.1}, {2.5}}, {10, {1e300}, {5e-324}}};
  facts.train_class_rows = {4, 6};
  facts.class_rows = {7, 8};
  facts.is_weighted = true;
  facts.counted = {10, 2, 1};
  return facts;
}

row_table some_table() {
  row_table table;
  table.form = some_form();
  table.learned.fill = {0.1f, 3};
  table.learned.features = {{1.0f / 3, 0}, {2, std::numeric_limits<float>::min()}};
  table.facts = some_facts();
  table.facts.size = {20, 3, 2};
  table.facts.counted = {20, 2, 1};
  table.facts.train_class_rows = {8, 12};
  table.facts.class_rows = {12, 13};
  table.facts.features[0].row_count = 19;
  table.holdings = {{"north", std::string(64, '0'), {10, 3, 2}, {"north", "copy"}},
                    {"south", std::string(64, '1'), {10, 0, 0}, {"south"}}};
  return table;
}

bool are_equal(const row_table& a, const row_table& b) {
  return table_text(a) == table_text(b) && a.form == b.form && a.facts == b.facts &&
         a.learned.fill == b.learned.fill && a.learned.features == b.learned.features &&
         a.learned.targets == b.learned.targets;
}

TEST(row_table, is_read_as_it_was_written_bit_for_bit) {
  const auto table = some_table();
  const auto found = table_of(table_text(table), "here");
  EXPECT_TRUE(are_equal(found, table)) << table_text(found);
  EXPECT_EQ(found.holding_of("copy"), 0u);
  EXPECT_EQ(found.holding_of("south"), 1u);
  EXPECT_EQ(found.holding_of("west"), std::nullopt);
  auto numbers = some_table();
  numbers.form.classes = {};
  numbers.form.target_count = 1;
  numbers.facts.train_class_rows = numbers.facts.class_rows = {};
  numbers.facts.targets = {20, {3.25}, {0.1}};
  numbers.facts.target_minimum = -2;
  numbers.learned.targets = {target_scale_kind::log, {0.1f}, {2}};
  EXPECT_TRUE(are_equal(table_of(table_text(numbers), "here"), numbers));
  auto sparse = some_table();
  sparse.form.sparse.starts = {0};
  sparse.form.feature_names = {};
  sparse.facts.features = {};
  sparse.facts.largest = {1, 0};
  sparse.learned = {};
  EXPECT_TRUE(are_equal(table_of(table_text(sparse), "here"), sparse));
}

TEST(row_table, a_form_of_categories_and_dates_is_read_as_it_was_written) {
  dataset form = some_form();
  form.columns.columns = {{"city", column_kind::category, {"Bergen", "Oslo"}, true},
                          {"day", column_kind::date, {}, false, date_form::day_first},
                          {"price", column_kind::amount, {}, false, date_form::year_first, "$"}};
  form.columns.missing = missing_rule::mean;
  form.columns.missing_cells = {"", "NA"};
  form.feature_names = feature_names_of(form.columns);
  form.feature_count = form.feature_names.size();
  EXPECT_EQ(form_of(form_text(form), "here"), form);
}

TEST(row_table, whatever_is_missing_or_of_another_type_is_refused_by_the_place_it_came_from) {
  const auto whole = json::parse(table_text(some_table()));
  size_t count = 0;
  const std::function<void(const json::json_pointer&)> damage = [&](const json::json_pointer& at) {
    const auto& value = whole.at(at);
    for (const auto& wrong :
         {json(), json("x"), json(-1), json(1.5), json::array({json::object()}), json::object()}) {
      auto text = whole;
      text[at] = wrong;
      if (text == whole)
        continue;
      ++count;
      try {
        const auto found = table_of(text.dump(), "a stranger");
        EXPECT_EQ(found.holdings.size(), 2u) << at << " " << wrong;
      } catch (const failure& error) {
        EXPECT_EQ(error.code(), failure_code::bad_data) << at << " " << wrong;
        EXPECT_EQ(error.where(), "a stranger");
      }
    }
    if (value.is_object())
      for (const auto& [key, inner] : value.items()) {
        auto text = whole;
        text[at].erase(key);
        EXPECT_EQ(test::failure_of([&] { table_of(text.dump(), "here"); }).code(),
                  failure_code::bad_data)
          << at << " " << key;
        damage(at / key);
      }
    if (value.is_array())
      for (size_t i = 0; i < value.size(); ++i)
        damage(at / i);
  };
  for (const auto& [key, value] : whole.items())
    damage(json::json_pointer{} / key);
  EXPECT_GT(count, 300u);
}

TEST(row_table, numbers_that_do_not_fit_each_other_are_refused) {
  const auto expect_refused = [](const char* why, const std::function<void(row_table&)>& change) {
    auto table = some_table();
    change(table);
    const auto refused = test::failure_of([&] { table_of(table_text(table), "here"); });
    EXPECT_TRUE(test::contains(refused.reason(), why)) << refused.reason();
  };
  expect_refused("do not have the rows", [](row_table& x) { x.holdings[1].size.train = 11; });
  expect_refused("no rows to train on", [](row_table& x) { x.holdings[1].size = {0, 0, 0}; });
  expect_refused("not in order", [](row_table& x) { std::swap(x.holdings[0], x.holdings[1]); });
  expect_refused("nobody has the rows", [](row_table& x) { x.holdings[0].holders = {}; });
  expect_refused("other columns or classes", [](row_table& x) { x.facts.class_rows.push_back(1); });
  expect_refused("more values than rows", [](row_table& x) { x.facts.features[0].row_count = 21; });
  expect_refused("scales other columns", [](row_table& x) { x.learned.fill.push_back(1); });
  expect_refused("not above 0", [](row_table& x) { x.learned.features.deviation[0] = 0; });
  expect_refused("more rows than there can be", [](row_table& x) { x.facts.counted.train = 21; });
  expect_refused("neither classes nor targets", [](row_table& x) { x.form.classes = {}; });
  expect_refused("do not have its rows", [](row_table& x) { ++x.facts.class_rows[0]; });
  expect_refused("a name twice", [](row_table& x) { x.form.feature_names[1] = "x"; });
  expect_refused("below 0", [](row_table& x) { x.facts.features[0].squares[0] = -1; });
  expect_refused("fills other columns", [](row_table& x) { x.form.columns.fill = {1}; });
  expect_refused("as many as their names", [](row_table& x) { x.form.feature_count = 3; });
}

TEST(row_table, text_that_nests_deeply_is_not_parsed) {
  EXPECT_EQ(test::failure_of([] { table_of(std::string(1'000'000, '['), "here"); }).code(),
            failure_code::bad_data);
}

TEST(row_card, says_what_it_said_and_has_a_fingerprint) {
  const row_card card{std::string(64, 'a'), form_text(some_form()), facts_text(some_facts()), "{}"};
  const auto found = card_of(card_text(card), "here");
  EXPECT_EQ(found.fingerprint, card.fingerprint);
  EXPECT_EQ(form_of(found.form, "here"), some_form());
  EXPECT_EQ(facts_of(found.facts, some_form(), "here"), some_facts());
  auto odd = card;
  odd.fingerprint = "north";
  EXPECT_EQ(test::failure_of([&] { card_of(card_text(odd), "north"); }).where(), "north");
}

// What a card tells: numbers whose count follows from the columns, and no value of any row.
TEST(row_card, is_as_long_for_many_rows_as_for_few) {
  const auto card_of_rows = [](size_t count) {
    holding x{"a", {}, "f"};
    x.rows.row_count = count;
    x.rows.feature_count = 1;
    x.rows.feature_names = {"x"};
    x.rows.classes = {"a", "b"};
    x.rows.target_names = {"t"};
    for (size_t i = 0; i < count; ++i) {
      x.rows.features.push_back(1234567.0f + static_cast<float>(i));
      x.rows.labels.push_back(static_cast<int32_t>(i % 2));
    }
    const auto form = without_rows(x.rows);
    return form_text(form) + facts_text(split_at_home(x, form, {}).facts);
  };
  EXPECT_NEAR(static_cast<double>(card_of_rows(10'000).size()),
              static_cast<double>(card_of_rows(10).size()), 40);
  EXPECT_FALSE(test::contains(card_of_rows(10), "1234567"));
}

} // namespace
} // namespace troupe::row_table_test
