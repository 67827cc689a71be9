#include "data/rows_file/stored_chunks.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace troupe {

stored_chunks::~stored_chunks() {
  {
    std::lock_guard guard{mutex_};
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

stored_chunk_ptr stored_chunks::find_or_make(uint32_t number) {
  auto& known = known_[number];
  if (auto found = known.lock())
    return found;
  const auto result = std::make_shared<stored_chunk>();
  result->number_ = number;
  known = result;
  return result;
}

std::vector<stored_chunk_ptr> stored_chunks::ahead(std::span<const uint32_t> numbers) {
  std::vector<stored_chunk_ptr> result;
  {
    std::lock_guard guard{mutex_};
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    for (const auto number : numbers) {
      result.push_back(find_or_make(number));
      if (result.back()->state_ == stored_chunk::state::wanted)
        ahead_.push_back(result.back());
    }
    try {
      if (!thread_.joinable())
        thread_ = std::thread{[this] { run(); }};
    } catch (const std::system_error&) { // no more threads: whoever needs a chunk reads it
      ahead_.clear();
    }
  }
  changed_.notify_all();
  return result;
}

stored_chunk_ptr stored_chunks::hold(uint32_t number) {
  std::lock_guard guard{mutex_};
  auto result = find_or_make(number);
  std::erase(recent_, result);
  recent_.push_back(result);
  if (recent_.size() > recent_max)
    recent_.pop_front();
  return result;
}

const rows_chunk& stored_chunks::rows_of(const stored_chunk_ptr& chunk) {
  std::unique_lock lock{mutex_};
  if (chunk->state_ == stored_chunk::state::wanted)
    read(chunk, lock);
  // Who reads ends: with the rows or with an error.
  changed_.wait(lock, [&] { return chunk->state_ == stored_chunk::state::there; });
  if (chunk->error_)
    std::rethrow_exception(chunk->error_);
  return chunk->rows_;
}

void stored_chunks::read(const stored_chunk_ptr& chunk, std::unique_lock<std::mutex>& lock) {
  chunk->state_ = stored_chunk::state::being_read;
  lock.unlock();
  rows_chunk rows;
  std::exception_ptr error;
  try {
    rows = file_.read_chunk(chunk->number_);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  chunk->rows_ = std::move(rows);
  chunk->error_ = error;
  chunk->state_ = stored_chunk::state::there;
  changed_.notify_all();
}

void stored_chunks::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !ahead_.empty(); });
    if (stopped_)
      return;
    const auto next = ahead_.front().lock();
    ahead_.pop_front();
    if (next && next->state_ == stored_chunk::state::wanted)
      read(next, lock);
  }
}

} // namespace troupe
