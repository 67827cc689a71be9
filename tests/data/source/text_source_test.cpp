#include "data/source/text_source.hpp"

#include "data/formats/csv/csv.hpp"
#include "data/source/read_ahead.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/process_limits.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace troupe::text_source_test {
namespace {

/// Everything the source gives, asked for in pieces of `piece_bytes`.
std::string read_all(text_source& source, size_t piece_bytes = 1000) {
  std::string result, piece(piece_bytes, '\0');
  while (auto count = source.read(piece))
    result.append(piece, 0, count);
  EXPECT_EQ(source.read(piece), 0u) << "the end does not stay the end";
  return result;
}

std::string read_file(const std::string& path, size_t piece_bytes = 1000) {
  text_source source(path);
  return read_all(source, piece_bytes);
}

void expect_refused(const std::string& path, failure_code code, std::string_view part) {
  const auto error = test::failure_of([&] { read_file(path); });
  EXPECT_EQ(error.where(), path);
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_TRUE(test::contains(error.reason(), part));
}

/// Writes to a pipe, each byte only when the one before was taken. Ends early when the reader does.
void write_single_bytes(const std::string& pipe, const std::string& content) {
  auto file = open(pipe.c_str(), O_WRONLY);
  pollfd reader{file, 0, 0};
  auto reader_lives = [&] { return poll(&reader, 1, 0) == 0; };
  for (size_t i = 0; i < content.size() && reader_lives(); ++i) {
    EXPECT_EQ(write(file, &content[i], 1), 1);
    for (int waiting = 1; waiting > 0 && reader_lives(); std::this_thread::yield())
      ioctl(file, FIONREAD, &waiting);
  }
  close(file);
}

/// `size` letters that do not compress away.
std::string noise(size_t size) {
  std::string text(size, '\0');
  uint64_t state = 1;
  for (auto& letter : text)
    letter = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  return text;
}

TEST(text_source, plain_and_compressed_files_give_the_same_text) {
  temporary_folder folder;
  auto text = noise(1'000'000); // larger than any internal buffer
  for (size_t piece_bytes : {size_t{7919}, size_t{300'000}, size_t{2'000'000}}) {
    EXPECT_EQ(read_file(folder.write("plain", text), piece_bytes), text);
    EXPECT_EQ(read_file(folder.write("packed", gzip_text(text)), piece_bytes), text);
  }
  EXPECT_FALSE(text_source(folder.path("plain")).compressed());
  EXPECT_TRUE(text_source(folder.path("packed")).compressed());
}

TEST(text_source, short_files_are_read_whole) {
  temporary_folder folder;
  for (std::string text : {"", "a", "\x1f", "\x1fx", "ab"}) {
    EXPECT_EQ(read_file(folder.write("plain", text)), text);
    EXPECT_EQ(read_file(folder.write("packed", gzip_text(text))), text);
  }
}

TEST(text_source, concatenated_members_are_one_text) {
  temporary_folder folder;
  auto content = gzip_text("one ") + gzip_text("") + gzip_text("two");
  EXPECT_EQ(read_file(folder.write("packed", content)), "one two");
  EXPECT_EQ(read_file(folder.write("padded", content + std::string(700'000, '\0'))), "one two");
}

TEST(text_source, compression_can_be_left_alone) {
  temporary_folder folder;
  auto content = gzip_text("text");
  text_source source(folder.write("packed", content), compression_kind::none);
  EXPECT_FALSE(source.compressed());
  EXPECT_EQ(read_all(source), content);
}

TEST(text_source, compressed_files_cut_anywhere_are_refused) {
  temporary_folder folder;
  auto content = gzip_text("some text, some text") + gzip_text("more");
  auto first_bytes = gzip_text("some text, some text").size();
  for (size_t size = 2; size < content.size(); ++size) {
    SCOPED_TRACE(size);
    auto path = folder.write("cut", std::string_view(content).substr(0, size));
    if (size == first_bytes)
      EXPECT_EQ(read_file(path), "some text, some text");
    else if (size == first_bytes + 1)
      expect_refused(path, failure_code::bad_data, "follows the compressed text");
    else
      expect_refused(path, failure_code::bad_data,
                     "at byte " + std::to_string(size) + ": the file ends");
  }
}

TEST(text_source, damaged_compressed_files_are_refused) {
  temporary_folder folder;
  auto content = gzip_text("some text");
  auto broken_checksum = content;
  broken_checksum[content.size() - 8] ^= 1;
  expect_refused(folder.write("checksum", broken_checksum), failure_code::bad_data,
                 "damaged at byte " + std::to_string(content.size() - 4));
  auto broken_method = content;
  broken_method[2] = 1;
  expect_refused(folder.write("method", broken_method), failure_code::bad_data,
                 "unknown compression method");
  expect_refused(folder.write("behind", content + "x"), failure_code::bad_data,
                 "damaged at byte " + std::to_string(content.size()) +
                   ": something that is not gzip");
}

TEST(text_source, large_compressed_files_give_the_same_bytes_and_complaints) {
  // Decompressed ahead by a thread: text that hardly shrinks, so that the file is large too.
  const auto text = noise(3 << 20);
  const auto content = gzip_text(text);
  ASSERT_GT(content.size(), size_t{1} << 20);
  temporary_folder folder;
  const auto path = folder.write("large.gz", content);
  for (size_t piece_bytes : {1000, 1 << 19})
    EXPECT_TRUE(read_file(path, piece_bytes) == text) << piece_bytes;
  EXPECT_TRUE(read_file(folder.write("twice.gz", content + content)) == text + text);
  const auto cut = content.size() - 100'000;
  folder.write("cut.gz", std::string_view(content).substr(0, cut));
  expect_refused(folder.path("cut.gz"), failure_code::bad_data,
                 "at byte " + std::to_string(cut) + ": the file ends");
  text_source source(folder.path("cut.gz"));
  std::string first(1 << 20, '\0');
  const auto count = source.read(first);
  EXPECT_TRUE(text.starts_with(first.substr(0, count))) << "the damage comes later";
  text_source moved = std::move(source);
  EXPECT_GT(moved.read(first), 0u);
}

TEST(text_source, large_compressed_files_can_be_left_in_the_middle) {
  const auto text = noise(3 << 20);
  temporary_folder folder;
  const auto path = folder.write("large.gz", gzip_text(text));
  std::string some(1000, '\0');
  for (int i = 0; i < 200; ++i) {
    text_source source(path);
    const auto count = i % 2 ? source.read(some) : 1;
    EXPECT_GT(count, 0u);
  } // the thread is decompressing still
}

TEST(text_source, files_that_are_not_there_are_missing) {
  temporary_folder folder;
  expect_refused(folder.path("none"), failure_code::missing_input, "no such file");
  expect_refused(folder.write("file", "") + "/below", failure_code::missing_input, "no such file");
  expect_refused(folder.path(), failure_code::missing_input, "folder");
}

TEST(text_source, files_that_may_not_be_read_are_refused) {
  temporary_folder folder;
  auto path = folder.write("secret", "x");
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  unprivileged nobody;
  expect_refused(path, failure_code::no_permission, "may not be read");
}

failure_code code_of(const std::function<void()>& action) {
  return test::failure_of(action).code();
}
TEST(text_source, whoever_waits_for_a_silent_pipe_can_stop) {
  temporary_folder folder;
  const auto path = folder.path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int asked = 0;
  const reading_stop stop{[&] { return ++asked > 1; }};
  EXPECT_EQ(code_of([&] { text_source{path}; }), failure_code::interrupted)
    << "nobody has opened it for writing";
  const int writer = open(path.c_str(), O_RDWR);
  ASSERT_EQ(write(writer, "ab", 2), 2);
  asked = 0;
  text_source source{path};
  std::array<char, 8> out;
  EXPECT_EQ(source.read(out), 2u);
  EXPECT_EQ(code_of([&] { source.read(out); }), failure_code::interrupted);
  close(writer);
}

TEST(text_source, reading_ends_between_pieces_when_asked) {
  temporary_folder folder;
  bool stops = false;
  const reading_stop stop{[&] { return stops; }};
  for (const auto& content : {std::string(100'000, 'x'), gzip_text(std::string(100'000, 'x'))}) {
    stops = false;
    text_source source{folder.write("file", content)};
    std::array<char, 8> out;
    EXPECT_EQ(source.read(out), 8u);
    stops = true;
    EXPECT_EQ(code_of([&] { source.read(out); }), failure_code::interrupted);
    const reading_stop nothing{{}}; // an inner one counts
    EXPECT_EQ(source.read(out), 8u);
  }
}

TEST(text_source, pipes_that_give_single_bytes_are_read) {
  temporary_folder folder;
  auto path = folder.path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto content = gzip_text("through a pipe");
  std::thread writer([&] { write_single_bytes(path, content); });
  EXPECT_EQ(read_file(path), "through a pipe");
  writer.join();
}

TEST(text_source, csv_files_may_be_compressed) {
  temporary_folder folder;
  auto rows = read_csv(folder.write("rows.csv.gz", gzip_text("a,b\n1,") + gzip_text("2\n")));
  EXPECT_EQ(rows.features, std::vector<float>{1});
  EXPECT_EQ(rows.target_cells, std::vector<std::string>{"2"});
  auto cut = gzip_text("a,b\n1,2\n");
  cut.resize(cut.size() - 1);
  EXPECT_THROW(read_csv(folder.write("cut.csv.gz", cut)), failure);
}

TEST(text_source, sizes_are_known_of_plain_files_and_expected_of_compressed_ones) {
  temporary_folder folder;
  text_source plain(folder.write("plain", "12345"));
  EXPECT_EQ(plain.size(), 5u);
  EXPECT_EQ(plain.expected_size(), 5u);
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += std::to_string(i * 7919 % 100'003) + ",";
  text_source packed(folder.write("packed", gzip_text(text)));
  EXPECT_EQ(packed.size(), std::nullopt);
  std::string out(100'000, '\0');
  ASSERT_GT(packed.read(out), 0u);
  EXPECT_NEAR(static_cast<double>(packed.expected_size()), static_cast<double>(text.size()),
              0.2 * static_cast<double>(text.size()));
}

// What comes out of a source that is read ahead: its bytes, its end, its exceptions.

/// Gives `total` bytes, i modulo 251, in pieces of at most `piece`; then throws, or ends.
read_ahead::source bytes_up_to(size_t total, size_t piece, bool throws) {
  return [=, at = size_t{0}](std::span<char> out) mutable {
    size_t count = 0;
    for (; count < std::min(piece, out.size()) && at < total; ++count)
      out[count] = static_cast<char>(at++ % 251);
    if (count == 0 && throws)
      throw std::runtime_error("behind byte " + std::to_string(at));
    return count;
  };
}

/// Reads everything, `piece` bytes at a time, and checks it; returns how many bytes there were.
size_t read_all(read_ahead& source, size_t piece) {
  std::vector<char> out(piece);
  size_t total = 0;
  while (const auto count = source.read(out))
    for (size_t i = 0; i < count; ++i, ++total)
      if (out[i] != static_cast<char>(total % 251))
        throw std::logic_error("wrong byte " + std::to_string(total));
  return total;
}

constexpr size_t whole_blocks = 3 * read_ahead::block_bytes * read_ahead::block_count;

TEST(read_ahead, gives_the_bytes_of_the_source_in_order) {
  for (size_t total :
       {size_t{0}, size_t{1}, read_ahead::block_bytes, whole_blocks, whole_blocks + 7})
    for (size_t piece : {1000, 1 << 20})
      for (size_t room : {999, 1 << 19}) {
        read_ahead source(bytes_up_to(total, piece, false));
        EXPECT_EQ(read_all(source, room), total) << piece << " " << room;
        char one;
        EXPECT_EQ(source.read({&one, 1}), 0u) << "the end stays the end";
      }
}

TEST(read_ahead, an_exception_comes_behind_the_bytes_before_it) {
  for (size_t total : {size_t{0}, size_t{1}, whole_blocks, whole_blocks + 7}) {
    read_ahead source(bytes_up_to(total, 1 << 20, true));
    std::vector<char> out(1000);
    size_t count = 0;
    for (int again = 0; again < 2; ++again) // it stays, too
      try {
        while (const auto more = source.read(out))
          count += more;
        ADD_FAILURE() << "ended";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "behind byte " + std::to_string(total));
      }
    EXPECT_EQ(count, total);
  }
}

TEST(read_ahead, waits_with_a_bounded_number_of_blocks) {
  std::atomic<size_t> calls = 0;
  {
    read_ahead source([&](std::span<char> out) {
      ++calls;
      return out.size();
    });
    std::vector<char> out(read_ahead::block_bytes);
    for (size_t i = 1; i <= 20; ++i) {
      EXPECT_EQ(source.read(out), out.size());
      EXPECT_LE(calls, i + read_ahead::block_count);
    }
  } // ends, though the source never does
  EXPECT_LE(calls, 20 + read_ahead::block_count);
}

// Returning at all is what is asked for: the thread that reads ahead neither hangs nor stays.
TEST(read_ahead, can_end_before_anything_is_read) {
  for (int i = 0; i < 100; ++i)
    read_ahead source(bytes_up_to(whole_blocks, 1 << 20, i % 2 == 0));
}

} // namespace
} // namespace troupe::text_source_test
