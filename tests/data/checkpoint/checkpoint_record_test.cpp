// Records that were not written by us: whatever stands in them, they are refused with the byte.

#include "data/checkpoint/checkpoint_record.hpp"

#include "data/text/failure.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace troupe::checkpoint_record_test {
namespace {

std::vector<std::byte> record_of(const checkpoint& x) {
  return checkpoint_record(x, shape_of(x));
}

std::string refusal_of(std::span<const std::byte> bytes) {
  try {
    parse_checkpoint_record(bytes, "file", 40);
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_EQ(error.where(), "file");
    return error.reason();
  }
  return {};
}

TEST(checkpoint_record, what_was_written_is_read) {
  const auto x = some_checkpoint(3, {7, 2, true, "job"});
  const auto found = parse_checkpoint_record(record_of(x), "file", 40);
  EXPECT_EQ(found.shape, (checkpoint_shape{7, 2, true}));
  EXPECT_EQ(found.shape.tensor_count(), 4u);
  auto head = x;
  head.parameters = head.best_parameters = {};
  head.slots.clear();
  EXPECT_TRUE(same(found.head, head));
}

TEST(checkpoint_record, cut_at_any_byte_it_is_refused) {
  const auto whole = record_of(some_checkpoint(3));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal_of(std::span(whole).first(size)), "") << size;
}

TEST(checkpoint_record, some_zeros_may_follow_and_nothing_else) {
  auto bytes = record_of(some_checkpoint(3));
  bytes.resize(bytes.size() + 63);
  EXPECT_EQ(refusal_of(bytes), "");
  bytes.back() = std::byte{1};
  EXPECT_TRUE(refusal_of(bytes).starts_with("something follows the record (byte "));
  bytes.back() = std::byte{0};
  bytes.push_back(std::byte{0});
  EXPECT_TRUE(refusal_of(bytes).starts_with("something follows the record (byte "));
}

TEST(checkpoint_record, lengths_are_held_against_what_is_there) {
  auto bytes = record_of(some_checkpoint(3));
  const auto huge = ~uint64_t{0};
  std::memcpy(bytes.data(), &huge, sizeof(huge)); // of the first text
  EXPECT_EQ(refusal_of(bytes), "a length is beyond the record's end (byte 48)");
  // A list's first item would already be beyond the end: a false length costs nothing.
  auto x = some_checkpoint(3);
  x.replicas.clear();
  x.plateau = {};
  x.reductions.clear();
  for (auto& row : x.history) { // else it would not be the last
    row.metrics.clear();
    row.hash.reset();
  }
  bytes = record_of(x);
  std::memcpy(bytes.data() + bytes.size() - 8, &huge, sizeof(huge));
  EXPECT_TRUE(refusal_of(bytes).starts_with("a length is beyond"));
}

TEST(checkpoint_record, flags_are_those_that_are_written) {
  auto x = some_checkpoint(3);
  x.job_sha256 = x.arithmetic = "";
  auto bytes = record_of(x);
  bytes[6 * 8] = std::byte{16}; // after two texts, version, term and two counts
  EXPECT_EQ(refusal_of(bytes), "flags that nobody writes (byte 89)");
}

} // namespace
} // namespace troupe::checkpoint_record_test
