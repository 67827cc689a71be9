// From cells to features: codes, order of categories, dates, gaps, and the plan as text.

#include "data/table/cell_coder.hpp"
#include "data/table/column_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::column_plan_test {
namespace {

constexpr float gap = std::numeric_limits<float>::quiet_NaN();

column_plan plan_of_all_kinds() {
  column_plan plan;
  plan.columns = {{"age", column_kind::number, {}, true},
                  {"city", column_kind::category, {"Bergen", "Oslo"}, true},
                  {"new", column_kind::boolean},
                  {"when", column_kind::date}};
  plan.missing = missing_rule::mean;
  plan.missing_cells = {"NA"};
  return plan;
}

/// The plan that a column of categories with these cells has.
column_plan learned(const std::vector<std::string>& cells, std::vector<float>& codes,
                    const column_options& choice = {}) {
  cell_coder coder{choice, {{"x", column_kind::category}}};
  codes.clear();
  for (const auto& cell : cells) {
    float code = 0;
    coder.code(0, cell, code);
    codes.push_back(code);
  }
  return coder.learn(codes);
}

std::vector<std::string> categories_of(const std::vector<std::string>& cells) {
  std::vector<float> codes;
  return learned(cells, codes).columns[0].categories;
}

float days_of(const std::string& text) {
  float days = gap;
  return read_date(text, days) ? days : gap;
}

TEST(column_plan, features_have_the_names_and_the_order_of_their_columns) {
  EXPECT_EQ(feature_names_of(plan_of_all_kinds()),
            (std::vector<std::string>{"age", "age is missing", "city=Bergen", "city=Oslo",
                                      "city is missing", "new", "when days", "when month",
                                      "when weekday"}));
  EXPECT_EQ(is_mark(plan_of_all_kinds()),
            (std::vector<bool>{false, true, true, true, true, false, false, false, false}));
}

TEST(column_plan, cells_become_features_and_gaps_are_filled) {
  auto plan = plan_of_all_kinds();
  auto rows =
    expand(plan, std::vector<float>{40, 1, 1, 0, gap, gap, gap, gap, 7, unseen_category, 0, 59});
  plan.fill = {30, 0, 0, 0, 0, 0.5, 100, 6, 4};
  fill_gaps(plan, rows);
  EXPECT_EQ(rows, (std::vector<float>{40, 0, 0, 1, 0, 1,   0,   1, 6, // 2000-01-01 was a Saturday
                                      30, 1, 0, 0, 1, 0.5, 100, 6, 4, //
                                      7,  0, 0, 0, 0, 0,   59,  2, 2})); // 2000-02-29 a Tuesday
}

TEST(column_plan, categories_are_sorted_as_classes_are_whatever_the_order_of_rows) {
  EXPECT_EQ(categories_of({"b", "a", "B", "10", "9"}),
            (std::vector<std::string>{"10", "9", "B", "a", "b"}));
  EXPECT_EQ(categories_of({"10", "9", "-1", "9.5"}),
            (std::vector<std::string>{"-1", "9", "9.5", "10"}));
  std::vector<float> codes;
  const auto plan = learned({"Oslo", "Bergen", "Oslo", "", "Bodø"}, codes);
  EXPECT_EQ((std::vector<float>{codes[0], codes[1], codes[2], codes[4]}),
            (std::vector<float>{2, 0, 2, 1}));
  EXPECT_TRUE(std::isnan(codes[3]) && plan.columns[0].marks_missing);
}

// 02116 and 2116 are two codes, and 1.10 is no 1.1.
TEST(column_plan, categories_are_texts_though_they_are_numbers) {
  for (const auto& cells : {std::vector<std::string>{"2116", "1e5", "02116", "100000"},
                            std::vector<std::string>{"100000", "02116", "1e5", "2116"}}) {
    std::vector<float> codes;
    const auto plan = learned(cells, codes);
    EXPECT_EQ(plan.columns[0].categories,
              (std::vector<std::string>{"02116", "2116", "100000", "1e5"}));
    cell_coder known{plan};
    for (size_t i = 0; i < cells.size(); ++i) {
      float code = -2;
      known.code(0, cells[i], code);
      EXPECT_EQ(code, codes[i]) << cells[i];
    }
  }
}

TEST(column_plan, cells_that_stand_for_no_value_are_known_by_value_among_numbers) {
  column_options choice{.missing = missing_rule::mean, .missing_cells = {"-999", "NA"}};
  cell_coder coder{choice, {{"x"}, {"code", column_kind::category}}};
  float code = 0;
  for (const auto* cell : {"-999", "-999.0", "-9.99e2", "NA", ""})
    EXPECT_EQ(coder.code(0, cell, code), cell_status::missing) << cell;
  EXPECT_EQ(coder.code(0, "-999.5", code), cell_status::coded);
  EXPECT_EQ(coder.code(1, "-999", code), cell_status::missing);
  EXPECT_EQ(coder.code(1, "-999.0", code), cell_status::coded) << "a code is a text";
}

TEST(column_plan, no_more_categories_than_allowed_are_collected) {
  column_options choice{.categories_max = 2};
  cell_coder coder{choice, {{"x", column_kind::category}, {"y", column_kind::category}}};
  float code = 0;
  EXPECT_EQ(coder.code(0, "a", code), cell_status::coded);
  EXPECT_EQ(coder.code(1, "a", code), cell_status::coded);
  EXPECT_EQ(coder.code(0, "a", code), cell_status::coded);
  EXPECT_EQ(coder.code(0, "b", code), cell_status::too_many);
  EXPECT_EQ(cell_coder(column_options{}, {{"x", column_kind::category}}).code(0, "\xff", code),
            cell_status::not_utf8);
}

TEST(column_plan, what_training_has_not_seen_is_no_category_and_counted) {
  cell_coder coder{plan_of_all_kinds()};
  float code = 7;
  EXPECT_EQ(coder.code(1, "Oslo", code), cell_status::coded);
  EXPECT_EQ(code, 1);
  EXPECT_TRUE(coder.unseen_remark().empty());
  for (const auto* city : {"Paris", "Paris", "Rome"})
    EXPECT_EQ(coder.code(1, city, code), cell_status::coded);
  EXPECT_EQ(code, unseen_category);
  EXPECT_EQ(coder.unseen_remark(),
            "3 cells are categories that training has not seen and counts as none of those it "
            "has: 'city' has 'Paris', 'Rome'");
  EXPECT_EQ(coder.code(1, "NA", code), cell_status::missing);
  EXPECT_EQ(coder.code(0, "tall", code), cell_status::unreadable);
  EXPECT_EQ(coder.code(2, "perhaps", code), cell_status::unreadable);
  column_plan numbers{.columns = {{"x", column_kind::category, {"1", "2"}}}};
  cell_coder{numbers}.code(0, "2.0", code);
  EXPECT_EQ(code, 1) << "categories that are numbers are known by value";
}

TEST(column_plan, dates_and_booleans_are_what_they_say) {
  EXPECT_EQ(days_of("2000-01-01"), 0);
  EXPECT_EQ(days_of("1999/12/31"), -1);
  EXPECT_EQ(days_of("2024.2.29"), 8825);
  EXPECT_EQ(days_of("2024-02-29T23:59:00Z"), 8825);
  for (const auto* none :
       {"", "2024", "2024-", "2024-02", "2024-02-30", "2023-02-29", "24-02-01", "29.02.2024",
        "2024-02-29x", "2024-02/29", "2024-00-01", "2024--1-01", "x"})
    EXPECT_TRUE(std::isnan(days_of(none))) << none;
  float value = 0;
  for (const auto* yes : {"true", "YES", "t", "Y", "1"})
    EXPECT_TRUE(read_boolean(yes, value) && value == 1) << yes;
  for (const auto* no : {"False", "no", "F", "n", "0"})
    EXPECT_TRUE(read_boolean(no, value) && value == 0) << no;
  for (const auto* none : {"", "2", "tru", "truely", "ja"})
    EXPECT_FALSE(read_boolean(none, value)) << none;
}

TEST(column_plan, its_text_is_the_plan_and_nothing_else_is_read) {
  const auto plan = plan_of_all_kinds();
  EXPECT_EQ(plan_of(text_of(plan)), plan);
  const std::string good =
    R"({"columns":[{"kind":"number","name":"a"}],"missing":"error","missing_cells":[]})";
  EXPECT_TRUE(plan_of(good));
  for (const auto& [part, other] : std::vector<std::pair<std::string, std::string>>{
         {"number", "text"},
         {"\"a\"", "1"},
         {"\"error\"", "\"sum\""},
         {"[]", "[1]"},
         {"[]", "[\"\",\"\"]"},
         {"\"name\"", "\"nome\""},
         {"}]", "},{\"kind\":\"number\",\"name\":\"a\"}]"},
         {"}]", ",\"marks_missing\":1}]"},
         {"}]", ",\"categories\":[\"x\"]}]"},
         {"[{\"kind\":\"number\",\"name\":\"a\"}]", "[]"},
         {"{\"col", "[\"col"}}) {
    auto bad = good;
    bad.replace(bad.find(part), part.size(), other);
    EXPECT_FALSE(plan_of(bad)) << bad;
  }
}

} // namespace
} // namespace troupe::column_plan_test
