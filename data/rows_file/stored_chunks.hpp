// Chunks of a file of rows on their way into memory, for all threads of a process: a chunk is read
// once however many want it at the same time, and a thread of its own reads ahead what will be
// wanted next. What nobody holds any more is let go of, but for a few that were used last.

#pragma once

#include "data/rows_file/rows_file.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace troupe {

/// One chunk, wanted by somebody; there or to come.
class stored_chunk {
public:
  uint32_t number() const noexcept { return number_; }

private:
  friend class stored_chunks;
  enum class state : uint8_t { wanted, being_read, there };

  uint32_t number_ = 0;
  state state_ = state::wanted;
  rows_chunk rows_;
  std::exception_ptr error_; ///< instead of rows
};

using stored_chunk_ptr = std::shared_ptr<stored_chunk>;

class stored_chunks {
public:
  explicit stored_chunks(rows_file file) : file_(std::move(file)) {}
  ~stored_chunks();
  stored_chunks(const stored_chunks&) = delete;
  stored_chunks& operator=(const stored_chunks&) = delete;

  const rows_file& file() const noexcept { return file_; }

  /// Chunks that will be wanted, in this order: they are read ahead, as long as somebody holds them.
  /// Throws std::system_error when there can be no thread for it.
  std::vector<stored_chunk_ptr> ahead(std::span<const uint32_t> numbers);

  /// A chunk that is wanted now.
  stored_chunk_ptr hold(uint32_t number);

  /// The rows of a chunk, once they are there: whoever comes first reads them. They stay good while
  /// the chunk is held. Throws what rows_file::read_chunk throws, to all who ask.
  const rows_chunk& rows_of(const stored_chunk_ptr& chunk);

private:
  /// Chunks that are kept though nobody holds them: an evaluation goes through a chunk of the file in
  /// many small steps, on each thread.
  static constexpr size_t recent_max = 8;

  stored_chunk_ptr find_or_make(uint32_t number);
  /// Reads a chunk that is wanted; `lock` is let go of meanwhile.
  void read(const stored_chunk_ptr& chunk, std::unique_lock<std::mutex>& lock);
  void run();

  rows_file file_;
  std::mutex mutex_; ///< guards what follows, and the state of each chunk
  std::condition_variable changed_;
  std::map<uint32_t, std::weak_ptr<stored_chunk>> known_;
  std::deque<stored_chunk_ptr> recent_;
  std::deque<std::weak_ptr<stored_chunk>> ahead_;
  bool stopped_ = false;
  std::thread thread_; ///< last: it uses all of the above
};

} // namespace troupe
