// The promise of a checkpoint's file: what was written comes back to the bit, and a file that was
// cut anywhere or in which any bit changed is not loaded.

#include "data/checkpoint/checkpoint_file.hpp"

#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/checkpoint/checkpoint_output.hpp"
#include "data/model_file/tensor_file.hpp"
#include "data/records/history_file.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace troupe::checkpoint_file_test {
namespace {

const std::string path = "folder/file";

// 2.5 chunks a tensor.
constexpr size_t large_count = 5 * checkpoint_chunk_bytes / sizeof(float) / 2;

void write_to(plain_disk& where, const checkpoint& x) {
  where.files.erase(path);
  write_checkpoint(where, path, x);
}

// Why the file is refused; empty when it is loaded.
std::string refusal_of(const plain_disk& where) {
  try {
    checkpoint_file{where, path}.read();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_EQ(error.where(), path);
    EXPECT_FALSE(error.hint().empty());
    return error.reason();
  }
  return {};
}

TEST(checkpoint_file, what_was_written_comes_back_to_the_bit) {
  plain_disk where;
  for (const size_t count : {size_t{0}, size_t{1}, size_t{16}, large_count})
    for (const size_t slots : {0, 1, 3})
      for (const bool best : {false, true}) {
        const auto x = some_checkpoint(12, {count, slots, best && count > 0, "job"});
        write_to(where, x);
        EXPECT_EQ(where.files[path].size(), checkpoint_file_bytes(x, count, texts_of(x)));
        EXPECT_TRUE(same(checkpoint_file(where, path).read(), x)) << count << " " << slots;
      }
}

TEST(checkpoint_file, of_a_former_or_a_later_format_it_is_refused_in_words) {
  plain_disk where;
  const std::string former = "TROUPECP" + std::string(200, '\2');
  const auto bytes = std::as_bytes(std::span{former});
  where.files[path].assign(bytes.begin(), bytes.end());
  EXPECT_EQ(refusal_of(where),
            "it is a checkpoint of an earlier release (format 1 or 2), and this one reads "
            "troupe-checkpoint-3: finish the run with the release that began it");
  write_to(where, some_checkpoint(12));
  auto& file = where.files[path];
  const auto format = std::as_bytes(std::span{checkpoint_format::format_name});
  const auto found = std::search(file.begin(), file.end(), format.begin(), format.end());
  found[static_cast<std::ptrdiff_t>(format.size() - 1)] = std::byte{'4'};
  EXPECT_EQ(refusal_of(where),
            "its format is troupe-checkpoint-4; this program reads troupe-checkpoint-3");
  found[0] = std::byte{'g'};
  EXPECT_EQ(refusal_of(where),
            "it is no checkpoint: its metadata do not name the format troupe-checkpoint-3");
}

// As any reader of safetensors finds them.
TEST(checkpoint_file, its_header_names_the_tensors) {
  plain_disk where;
  const auto x = some_checkpoint(12, {16, 3, true, "job"});
  write_to(where, x);
  const std::string_view dtypes[] = {"F32", "U8"};
  const tensor_file file{open_to_read(where, path), path, dtypes, "hint"};
  EXPECT_EQ(file.metadata("job_sha256"), "job");
  EXPECT_EQ(file.tensor("parameters", {"F32"}, 1).shape, (std::vector<uint64_t>{16}));
  EXPECT_EQ(file.tensor("best_parameters", {"F32"}, 1).shape, (std::vector<uint64_t>{16}));
  const auto& slots = file.tensor("optimizer_slots", {"F32"}, 2);
  EXPECT_EQ(slots.shape, (std::vector<uint64_t>{3, 16}));
  std::vector<float> second(16);
  file.read(slots.data_offsets[0] + 16 * sizeof(float), std::as_writable_bytes(std::span{second}));
  EXPECT_TRUE(std::ranges::equal(second, x.slots[1].values()));
  EXPECT_EQ(file.text("history.csv"), history_text(x.history));
  EXPECT_NE(file.text("record").find(R"("version":12)"), std::string::npos);
}

TEST(checkpoint_file, of_a_job_whose_name_is_none_it_is_not_written) {
  plain_disk where;
  EXPECT_THROW(write_to(where, some_checkpoint(12, {5, 2, true, std::string(3000, 'x')})),
               std::invalid_argument);
  EXPECT_THROW(checkpoint_file(where, path), failure);
}

TEST(checkpoint_file, doubles_that_are_no_numbers_keep_their_bits) {
  plain_disk where;
  auto x = some_checkpoint(1);
  x.seconds = std::bit_cast<double>(0x7ff8000000000123);
  x.optimizer_numbers = {std::bit_cast<double>(0xfff0000000000000), x.seconds};
  write_to(where, x);
  EXPECT_TRUE(same(checkpoint_file(where, path).read(), x));
}

TEST(checkpoint_file, its_head_is_everything_but_the_tensors) {
  plain_disk where;
  const auto x = some_checkpoint(12, {5, 2, true, "job"});
  write_to(where, x);
  const checkpoint_file file{where, path};
  EXPECT_EQ(file.parameter_count(), 5u);
  EXPECT_EQ(file.slot_count(), 2u);
  EXPECT_TRUE(file.has_best_parameters());
  auto expected = x;
  expected.parameters = expected.best_parameters = {};
  expected.slots.clear();
  EXPECT_TRUE(same(file.head(), expected));
}

TEST(checkpoint_file, tensors_lie_at_multiples_of_64_bytes) {
  plain_disk where;
  auto x = some_checkpoint(12, {16, 0, false, ""});
  for (size_t letters = 0; letters < 70; ++letters) {
    x.job_sha256.assign(letters, 'x');
    write_to(where, x);
    const auto& bytes = where.files[path];
    const auto values = std::as_bytes(x.parameters.values());
    const auto found = std::search(bytes.begin(), bytes.end(), values.begin(), values.end());
    EXPECT_EQ((found - bytes.begin()) % 64, 0) << letters;
    EXPECT_TRUE(same(checkpoint_file(where, path).read(), x));
  }
}

TEST(checkpoint_file, a_range_of_a_tensor_is_that_of_the_whole) {
  plain_disk where;
  const auto x = some_checkpoint(12, {large_count, 1, true, "job"});
  write_to(where, x);
  const auto stored = checkpoint_file{where, path}.contents();
  constexpr size_t chunk = checkpoint_chunk_bytes / sizeof(float);
  const std::pair<size_t, size_t> ranges[] = {
    {0, 0},          {0, 1},         {chunk - 1, 2},       {chunk, chunk},
    {3, 2 * chunk},  {2 * chunk, 5}, {large_count - 1, 1}, {large_count, 0},
    {0, large_count}};
  for (const auto& [first, count] : ranges) {
    std::vector<float> parameters(count), slot(count), best(count);
    stored.parameters.read(first, parameters);
    stored.slots[0].read(first, slot);
    stored.best_parameters.read(first, best);
    const auto equal = [&](const std::vector<float>& a, const stored_tensor& b) {
      const auto part = b.values().subspan(first, count);
      return std::equal(a.begin(), a.end(), part.begin(), part.end());
    };
    EXPECT_TRUE(equal(parameters, x.parameters)) << first << " " << count;
    EXPECT_TRUE(equal(slot, x.slots[0])) << first << " " << count;
    EXPECT_TRUE(equal(best, x.best_parameters)) << first << " " << count;
  }
  std::vector<float> two(2);
  EXPECT_THROW(stored.parameters.read(large_count - 1, two), std::out_of_range);
  EXPECT_THROW(stored.parameters.read(large_count + 1, {}), std::out_of_range);
  EXPECT_EQ(stored.slots.size(), 1u);
  EXPECT_FALSE(stored.parameters.is_in_memory());
}

TEST(checkpoint_file, damage_elsewhere_does_not_stop_a_range_from_being_read) {
  plain_disk where;
  write_to(where, some_checkpoint(12, {large_count, 0, false, "job"}));
  auto& bytes = where.files[path];
  bytes[checkpoint_format::start_bytes + 4 * large_count - 9] ^= std::byte{1}; // in the third chunk
  const checkpoint_file file{where, path};
  const auto parameters = file.contents().parameters;
  std::vector<float> some(10);
  for (size_t time = 0; time < 2; ++time) {
    EXPECT_NO_THROW(parameters.read(7, some));
    EXPECT_THROW(parameters.read(large_count - 10, some), failure);
  }
  EXPECT_THROW(parameters.whole(), failure);
  EXPECT_THROW(file.verify(), failure);
}

TEST(checkpoint_file, cut_at_any_byte_it_is_not_loaded) {
  plain_disk where;
  write_to(where, some_checkpoint(12));
  const auto whole = where.files[path];
  for (size_t size = 0; size < whole.size(); ++size) {
    where.files[path].assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal_of(where), "") << size;
  }
  where.files[path] = whole;
  where.files[path].push_back(std::byte{0});
  EXPECT_NE(refusal_of(where), "") << "a byte too many";
}

TEST(checkpoint_file, with_any_bit_flipped_it_is_not_loaded) {
  plain_disk where;
  write_to(where, some_checkpoint(12));
  auto& bytes = where.files[path];
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_NE(refusal_of(where), "") << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
  EXPECT_EQ(refusal_of(where), "");
}

TEST(checkpoint_file, a_large_one_with_a_bit_flipped_is_not_loaded) {
  plain_disk where;
  write_to(where, some_checkpoint(12, {large_count, 1, true, "job"}));
  auto& bytes = where.files[path];
  std::mt19937_64 random{7};
  for (int i = 0; i < 100; ++i) {
    const auto bit = random() % (8 * bytes.size());
    const auto mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_NE(refusal_of(where), "") << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(checkpoint_file, the_end_of_another_one_does_not_fit) {
  plain_disk where;
  write_to(where, some_checkpoint(12));
  const auto one = where.files[path];
  write_to(where, some_checkpoint(13));
  auto& other = where.files[path];
  ASSERT_EQ(one.size(), other.size());
  for (size_t half = 1; half < one.size(); half += 3) {
    auto mixed = one;
    std::copy(other.begin() + static_cast<std::ptrdiff_t>(half), other.end(),
              mixed.begin() + static_cast<std::ptrdiff_t>(half));
    if (mixed == one || mixed == other)
      continue;
    const auto kept = std::exchange(other, mixed);
    EXPECT_NE(refusal_of(where), "") << half;
    other = kept;
  }
}

TEST(checkpoint_file, the_reason_names_the_byte) {
  plain_disk where;
  write_to(where, some_checkpoint(12, {large_count, 1, false, "job"}));
  auto& bytes = where.files[path];
  const auto reason_with_flip = [&](size_t byte) {
    bytes[byte] ^= std::byte{4};
    const auto result = refusal_of(where);
    bytes[byte] ^= std::byte{4};
    return result;
  };
  constexpr size_t start = checkpoint_format::start_bytes;
  constexpr size_t table = start + 4 * 2 * large_count;
  const auto checksum_reason = "the checksum of bytes 0 to 2048 and " + std::to_string(table) +
                               " to " + std::to_string(bytes.size()) + " is wrong";
  EXPECT_EQ(reason_with_flip(7), "this is no safetensors file");
  EXPECT_EQ(reason_with_flip(start - 1), "the header is not JSON (at byte 2040 of it)");
  EXPECT_EQ(reason_with_flip(start), "the checksum of bytes 2048 to 1050624 (parameters) is wrong");
  EXPECT_TRUE(reason_with_flip(table - 1).ends_with("(optimizer slot 0) is wrong"));
  EXPECT_EQ(reason_with_flip(table), checksum_reason);
  EXPECT_EQ(reason_with_flip(bytes.size() - 17), checksum_reason);
  EXPECT_EQ(reason_with_flip(bytes.size() - 1), checksum_reason);
  bytes.pop_back();
  EXPECT_EQ(refusal_of(where), "the file is " + std::to_string(bytes.size()) +
                                 " bytes long, but its tensors end behind that, at byte " +
                                 std::to_string(bytes.size() + 1));
}

// Somebody's own file that promises more than it holds.
TEST(checkpoint_file, tensors_that_do_not_fill_the_file_are_refused_before_memory_is_asked_for) {
  plain_disk where;
  const auto x = some_checkpoint(12);
  write_to(where, x);
  const auto whole = where.files[path];
  const auto texts = texts_of(x);
  const checkpoint_shape shapes[] = {{4, 2, true},
                                     {6, 2, true},
                                     {5, 1, true},
                                     {5, 3, true},
                                     {uint64_t{1} << 40, 2, true},
                                     {uint64_t{1} << 50, 2, true},
                                     {5, uint64_t{1} << 40, true},
                                     {5, 2, false}};
  for (const auto& shape : shapes) {
    const auto front = checkpoint_format::front_of(shape, texts);
    std::ranges::copy(std::as_bytes(std::span{front}), (where.files[path] = whole).begin());
    EXPECT_NE(refusal_of(where).find("its tensors end"), std::string::npos)
      << shape.parameter_count << " x " << shape.slot_count;
  }
}

// Slots of no elements take no bytes, however many are promised.
TEST(checkpoint_file, more_slots_than_bytes_are_refused) {
  plain_disk where;
  const checkpoint_texts texts = texts_of(some_checkpoint(12));
  for (const uint64_t slots : {uint64_t{1} << 20, uint64_t{1} << 60, uint64_t{1} << 61}) {
    const auto front = checkpoint_format::front_of({0, slots, false}, texts);
    const auto content = front + checkpoint_format::end_of(front, "", texts);
    const auto bytes = std::as_bytes(std::span{content});
    where.files[path].assign(bytes.begin(), bytes.end());
    EXPECT_EQ(refusal_of(where), "its header is not that of a checkpoint with these tensors");
  }
}

TEST(checkpoint_file, a_header_with_more_or_less_than_a_checkpoints_tensors_is_refused) {
  plain_disk where;
  write_to(where, some_checkpoint(12));
  const auto whole = where.files[path];
  const std::pair<std::string, std::string> changes[] = {
    {R"("shape":[4,1,16])", R"("shape":[1,4,16])"},
    {R"("optimizer_slots")", R"("optimizer_slot2")"},
    {R"("job_sha256")", R"("job_sha257")"},
    {R"(]}} )", R"(]} })"}};
  for (const auto& [from, to] : changes) {
    auto& bytes = where.files[path] = whole;
    const auto old = std::as_bytes(std::span{from});
    const auto found = std::search(bytes.begin(), bytes.end(), old.begin(), old.end());
    ASSERT_NE(found, bytes.end()) << from;
    std::ranges::copy(std::as_bytes(std::span{to}), found);
    EXPECT_EQ(refusal_of(where), "its header is not that of a checkpoint with these tensors") << to;
  }
}

TEST(checkpoint_file, tensors_of_different_sizes_are_refused) {
  plain_disk where;
  auto x = some_checkpoint(12);
  x.slots[1] = some_tensor(4, 1);
  EXPECT_THROW(write_to(where, x), std::invalid_argument);
  x = some_checkpoint(12);
  x.best_parameters = some_tensor(6, 1);
  EXPECT_THROW(write_to(where, x), std::invalid_argument);
}

TEST(checkpoint_file, a_missing_file_is_told_as_missing) {
  const plain_disk where;
  const auto error = test::failure_of([&] { checkpoint_file{where, path}; });
  EXPECT_EQ(error.code(), failure_code::missing_input);
  EXPECT_EQ(error.where(), path);
}

// Records that were not written by us: whatever stands in them, they are refused.

std::string refusal_of(const checkpoint_texts& texts) {
  try {
    head_of(texts, "file");
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_TRUE(error.where().starts_with("file")) << error.where();
    return error.reason();
  }
  return {};
}

TEST(checkpoint_record, what_was_written_is_read) {
  auto x = some_checkpoint(3, {7, 2, true, "job"});
  const auto found = head_of(texts_of(x), "file");
  EXPECT_EQ(shape_of(x), (checkpoint_shape{7, 2, true}));
  EXPECT_EQ(shape_of(x).tensor_count(), 4u);
  x.parameters = x.best_parameters = {};
  x.slots.clear();
  EXPECT_TRUE(same(found, x));
}

TEST(checkpoint_record, cut_at_any_byte_it_is_refused) {
  const auto whole = texts_of(some_checkpoint(3));
  auto cut = whole;
  for (cut.record.clear(); cut.record.size() < whole.record.size();
       cut.record += whole.record[cut.record.size()])
    EXPECT_TRUE(refusal_of(cut).starts_with("tensor 'record': ")) << cut.record.size();
  EXPECT_EQ(refusal_of(cut), "");
  cut.history.resize(10);
  EXPECT_EQ(refusal_of(cut), "this is no history of a run");
}

TEST(checkpoint_record, what_is_none_is_refused) {
  const auto whole = texts_of(some_checkpoint(3));
  const std::pair<std::string, std::string> changes[] = {
    {R"("version":3)", R"("version":-3)"},          {R"("version":3)", R"("version":3.0)"},
    {R"("version":3)", R"("version":"3")"},         {R"("version":3)", R"("versio":3)"},
    {R"("version":3)", R"("version":1e999)"},       {R"("seconds":1.7)", R"("seconds":"1.7")"},
    {R"("seconds":1.7)", R"("seconds":null)"},      {R"("seconds":1.7)", R"("seconds":"")"},
    {R"("reductions":[1,3])", R"("reductions":{})"}};
  for (const auto& [from, to] : changes) {
    auto texts = whole;
    const auto at = texts.record.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    texts.record.replace(at, from.size(), to);
    EXPECT_TRUE(refusal_of(texts).starts_with("tensor 'record': ")) << to;
  }
}

// A checkpoint that is written by ranges: the same file in any order, whole or none.

// 2.5 chunks a tensor.

// Whoever has a part of a tensor gives it when it has it.
TEST(checkpoint_output, written_by_ranges_in_any_order_it_is_the_one_written_whole) {
  plain_disk where;
  const auto x = some_checkpoint(12, {large_count, 1, true, "job"});
  write_checkpoint(where, path, x);
  const auto whole = where.files[path];
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random{seed};
    std::vector<std::pair<uint64_t, size_t>> ranges; // part, first element
    const size_t size = 1 + random() % (large_count / 3);
    for (uint64_t part = 0; part < 2; ++part)
      for (size_t first = 0; first < large_count; first += size)
        ranges.emplace_back(part, first);
    std::ranges::shuffle(ranges, random);
    where.files.erase(path);
    checkpoint_output out{where, path, large_count};
    for (const auto& [part, first] : ranges) {
      const auto& tensor = part == 0 ? x.parameters : x.slots[0];
      out.write(part, first, tensor.values().subspan(first, std::min(size, large_count - first)));
    }
    auto rest = x; // with as many slots, which nobody looks at
    rest.parameters = {};
    rest.slots.assign(1, {});
    out.finish(rest);
    EXPECT_EQ(where.files[path], whole) << seed;
  }
}

TEST(checkpoint_output, with_a_gap_it_does_not_become_whole) {
  plain_disk where;
  const auto x = some_checkpoint(12, {10, 1, false, "job"});
  checkpoint_output out{where, path, 10};
  out.write(0, 0, x.parameters.values());
  out.write(1, 0, x.slots[0].values().first(4));
  out.write(1, 5, x.slots[0].values().last(5));
  EXPECT_THROW(out.finish(x), std::logic_error);
  EXPECT_THROW(checkpoint_file(where, path), failure);
  EXPECT_THROW(out.write(1, 9, x.slots[0].values().first(2)), std::out_of_range);
  out.write(1, 4, x.slots[0].values().subspan(4, 1));
  out.finish(x);
  EXPECT_TRUE(same(checkpoint_file(where, path).read(), x));
}

TEST(checkpoint_output, with_elements_that_came_twice_it_does_not_become_whole) {
  plain_disk where;
  const auto x = some_checkpoint(12, {10, 0, false, "job"});
  checkpoint_output out{where, path, 10};
  out.write(0, 0, x.parameters.values().first(6));
  out.write(0, 4, x.parameters.values().last(6));
  EXPECT_THROW(out.finish(x), std::logic_error);
}

// The checksums are of what the disk gives back: they must not bless what it got wrong.
TEST(checkpoint_output, of_which_a_bit_flips_before_it_is_whole_is_not_finished) {
  plain_disk where;
  const auto x = some_checkpoint(12, {large_count, 1, true, "job"});
  std::mt19937_64 random{3};
  for (size_t i = 0; i < 20; ++i) {
    where.files.erase(path);
    checkpoint_output out{where, path, large_count};
    out.write(1, 0, x.slots[0].values());
    out.write(0, 1000, x.parameters.values().subspan(1000));
    out.write(0, 0, x.parameters.values().first(1000));
    auto& bytes = where.files[path];
    constexpr size_t begin = 8 * checkpoint_format::start_bytes;
    const auto bit = begin + random() % (8 * bytes.size() - begin);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      out.finish(x);
      FAIL() << bit;
    } catch (const disk_error& error) {
      EXPECT_EQ(error.operation(), "read back what was written to the file");
    }
    EXPECT_THROW(checkpoint_file(where, path), failure);
  }
}

} // namespace
} // namespace troupe::checkpoint_file_test
