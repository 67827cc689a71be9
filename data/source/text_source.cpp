#include "data/source/text_source.hpp"

#include "data/disk/open_file.hpp"
#include "data/source/read_ahead.hpp"
#include "data/text/failure.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

namespace {

thread_local const reading_stop* current = nullptr;

} // namespace

reading_stop::reading_stop(std::function<bool()> requested)
  : requested_(std::move(requested)), outer_(std::exchange(current, this)) {}

reading_stop::~reading_stop() {
  current = outer_;
}

void reading_stop::check() {
  if (current && current->requested_ && current->requested_())
    throw failure(failure_code::interrupted,
                  "stopped while the data were read: nothing was trained");
}

namespace {

/// Bytes read from the file at a time. Smaller costs system calls, larger leaves the second cache.
/// A small file takes less: it is to be read in less memory than a large one.
constexpr uint64_t input_bytes_max = uint64_t{1} << 18;
constexpr uint64_t input_bytes_min = uint64_t{1} << 12;

/// Compressed files below this are decompressed sooner than a thread gets to work.
constexpr uint64_t ahead_bytes_min = uint64_t{1} << 18;

/// zlib: the largest window, gzip format only.
constexpr int window_bits_gzip = 15 + 16;

/// How often somebody who waits for a pipe asks whether to go on.
constexpr int stop_poll_interval_ms = 100;

constexpr unsigned char gzip_magic[] = {0x1f, 0x8b};

std::string error_text(int error_number) {
  return std::generic_category().message(error_number);
}

failure opening_failure(int error_number, const std::string& path) {
  switch (error_number) {
  case ENOENT:
  case ENOTDIR:
  case ENAMETOOLONG:
  case ELOOP:
    return {failure_code::missing_input, "there is no such file (" + error_text(error_number) + ")",
            path, "check the path"};
  case EACCES:
  case EPERM:
    return {failure_code::no_permission, "the file may not be read", path,
            "check its permissions and those of its folders"};
  default:
    return {failure_code::io_error, "cannot open the file (" + error_text(error_number) + ")",
            path};
  }
}

// Without O_NONBLOCK opening a named pipe would wait until somebody writes there.
open_file open_source(const std::string& path) {
  open_file result{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!result)
    throw opening_failure(errno, path);
  return result;
}

} // namespace

struct text_source::state {
  state(const std::string& file_path, compression_kind compression)
    : path(file_path), file(open_source(file_path)) {
    look_at_kind();
    input.resize(
      std::clamp(regular_bytes.value_or(input_bytes_max), input_bytes_min, input_bytes_max));
    if (compression == compression_kind::none)
      return;
    while (available() < 2 && fill()) // a pipe may give one byte at a time
      ;
    compressed = starts_with_magic();
    if (compressed && inflateInit2(&stream, window_bits_gzip) != Z_OK)
      throw failure(failure_code::internal, "zlib cannot be started", path);
  }
  ~state() {
    ahead.reset(); // its thread is in zlib
    if (compressed)
      inflateEnd(&stream);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  size_t available() const { return end - begin; }

  bool starts_with_magic() const {
    return available() >= 2 && std::memcmp(input.data() + begin, gzip_magic, 2) == 0;
  }

  /// Offset in the file of the next byte not consumed yet.
  uint64_t offset() const { return file_bytes - available(); }

  void look_at_kind() {
    struct stat information {};
    if (::fstat(file.number(), &information) != 0)
      return;
    if (S_ISDIR(information.st_mode))
      throw failure(failure_code::missing_input, "this is a folder, not a file", path,
                    "name a file");
    if (S_ISREG(information.st_mode))
      regular_bytes = static_cast<uint64_t>(information.st_size);
  }

  [[noreturn]] void damaged(const std::string& why) const {
    throw failure(failure_code::bad_data,
                  "the gzip data are damaged at byte " + std::to_string(offset()) + ": " + why,
                  path, "get the file again; `gzip -t` checks it");
  }

  /// Of what is no regular file: returns when there are bytes, or there will be none.
  void wait_for_bytes() const {
    pollfd waiting{file.number(), POLLIN, 0};
    while (::poll(&waiting, 1, stop_poll_interval_ms) <= 0)
      reading_stop::check();
  }

  size_t read_file(char* out, size_t size) {
    ssize_t count;
    do {
      if (!regular_bytes)
        wait_for_bytes();
      count = ::read(file.number(), out, size);
    } while (count < 0 && (errno == EINTR || errno == EAGAIN));
    if (count < 0)
      throw failure(failure_code::io_error,
                    "reading failed at byte " + std::to_string(file_bytes) + " (" +
                      error_text(errno) + ")",
                    path);
    file_bytes += static_cast<uint64_t>(count);
    return static_cast<size_t>(count);
  }

  /// Reads more input behind what is left; false at the end of the file.
  bool fill() {
    std::copy(input.begin() + static_cast<ptrdiff_t>(begin),
              input.begin() + static_cast<ptrdiff_t>(end), input.begin());
    end -= begin;
    begin = 0;
    auto count = read_file(input.data() + end, input.size() - end);
    end += count;
    return count > 0;
  }

  size_t read_plain(std::span<char> out) {
    if (available() == 0)
      return read_file(out.data(), out.size());
    auto count = std::min(available(), out.size());
    std::memcpy(out.data(), input.data() + begin, count);
    begin += count;
    return count;
  }

  /// Called between members: true when another one begins, false at the end. Zeros may follow the
  /// last member (archives on tape are padded so).
  bool next_member() {
    for (;;) {
      while (available() < 2 && fill())
        ;
      if (available() == 0)
        return false;
      if (starts_with_magic())
        break;
      if (input[begin] != 0)
        damaged("something that is not gzip follows the compressed text");
      ++begin;
    }
    inflateReset(&stream);
    inside_member = true;
    return true;
  }

  /// Decompression runs ahead of the reader where that pays: on a second core, for large files.
  /// Not for pipes: who waits there for bytes that never come could not be told to end.
  void run_ahead() {
    const bool pays =
      regular_bytes.value_or(0) >= ahead_bytes_min && std::thread::hardware_concurrency() > 1;
    if (!compressed || !pays)
      return;
    try {
      ahead.emplace([this](std::span<char> out) { return read_compressed(out); });
    } catch (const std::system_error&) { // no more threads: in turns, then
    }
  }

  size_t read_compressed(std::span<char> out) {
    while (inside_member || next_member()) {
      if (available() == 0 && !fill())
        damaged("the file ends before the compressed text does");
      if (auto count = inflate_into(out))
        return count;
    }
    return 0;
  }

  /// Decompresses what there is of the input; returns the bytes written.
  size_t inflate_into(std::span<char> out) {
    auto room = std::min<size_t>(out.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(input.data() + begin);
    stream.avail_in = static_cast<uInt>(available());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(room);
    auto status = inflate(&stream, Z_NO_FLUSH);
    begin = end - stream.avail_in;
    text_bytes += room - stream.avail_out;
    consumed_bytes = offset();
    if (status == Z_STREAM_END)
      inside_member = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      damaged(stream.msg ? stream.msg : "not valid");
    return room - stream.avail_out;
  }

  std::string path;
  open_file file;
  std::vector<char> input;
  size_t begin = 0; ///< of what is left in `input`
  size_t end = 0;
  uint64_t file_bytes = 0;                  ///< read from the file so far
  std::atomic<uint64_t> text_bytes = 0;     ///< decompressed so far
  std::atomic<uint64_t> consumed_bytes = 0; ///< of the file, for that
  std::optional<uint64_t> regular_bytes;
  bool compressed = false;
  bool inside_member = true;
  z_stream stream{};
  std::optional<read_ahead> ahead; ///< its thread uses the rest
};

text_source::text_source(std::string path, compression_kind compression)
  : path_(std::move(path)), state_(std::make_unique<state>(path_, compression)) {
  state_->run_ahead();
}

text_source::~text_source() = default;
text_source::text_source(text_source&&) noexcept = default;
text_source& text_source::operator=(text_source&&) noexcept = default;

bool text_source::compressed() const noexcept {
  return state_->compressed;
}

std::optional<uint64_t> text_source::size() const noexcept {
  return state_->compressed ? std::nullopt : state_->regular_bytes;
}

uint64_t text_source::expected_size() const noexcept {
  const auto& x = *state_;
  if (!x.regular_bytes || !x.compressed)
    return x.regular_bytes.value_or(0);
  const auto whole = static_cast<double>(*x.regular_bytes);
  const auto ratio = static_cast<double>(x.text_bytes) / static_cast<double>(x.consumed_bytes + 1);
  return static_cast<uint64_t>(whole * std::min(ratio, 16.0));
}

size_t text_source::read(std::span<char> out) {
  reading_stop::check();
  if (state_->ahead)
    return state_->ahead->read(out);
  return state_->compressed ? state_->read_compressed(out) : state_->read_plain(out);
}

} // namespace troupe
