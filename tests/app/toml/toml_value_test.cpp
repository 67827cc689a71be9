#include "app/toml/parse_toml.hpp"

#include "tests/support/contains.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe::toml_value_test {
namespace {

const toml_problem* problem_of(const std::variant<toml_value::table, toml_problem>& parsed) {
  return std::get_if<toml_problem>(&parsed);
}

TEST(toml_value, entries_keep_the_order_of_the_text_and_know_their_places) {
  const auto parsed = parse_toml("[b]\nz = 1\na = 2.5\n");
  const auto& table = std::get<toml_value::table>(parsed);
  ASSERT_EQ(table.size(), 1u);
  const auto& inner = *table[0].value.as<toml_value::table>();
  ASSERT_EQ(inner.size(), 2u);
  EXPECT_EQ(inner[0].name, "z");
  EXPECT_EQ(inner[0].at, (source_position{2, 1}));
  EXPECT_EQ(inner[0].value.at, (source_position{2, 5}));
  EXPECT_EQ(*inner[0].value.as<int64_t>(), 1);
  EXPECT_EQ(inner[1].name, "a");
  EXPECT_EQ(*inner[1].value.as<double>(), 2.5);
}

TEST(toml_value, syntax_errors_and_doubled_keys_say_where) {
  const auto parsed = parse_toml("a = 1\nb = = 2\n");
  ASSERT_TRUE(problem_of(parsed));
  EXPECT_EQ(problem_of(parsed)->at, (source_position{2, 5}));
  EXPECT_FALSE(problem_of(parsed)->why.empty());
  const auto doubled = parse_toml("a = 1\na = 2\n");
  ASSERT_TRUE(problem_of(doubled));
  EXPECT_EQ(problem_of(doubled)->at.line, 2u);
}

TEST(toml_value, deep_dotted_keys_are_refused_before_they_are_built) {
  std::string key = "a";
  for (int i = 0; i < 64; ++i)
    key += ".a";
  EXPECT_FALSE(problem_of(parse_toml("x = 1\n" + key + " = 1\n")));
  const auto parsed = parse_toml("x = 1\n" + key + ".a = 1\n");
  ASSERT_TRUE(problem_of(parsed));
  EXPECT_EQ(problem_of(parsed)->at.line, 2u);
  std::string hostile;
  for (int i = 0; i < 2000000; ++i)
    hostile += "a.";
  EXPECT_TRUE(problem_of(parse_toml("[" + hostile + "a]")));
}

TEST(toml_value, deep_nesting_of_any_form_ends_in_a_problem_not_a_crash) {
  EXPECT_TRUE(problem_of(parse_toml("a = " + std::string(1000000, '['))));
  std::string inline_tables = "a = ";
  for (int i = 0; i < 300000; ++i)
    inline_tables += "{a=";
  EXPECT_TRUE(problem_of(parse_toml(inline_tables)));
  // The deepest that gets through: 64 dots a line and just below the library's limit of values.
  std::string dots = "a";
  for (int i = 0; i < 63; ++i)
    dots += ".a";
  std::string text;
  for (int i = 0; i < 120; ++i)
    text += dots + " = [\n{";
  text += "x = 1";
  for (int i = 0; i < 120; ++i)
    text += "}]";
  EXPECT_FALSE(problem_of(parse_toml(text)));
}

TEST(toml_value, a_long_list_of_fractions_is_no_deep_key) {
  std::string text = "x = [0.5";
  for (int i = 0; i < 1000; ++i)
    text += ", 0.5";
  EXPECT_FALSE(problem_of(parse_toml(text + "]")));
  for (const std::string part : {"\"a,\"", "'a,'", "\"\\\",\""}) {
    auto key = part;
    for (int i = 0; i < 200; ++i)
      key += "." + part;
    EXPECT_TRUE(problem_of(parse_toml(key + " = 1"))) << "a comma within quotes ends nothing";
  }
}

TEST(toml_value, one_value_is_parsed_alone) {
  EXPECT_EQ(*parse_toml_value("64")->as<int64_t>(), 64);
  EXPECT_EQ(*parse_toml_value("\"x\"")->as<std::string>(), "x");
  EXPECT_EQ(parse_toml_value("[1, 2]")->as<toml_value::list>()->size(), 2u);
  EXPECT_FALSE(parse_toml_value("adam"));
  for (const auto* text : {"adam", "", "1\nother = 2"})
    EXPECT_FALSE(parse_toml_value(text)) << text;
}

TEST(toml_value, descriptions_name_type_and_value) {
  EXPECT_EQ(description(*parse_toml_value("5")), "the integer 5");
  EXPECT_EQ(description(*parse_toml_value("2.5")), "the number 2.5");
  EXPECT_EQ(description(*parse_toml_value("true")), "true");
  EXPECT_EQ(description(*parse_toml_value("'a'")), "the string \"a\"");
  EXPECT_EQ(description(*parse_toml_value("[]")), "a list");
  EXPECT_EQ(description(*parse_toml_value("{}")), "a table");
  EXPECT_EQ(description(*parse_toml_value("2024-01-01")), "a date or time");
}

TEST(toml_value, numbers_are_written_so_that_they_stay_floats) {
  EXPECT_EQ(toml_text(3.0), "3.0");
  EXPECT_EQ(toml_text(0.1), "0.1");
  EXPECT_EQ(toml_text(1e-8), "1e-08");
  EXPECT_EQ(toml_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(toml_text(uint64_t{7}), "7");
}

TEST(toml_value, written_strings_read_back_whatever_they_hold) {
  std::string all;
  for (char c = 1; c < 127; ++c)
    all += c;
  all += "\x7fgr\xc3\xbc\xc3\x9f";
  const auto read = parse_toml_value(toml_text(all));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read->as<std::string>(), all);
}

TEST(parse_toml, tells_what_people_most_often_meant) {
  for (const auto& [text, hint] : std::initializer_list<std::pair<const char*, const char*>>{
         {"file = rows.csv", "a text stands in quotation marks: file"},
         {"file = \"rows.csv\nx = 1", "with the quotation mark it began with"},
         {"file = \"C:\\data\"", "'single quotation marks'"},
         {"[node]\na = 1\n[node]\na = 2", "[[node]]"},
         {"[[node]]\na = 1\n[node]\na = 2", "[[node]]"},
         {"a = 1\na = 2", "set twice"},
         {"epochs: 5", "write key = value"},
         {"a = True", "true or false"},
         {"a = 0,5", "a point, as 0.5"},
         {"a = .5", "0.5"}}) {
    const auto parsed = parse_toml(text);
    ASSERT_TRUE(problem_of(parsed)) << text;
    EXPECT_TRUE(test::contains(problem_of(parsed)->hint, hint)) << problem_of(parsed)->why;
  }
}

} // namespace
} // namespace troupe::toml_value_test
