#include "app/cluster/cluster_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace troupe::cluster_schema_test {
namespace {

TEST(cluster_schema, durations_have_units_and_bounds) {
  EXPECT_EQ(duration_of("1ms"), milliseconds{1});
  EXPECT_EQ(duration_of("0.5s"), milliseconds{500});
  EXPECT_EQ(duration_of("2m"), milliseconds{120'000});
  EXPECT_EQ(duration_of("1h"), milliseconds{3'600'000});
  EXPECT_EQ(duration_of("168h"), milliseconds{604'800'000});
  for (const auto* text :
       {"", "5", "s", "0s", "-1s", "1 s", "1S", "1d", "169h", "infs", "nans", "0.1ms", "1sx"})
    EXPECT_FALSE(duration_of(text)) << text;
  EXPECT_EQ(duration_text(milliseconds{1500}), "1500ms");
  EXPECT_EQ(duration_text(milliseconds{90'000}), "90s");
}

TEST(cluster_schema, sizes_have_units_and_bounds) {
  EXPECT_EQ(memory_size_of("8 GiB"), uint64_t{8} << 30);
  EXPECT_EQ(memory_size_of("512MiB"), uint64_t{512} << 20);
  EXPECT_EQ(memory_size_of("0.5 KiB"), 512u);
  EXPECT_EQ(memory_size_of("2 TB"), 2'000'000'000'000u);
  EXPECT_EQ(memory_size_of("7 B"), 7u);
  for (const auto* text : {"", "5", "GiB", "0 GiB", "-1 GiB", "1  GiB", "1 gib", "1 PiB", "inf B",
                           "nan B", "0.5 B", "1 GiBx", "9999999 TiB"})
    EXPECT_FALSE(memory_size_of(text)) << text;
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{1536} << 20, uint64_t{3} << 40,
                               uint64_t{2'000'000}, uint64_t{1'000'001}})
    EXPECT_EQ(memory_size_of(memory_size_text(bytes)), bytes) << memory_size_text(bytes);
  EXPECT_EQ(memory_size_text(uint64_t{1536} << 20), "1536 MiB");
}

TEST(cluster_schema, node_names_are_fit_for_files_and_certificates) {
  for (const auto* text : {"a", "0", "w-1", "w_1.eu", "a.."})
    EXPECT_TRUE(is_node_name(text)) << text;
  for (const auto* text : {"", "A", "-a", ".a", "_a", "a/b", "a b", "\xc3\xa4"})
    EXPECT_FALSE(is_node_name(text)) << text;
  EXPECT_TRUE(is_node_name(std::string(63, 'a')));
  EXPECT_FALSE(is_node_name(std::string(64, 'a')));
}

TEST(cluster_schema, documentation_holds_the_table_of_keys) {
  std::ifstream file(TROUPE_SOURCE_DIR "/docs/clusters.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("\n" + cluster_keys_markdown()), std::string::npos)
    << "docs/clusters.md should hold this table:\n"
    << cluster_keys_markdown();
}

} // namespace
} // namespace troupe::cluster_schema_test
