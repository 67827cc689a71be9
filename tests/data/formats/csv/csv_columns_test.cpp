#include "data/formats/csv/csv_columns.hpp"

#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <tuple>

namespace troupe::csv_columns_test {
namespace {

csv_facts facts_of(const std::string& text, uint64_t rows_max = 1000) {
  const temporary_folder folder;
  return facts_of_csv(folder.write("rows.csv", text), csv_header::automatic, rows_max);
}

} // namespace

TEST(csv_columns, are_told_apart_by_what_they_hold) {
  const auto facts = facts_of("id,name,height,gaps\n7,\"a,b\",1.5,\n8,c,2,x\n9,a,-3,4\n");
  EXPECT_TRUE(facts.has_header && facts.is_whole);
  EXPECT_EQ(facts.row_count, 3u);
  ASSERT_EQ(facts.columns.size(), 4u);
  const auto& [id, name, height, gaps] =
    std::tie(facts.columns[0], facts.columns[1], facts.columns[2], facts.columns[3]);
  EXPECT_TRUE(id.counts && id.is_whole);
  EXPECT_EQ(id.name, "id");
  EXPECT_EQ(name.text_count, 3u);
  EXPECT_EQ(name.first_text, "a,b");
  EXPECT_EQ(name.values, (std::set<std::string>{"a", "a,b", "c"}));
  EXPECT_TRUE(!height.counts && !height.is_whole);
  EXPECT_EQ(height.number_count, 3u);
  EXPECT_EQ((std::array{gaps.empty_count, gaps.text_count, gaps.number_count}),
            (std::array<uint64_t, 3>{1, 1, 1}));
}

TEST(csv_columns, only_so_many_rows_and_values_are_looked_at) {
  std::string text = "a,b\n";
  for (int i = 0; i < 300; ++i)
    text += std::to_string(2 * i) + ",1\n";
  const auto all = facts_of(text);
  EXPECT_TRUE(all.is_whole && all.columns[0].has_many_values() && !all.columns[0].counts);
  EXPECT_EQ(all.columns[0].values.size(), csv_column::values_kept_max + 1);
  const auto some = facts_of(text, 40);
  EXPECT_FALSE(some.is_whole);
  EXPECT_EQ(some.row_count, 40u);
  EXPECT_FALSE(some.columns[0].has_many_values());
  EXPECT_TRUE(facts_of(text, 300).is_whole);
}

TEST(csv_columns, without_a_header_they_are_called_by_their_index) {
  const auto facts = facts_of("1,x\n2,y\n");
  EXPECT_FALSE(facts.has_header);
  EXPECT_EQ(facts.row_count, 2u);
  EXPECT_EQ(facts.columns[1].name, "1");
  EXPECT_THROW(facts_of(""), failure);
  EXPECT_THROW(facts_of("1,2\n3\n"), failure);
}

} // namespace troupe::csv_columns_test
