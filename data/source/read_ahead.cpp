#include "data/source/read_ahead.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

read_ahead::read_ahead(source next) : next_(std::move(next)), ring_(block_count) {
  for (auto& one : ring_)
    one.bytes.resize(block_bytes);
  thread_ = std::thread([this] { run(); });
}

read_ahead::~read_ahead() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void read_ahead::run() {
  while (wait_for_room()) {
    const bool more = fill(ring_[filled_ % block_count]); // only this thread writes filled_
    {
      const std::lock_guard lock(mutex_);
      ++filled_;
      ended_ = !more;
    }
    changed_.notify_all();
    if (!more)
      return;
  }
}

bool read_ahead::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || filled_ - released_ < block_count; });
  return !stopped_;
}

/// Fills a block as far as there are bytes; false when it is the last.
bool read_ahead::fill(block& out) {
  out.size = 0;
  try {
    while (out.size < block_bytes) {
      const auto count = next_(std::span(out.bytes).subspan(out.size));
      if (count == 0)
        return false;
      out.size += count;
    }
    return true;
  } catch (...) {
    error_ = std::current_exception(); // seen by the caller only after ended_
    return false;
  }
}

/// The block that the caller is in; none at the end.
const read_ahead::block* read_ahead::wait_for_block() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return filled_ > released_ || ended_; });
  return filled_ > released_ ? &ring_[released_ % block_count] : nullptr;
}

void read_ahead::release_block() {
  {
    const std::lock_guard lock(mutex_);
    ++released_;
  }
  changed_.notify_all();
  at_ = 0;
}

size_t read_ahead::read(std::span<char> out) {
  while (const auto* current = wait_for_block()) {
    const auto count = std::min(current->size - at_, out.size());
    std::memcpy(out.data(), current->bytes.data() + at_, count);
    at_ += count;
    if (at_ == current->size)
      release_block();
    if (count > 0)
      return count;
  }
  if (error_)
    std::rethrow_exception(error_);
  return 0;
}

} // namespace troupe
