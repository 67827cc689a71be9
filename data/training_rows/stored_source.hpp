// Rows of a part of those that lie in chunks (rows_file/row_chunks.hpp), as a row_source: a range or some rows are read when they are
// asked for, and only their chunks; a window of chunks is read ahead. Features become floats, and
// standardised ones, on the way to whoever computes: the same bits as from memory.

#pragma once

#include "data/rows_file/row_chunks.hpp"
#include "data/training_rows/part_choice.hpp"
#include "data/training_rows/prepare.hpp"
#include "data/training_rows/row_source.hpp"

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

// Chunks on their way into memory, for all threads of a process: a chunk is read
// once however many want it at the same time, and a thread of its own reads ahead what will be
// wanted next. What nobody holds any more is let go of, but for a few that were used last.

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
  explicit stored_chunks(std::shared_ptr<const row_chunks> rows) : rows_(std::move(rows)) {}
  ~stored_chunks();
  stored_chunks(const stored_chunks&) = delete;
  stored_chunks& operator=(const stored_chunks&) = delete;

  const row_chunks& all() const noexcept { return *rows_; }

  /// Chunks that will be wanted, in this order: they are read ahead, as long as somebody holds them.
  /// Throws std::system_error when there can be no thread for it.
  std::vector<stored_chunk_ptr> ahead(std::span<const uint32_t> numbers);

  /// A chunk that is wanted now.
  stored_chunk_ptr hold(uint32_t number);

  /// The rows of a chunk, once they are there: whoever comes first reads them. They stay good while
  /// the chunk is held. Throws what row_chunks::read_chunk throws, to all who ask.
  const rows_chunk& rows_of(const stored_chunk_ptr& chunk);

private:
  /// Chunks that are kept though nobody holds them: an evaluation goes through a chunk of the file in
  /// many small steps, on each thread.
  static constexpr size_t recent_max = 8;

  stored_chunk_ptr find_or_make(uint32_t number);
  /// Reads a chunk that is wanted; `lock` is let go of meanwhile.
  void read(const stored_chunk_ptr& chunk, std::unique_lock<std::mutex>& lock);
  void run();

  std::shared_ptr<const row_chunks> rows_;
  std::mutex mutex_; ///< guards what follows, and the state of each chunk
  std::condition_variable changed_;
  std::map<uint32_t, std::weak_ptr<stored_chunk>> known_;
  std::deque<stored_chunk_ptr> recent_;
  std::deque<std::weak_ptr<stored_chunk>> ahead_;
  bool stopped_ = false;
  std::thread thread_; ///< last: it uses all of the above
};

/// What the parts of one file have in common.
struct stored_data {
  stored_data(std::shared_ptr<const row_chunks> rows, const chunk_split& parts, standardization map)
    : chunks(std::move(rows)), split(parts), features(std::move(map)) {}

  const rows_header& header() const { return chunks.all().header(); }

  stored_chunks chunks;
  chunk_split split;
  standardization features; ///< empty: as they lie in the file
};

class stored_source : public row_source {
public:
  stored_source(std::shared_ptr<stored_data> data, row_part part);

  size_t row_count() const override { return begins_->back(); }
  batch range(size_t begin, size_t count, batch_reader& reader) const override;
  batch gather(std::span<const uint32_t> rows, batch_reader& reader) const override;
  std::shared_ptr<const row_source> window(std::span<const uint32_t> chunks) const override;
  std::vector<uint64_t> chunk_begins() const override { return *begins_; }
  std::vector<int32_t> labels_of_chunk(size_t chunk) const override;

private:
  /// A chunk and which of its rows are of this part; none are named where all are.
  struct held_chunk {
    uint32_t number = 0;
    stored_chunk_ptr chunk;
    std::vector<uint32_t> rows;
  };
  using held_chunks = std::vector<held_chunk>; ///< by number

  stored_source(const stored_source& whole, held_chunks held);

  uint32_t chunk_of(uint32_t row) const;
  held_chunk hold(const stored_chunk_ptr& chunk) const;
  /// Those of these rows' chunks that are not held by this window already.
  held_chunks hold_missing(std::span<const uint32_t> rows) const;

  std::shared_ptr<stored_data> data_;
  row_part part_;
  std::shared_ptr<const std::vector<uint64_t>> begins_; ///< rows of the part before each chunk
  held_chunks held_;                                    ///< of a window
};

/// Prepares rows that stay where they are: who trains on them reads windows of them. What `prepare` does to all
/// rows is done to each when it is read.
///
/// By lanes: `options.chunk_rows` are the header's. Takes no time for the rows unless some are kept for
/// testing or validation: then labels or targets are read.
///
/// Throws failure(bad_data) when no row would be left for training; what reading chunks throws.
prepared_data prepare_stored(std::shared_ptr<const row_chunks> rows,
                             const prepare_options& options);

} // namespace troupe
