// Dates, times, amounts and booleans as people write them.

#include "data/table/cell_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::cell_text_test {
namespace {

constexpr float none = std::numeric_limits<float>::quiet_NaN();
constexpr auto by_year = date_form::year_first, by_day = date_form::day_first,
               by_month = date_form::month_first;

float days_of(const std::string& text, date_form order = by_year) {
  float days = none;
  return read_date(text, order, days) ? days : none;
}

/// The hour, if the day is 2024-02-29.
float hour_of(const std::string& text, date_form order = by_year) {
  float quarters = none;
  return read_datetime(text, order, quarters) ? quarters / 4 - 8825 * 24 : none;
}

TEST(cell_text, dates_begin_with_the_year_or_have_an_order) {
  EXPECT_EQ(days_of("2000-01-01"), 0);
  EXPECT_EQ(days_of("1999/12/31"), -1);
  for (const auto order : {by_year, by_day, by_month})
    for (const auto* text : {"2024.2.29", "2024-02-29T23:59:00Z", "2024/02/29 what follows"})
      EXPECT_EQ(days_of(text, order), 8825) << text;
  for (const auto* text : {"29/02/2024", "29.2.2024", "29-02-2024 13:05"}) {
    EXPECT_EQ(days_of(text, by_day), 8825) << text;
    EXPECT_TRUE(std::isnan(days_of(text, by_year)) && std::isnan(days_of(text, by_month))) << text;
  }
  EXPECT_EQ(days_of("2/29/2024", by_month), 8825);
  EXPECT_EQ(days_of("3/4/2024", by_month), 8829);
  EXPECT_EQ(days_of("3/4/2024", by_day), 8859);
  for (const auto* text :
       {"",         "2024",        "2024-",      "2024-02",    "2024-02-30", "2023-02-29",
        "24-02-01", "2024-02-29x", "2024-02/29", "2024-00-01", "2024--1-01", "x",
        "29/02/24", "29/02/02024", "29/02.2024", "0/1/2024",   "29/2/999",   "1/2",
        "1/2/",     "1//2024",     "999-01-01"})
    for (const auto order : {by_year, by_day, by_month})
      EXPECT_TRUE(std::isnan(days_of(text, order))) << text;
  for (const auto* text : {"29/09/21", "9/29/21", "1.2.03 13:05"})
    EXPECT_TRUE(has_short_year(text)) << text;
  for (const auto* text : {"29/09/2021", "2021-09-29", "1.5", "", "1/2", "a/b/c"})
    EXPECT_FALSE(has_short_year(text)) << text;
}

TEST(cell_text, times_stand_behind_dates) {
  for (const auto& [text, hour] :
       std::vector<std::pair<std::string, float>>{{"2024-02-29", 0},
                                                  {"2024-02-29T13:05", 13},
                                                  {"2024-02-29 13:05:59", 13},
                                                  {"2024-02-29 9:15", 9.25},
                                                  {"2024-02-29T13:59:59.999Z", 13.75},
                                                  {"2024-02-29T13:45+02:00", 13.75},
                                                  {"2024-02-29 13:30:00 -0530", 13.5},
                                                  {"2024-02-29 1:30 PM", 13.5},
                                                  {"2024-02-29 12:00am", 0},
                                                  {"2024-02-29 12:10 pm", 12},
                                                  {"2024-02-29 00:00:00 UTC", 0}})
    EXPECT_EQ(hour_of(text), hour) << text;
  EXPECT_EQ(hour_of("29.02.2024 13:05", by_day), 13);
  EXPECT_EQ(hour_of("2/29/2024 13:05", by_month), 13);
  for (const auto* text :
       {"2024-02-29 ", "2024-02-29T", "2024-02-29 13", "2024-02-29 24:00", "2024-02-29 13:60",
        "2024-02-29 13:5", "2024-02-29 13:05 noon", "2024-02-29 0:05 PM", "2024-02-29 13:05 PM",
        "1599-12-31", "2400-01-01", "13:05"})
    EXPECT_TRUE(std::isnan(hour_of(text))) << text;
  float first = 0, last = 0;
  EXPECT_TRUE(read_datetime("1600-01-01", by_year, first));
  EXPECT_TRUE(read_datetime("2399-12-31 23:45", by_year, last));
  EXPECT_TRUE(std::nextafter(first, 0.0f) - first <= 1 && last - std::nextafter(last, 0.0f) <= 1)
    << "a float has each quarter";
}

TEST(cell_text, amounts_have_thousands_and_units) {
  struct row {
    const char* text;
    double value;
    const char* unit;
  };
  for (const auto& [text, value, unit] : {row{"12", 12, ""},
                                          row{"-1.5e3", -1500, ""},
                                          row{"1,234", 1234, ""},
                                          row{"1,234,567.5", 1234567.5, ""},
                                          row{"1 234 567", 1234567, ""},
                                          row{"1'234.5", 1234.5, ""},
                                          row{"1\u00a0234", 1234, ""},
                                          row{"1\u202f234", 1234, ""},
                                          row{"12%", 12, "%"},
                                          row{"-0.5 %", -0.5, "%"},
                                          row{"$1,200", 1200, "$"},
                                          row{"-$12", -12, "$"},
                                          row{"$-12", -12, "$"},
                                          row{"($1,200.5)", -1200.5, "$"},
                                          row{"(12)", -12, ""},
                                          row{"\u221212", -12, ""},
                                          row{"EUR 12", 12, "EUR"},
                                          row{"12 EUR", 12, "EUR"},
                                          row{"12 €", 12, "€"},
                                          row{"12€", 12, "€"},
                                          row{"€ 1 234", 1234, "€"},
                                          row{"1 234\u00a0€", 1234, "€"},
                                          row{"£.5", 0.5, "£"}}) {
    const auto found = read_amount(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->value, value) << text;
    EXPECT_EQ(found->unit, unit) << text;
  }
  for (const auto* text :
       {"",          "-",      "$",     "%",     "()",    "1,23",      "1,2345",     "1234,567",
        "1,234 567", "1,,234", "12 kg", "EUR12", "A12",   "C85",       "12EUR",      "$12%",
        "$12 EUR",   "--12",   "-$-12", "(-12)", "12 34", "1.234.567", "29.09.2021", "29/09/2021",
        "1-2",       "12:30",  "inf",   "nan",   "N/A",   "1,234.5.6"})
    EXPECT_FALSE(read_amount(text)) << text;
  EXPECT_EQ(with_marks_swapped("1.234.567,5 €"), "1,234,567.5 €");
}

TEST(cell_text, booleans_are_what_they_say) {
  float value = 0;
  for (const auto* yes : {"true", "YES", "t", "Y", "1"})
    EXPECT_TRUE(read_boolean(yes, value) && value == 1) << yes;
  for (const auto* no : {"False", "no", "F", "n", "0"})
    EXPECT_TRUE(read_boolean(no, value) && value == 0) << no;
  for (const auto* neither : {"", "2", "tru", "truely", "ja"})
    EXPECT_FALSE(read_boolean(neither, value)) << neither;
}

} // namespace
} // namespace troupe::cell_text_test
