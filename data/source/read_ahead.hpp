// Lets a thread of its own prepare bytes while the caller works on those before: decompressing and
// reading numbers take about the same time, and need not take turns.
//
// The bytes and what is thrown, and where, are those of the source without this: an exception
// reaches the caller behind the last byte that came before it.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace troupe {

class read_ahead {
public:
  /// Writes the next bytes to the front of its argument and returns how many; 0 at the end.
  using source = std::function<size_t(std::span<char>)>;

  /// Bytes of a block, and how many may wait: 1 MiB, a few milliseconds of work for either side.
  static constexpr size_t block_bytes = size_t{1} << 18;
  static constexpr size_t block_count = 4;

  /// Starts a thread that calls `next`, which may not block for long: the destructor waits for the
  /// call to end. Throws std::system_error when there can be no thread.
  explicit read_ahead(source next);
  ~read_ahead();
  read_ahead(const read_ahead&) = delete;
  read_ahead& operator=(const read_ahead&) = delete;

  /// Like the source: at least 1 byte, or 0 at the end. Throws what the source threw.
  size_t read(std::span<char> out);

private:
  struct block {
    std::vector<char> bytes;
    size_t size = 0;
  };

  void run();
  bool wait_for_room();
  bool fill(block& out);
  const block* wait_for_block();
  void release_block();

  source next_;
  std::vector<block> ring_; ///< block i of the source is at i modulo block_count
  size_t at_ = 0;           ///< in the caller's block
  std::mutex mutex_;        ///< guards what follows
  std::condition_variable changed_;
  uint64_t filled_ = 0;   ///< blocks the thread is done with
  uint64_t released_ = 0; ///< blocks the caller is done with
  bool ended_ = false;    ///< there are no more blocks
  bool stopped_ = false;  ///< nobody wants more
  std::exception_ptr error_;
  std::thread thread_; ///< last: it uses all of the above
};

} // namespace troupe
