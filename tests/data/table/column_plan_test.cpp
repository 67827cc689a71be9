// From cells to features: codes, order of categories, dates, gaps, and the plan as text.

#include "data/table/cell_coder.hpp"
#include "data/table/column_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(column_plan, dates_with_times_have_an_hour_of_their_own) {
  column_plan plan;
  plan.columns = {{"at", column_kind::datetime}};
  plan.columns[0].order = date_form::month_first;
  plan.columns[0].marks_missing = true;
  EXPECT_EQ(feature_names_of(plan), (std::vector<std::string>{"at days", "at month", "at weekday",
                                                              "at hour", "at is missing"}));
  cell_coder coder{plan};
  std::vector<float> cells(4);
  EXPECT_EQ(coder.code(0, "2/29/2024 13:50", cells[0]), cell_status::coded);
  EXPECT_EQ(coder.code(0, "1999-12-31T23:59", cells[1]), cell_status::coded);
  EXPECT_EQ(coder.code(0, "2024-02-29", cells[2]), cell_status::coded);
  EXPECT_EQ(coder.code(0, "29/2/2024", cells[3]), cell_status::unreadable);
  EXPECT_EQ(coder.code(0, "", cells[3]), cell_status::missing);
  const auto rows = expand(plan, cells);
  EXPECT_EQ((std::vector<float>{rows.begin(), rows.begin() + 15}),
            (std::vector<float>{8825, 2, 4, 13.75, 0, -1, 12, 5, 23.75, 0, 8825, 2, 4, 0, 0}));
  EXPECT_TRUE(std::all_of(rows.begin() + 15, rows.begin() + 19, [](float x) { return x != x; }));
  EXPECT_EQ(rows.back(), 1);
}

TEST(column_plan, a_column_of_amounts_has_one_unit) {
  const auto statuses = [](const std::vector<std::string>& cells) {
    cell_coder coder{column_options{}, {{"x", column_kind::amount}}};
    std::vector<float> values;
    std::string unit;
    for (const auto& cell : cells) {
      float value = gap;
      if (coder.code(0, cell, value) != cell_status::coded)
        return unit + " refused " + cell;
      values.push_back(value);
    }
    unit = coder.learn(values).columns[0].unit;
    return unit + " " + std::to_string(static_cast<int>(values.back()));
  };
  EXPECT_EQ(statuses({"1,234", "2"}), " 2");
  EXPECT_EQ(statuses({"2", "$1,234", "3"}), "$ 3");
  EXPECT_EQ(statuses({"$2", "€3"}), " refused €3");
  EXPECT_EQ(statuses({"12%", "0.12"}), " refused 0.12");
  EXPECT_EQ(statuses({"0.12", "12%"}), " refused 12%");
  EXPECT_EQ(statuses({"12%", "7 %"}), "% 7");
  EXPECT_EQ(statuses({"1,23"}), " refused 1,23");
  EXPECT_EQ(statuses({"1", "1e300"}), " refused 1e300");
}

TEST(column_plan, amounts_to_predict_keep_to_the_unit_of_training) {
  column_plan plan;
  plan.columns = {{"x", column_kind::amount}, {"y", column_kind::amount}};
  plan.columns[0].unit = "%";
  plan.target = plan_column{"price", column_kind::amount};
  plan.target->unit = "$";
  plan.missing_cells = {"-999"};
  EXPECT_EQ(plan_of(text_of(plan)), plan);
  cell_coder coder{plan};
  float value = 0;
  double target = 0;
  EXPECT_EQ(coder.code(0, "0.5", value), cell_status::other_unit);
  EXPECT_EQ(coder.code(0, "-999.0", value), cell_status::missing);
  EXPECT_EQ(coder.code(1, "5%", value), cell_status::other_unit);
  EXPECT_EQ(coder.code(1, "1,000", value), cell_status::coded);
  EXPECT_EQ(value, 1000);
  EXPECT_EQ(coder.code_target("$1,200.5", target), cell_status::coded);
  EXPECT_EQ(target, 1200.5);
  EXPECT_EQ(coder.code_target("EUR 3", target), cell_status::other_unit);
  EXPECT_EQ(coder.code_target("much", target), cell_status::unreadable);
}

TEST(column_plan, its_text_is_the_plan_and_nothing_else_is_read) {
  const auto plan = plan_of_all_kinds();
  EXPECT_EQ(plan_of(text_of(plan)), plan);
  EXPECT_EQ(
    text_of(plan), // as files of before have it, and the identities of their jobs
    R"({"columns":[{"kind":"number","marks_missing":true,"name":"age"},)"
    R"({"categories":["Bergen","Oslo"],"kind":"category","marks_missing":true,"name":"city"},)"
    R"({"kind":"boolean","name":"new"},{"kind":"date","name":"when"}],)"
    R"("missing":"mean","missing_cells":["NA"]})");
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
         {"}]", ",\"order\":\"day-first\"}]"}, // of no date
         {"}]", ",\"unit\":\"$\"}]"},          // of no amount
         {"}]", "}],\"target\":{\"kind\":\"number\",\"name\":\"y\"}"},
         {"[{\"kind\":\"number\",\"name\":\"a\"}]", "[]"},
         {"{\"col", "[\"col"}}) {
    auto bad = good;
    bad.replace(bad.find(part), part.size(), other);
    EXPECT_FALSE(plan_of(bad)) << bad;
  }
}

} // namespace
} // namespace troupe::column_plan_test
