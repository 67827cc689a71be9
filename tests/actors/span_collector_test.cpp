#include "troupe/actors/span_collector.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace troupe {

namespace {

using verdict = span_collector::verdict;

/// Two blocks of 4,096 parameters and one of 8: shard 0 owns two, shard 1 none, shard 2 the last.
constexpr size_t parameter_count = 8200;
const std::vector<shard_entry> shards{{{}, {0, 2}}, {{}, {2, 2}}, {{}, {2, 3}}};

buffer counted() {
  buffer result{parameter_count};
  std::iota(result.values().begin(), result.values().end(), 0.0f);
  return result;
}

parameter_span span_of(const const_buffer& storage, uint64_t shard, size_t offset, size_t size) {
  return {5, shard, payload{storage, offset, size}};
}

/// As it arrives from another process: in memory of its own, perhaps with a bit of it flipped.
parameter_span over_a_wire(parameter_span part, char flip = 0) {
  std::vector<char> bytes;
  caf::binary_serializer sink{nullptr, bytes};
  EXPECT_FALSE(sink(part));
  bytes.back() = static_cast<char>(bytes.back() ^ flip);
  caf::binary_deserializer source{nullptr, bytes};
  parameter_span result;
  EXPECT_FALSE(source(result));
  return result;
}

} // namespace

TEST(span_collector, spans_of_one_buffer_are_that_buffer) {
  const const_buffer storage = counted();
  span_collector spans{shards, parameter_count};
  EXPECT_EQ(spans.add(span_of(storage, 2, 8192, 8)), verdict::accepted);
  EXPECT_EQ(spans.add({5, 1, {}}), verdict::accepted);
  EXPECT_FALSE(spans.whole()) << "shard 0 has not answered";
  EXPECT_EQ(spans.add(span_of(storage, 0, 0, 8192)), verdict::accepted);
  ASSERT_TRUE(spans.whole());
  EXPECT_TRUE(spans.whole()->same_storage(storage));
}

TEST(span_collector, a_shard_without_a_span_is_waited_for_too) {
  const const_buffer storage = counted();
  span_collector spans{shards, parameter_count};
  spans.add(span_of(storage, 0, 0, 8192));
  spans.add(span_of(storage, 2, 8192, 8));
  EXPECT_FALSE(spans.whole());
}

TEST(span_collector, spans_from_elsewhere_are_put_in_their_places) {
  const const_buffer storage = counted();
  for (const bool first_is_here : {false, true}) {
    span_collector spans{shards, parameter_count};
    const auto first = span_of(storage, 0, 0, 8192);
    EXPECT_EQ(spans.add(first_is_here ? first : over_a_wire(first)), verdict::accepted);
    EXPECT_EQ(spans.add({5, 1, {}}), verdict::accepted);
    EXPECT_EQ(spans.add(over_a_wire(span_of(storage, 2, 8192, 8))), verdict::accepted);
    const auto whole = spans.whole();
    ASSERT_TRUE(whole);
    EXPECT_FALSE(whole->same_storage(storage));
    EXPECT_TRUE(std::ranges::equal(whole->values(), storage.values()));
  }
}

TEST(span_collector, spans_at_other_places_of_one_buffer_are_put_in_theirs) {
  buffer turned{parameter_count}; // the last span first
  std::ranges::copy(counted().values().subspan(8192), turned.values().begin());
  std::ranges::copy(counted().values().first(8192), turned.values().begin() + 8);
  span_collector spans{shards, parameter_count};
  spans.add(span_of(turned, 0, 8, 8192));
  spans.add({5, 1, {}});
  spans.add(span_of(turned, 2, 0, 8));
  ASSERT_TRUE(spans.whole());
  EXPECT_TRUE(std::ranges::equal(spans.whole()->values(), counted().values()));
}

TEST(span_collector, what_does_not_fit_its_shard_is_damaged) {
  const const_buffer storage = counted();
  span_collector spans{shards, parameter_count};
  EXPECT_EQ(spans.add(span_of(storage, 0, 0, 8191)), verdict::damaged);
  EXPECT_EQ(spans.add(span_of(storage, 1, 0, 1)), verdict::damaged);
  EXPECT_EQ(spans.add(span_of(storage, 3, 0, 8)), verdict::damaged) << "there is no such shard";
  EXPECT_EQ(spans.add(over_a_wire(span_of(storage, 2, 8192, 8), 1)), verdict::damaged);
}

} // namespace troupe
