#include "actors/net/carriers/piece_stream.hpp"

#include "actors/protocol/payload.hpp"
#include "data/text/checksum.hpp"
#include "models/base/copy_values.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Frames given to the socket at a time.
constexpr size_t frames_per_write = 16;

/// Bytes given to a secured session at a time: eight of its records.
constexpr size_t sealed_row_bytes = size_t{128} << 10;

bool is_only_later() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// The outcome in the form of the system's calls.
ptrdiff_t outcome_of(const transfer& x) {
  if (x.byte_count > 0)
    return static_cast<ptrdiff_t>(x.byte_count);
  errno = x.is_over ? ENOTCONN : EAGAIN;
  return -1;
}

/// Parts of a message still to be sent.
class unsent {
public:
  void add(const void* bytes, size_t size, size_t& skipped) {
    const auto skip = std::min(size, skipped);
    skipped -= skip;
    if (size > skip)
      parts_[count_++] = {const_cast<std::byte*>(static_cast<const std::byte*>(bytes)) + skip,
                          size - skip};
  }
  /// As many of the parts as fit, one after the other.
  std::string_view copied_to(std::vector<char>& row) const {
    row.resize(sealed_row_bytes);
    size_t size = 0;
    for (size_t k = 0; k < count_ && size < row.size(); ++k) {
      const auto part = std::min(parts_[k].iov_len, row.size() - size);
      std::memcpy(row.data() + size, parts_[k].iov_base, part);
      size += part;
    }
    return {row.data(), size};
  }
  msghdr message() {
    msghdr result{};
    result.msg_iov = parts_.data();
    result.msg_iovlen = count_;
    return result;
  }

private:
  std::array<iovec, 2 * frames_per_write> parts_{};
  size_t count_ = 0;
};

} // namespace

piece_stream::piece_stream(channel connection, std::shared_ptr<shared_slots> slots)
  : connection_(std::move(connection)), slots_(std::move(slots)) {
  // The end of a piece must not wait for the acknowledgement of its beginning. The call does nothing for a socket of
  // the host.
  const int yes = 1;
  ::setsockopt(connection_.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  if (auto* session = connection_.session())
    session->read_ahead();
}

bool piece_stream::put(const tensor_piece& piece) {
  if (piece.values.size() == 0 || piece.values.size() > piece_elements_max)
    return false;
  const auto values = piece.values.values();
  carried_frame frame;
  frame.piece = piece;
  frame.piece.values = {};
  frame.count = values.size();
  frame.checksum = piece.values.received_checksum().value_or(checksum_of_values(values));
  const auto place = slots_ ? slots_->put(values) : std::nullopt;
  if (place) {
    frame.kind = frame_kind::slot;
    frame.place = *place;
    outgoing_.push_back({write_frame(frame), {}});
  } else if (piece.values.format() == number_format::bf16) {
    frame.kind = frame_kind::narrow;
    outgoing_.push_back({write_frame(frame), {}, std::vector<uint16_t>(values.size())});
    narrow(values, outgoing_.back().narrowed.data());
  } else {
    outgoing_.push_back({write_frame(frame), piece.values});
  }
  return true;
}

void piece_stream::put(position_word word, const link_position& what) {
  carried_frame frame;
  frame.kind = word == position_word::stamp ? frame_kind::stamp : frame_kind::credit;
  frame.piece.stamp = what;
  outgoing_.push_back({write_frame(frame), {}});
}

// A secured session makes records of one row of bytes at a time. So heads and values are put together, and a head gets
// no record of its own.
ptrdiff_t piece_stream::write_some() {
  unsent parts;
  auto skipped = outgoing_.front().written;
  const auto count = std::min(frames_per_write, outgoing_.size());
  for (size_t k = 0; k < count; ++k) {
    parts.add(outgoing_[k].head.data(), sizeof(frame_head), skipped);
    const auto behind = outgoing_[k].behind();
    parts.add(behind.data(), behind.size(), skipped);
  }
  if (auto* session = connection_.session())
    return outcome_of(session->write(parts.copied_to(sealed_)));
  const auto message = parts.message();
  return ::sendmsg(connection_.descriptor(), &message, MSG_NOSIGNAL);
}

bool piece_stream::flush() {
  while (!outgoing_.empty()) {
    const auto sent = write_some();
    if (sent < 0)
      return is_only_later();
    auto left = static_cast<size_t>(sent);
    while (left > 0) {
      auto& first = outgoing_.front();
      const auto taken = std::min(left, first.size() - first.written);
      first.written += taken;
      left -= taken;
      if (first.written == first.size())
        outgoing_.pop_front();
    }
  }
  return true;
}

ptrdiff_t piece_stream::read_into(std::span<std::byte> values, std::span<std::byte> behind) {
  if (auto* session = connection_.session()) {
    const auto onto = values.empty() ? behind : values;
    return outcome_of(session->read({reinterpret_cast<char*>(onto.data()), onto.size()}));
  }
  const std::array<iovec, 2> parts{
    {{values.data(), values.size()}, {behind.data(), behind.size()}}};
  const auto got = ::readv(connection_.descriptor(), parts.data(), static_cast<int>(parts.size()));
  if (got != 0)
    return got;
  errno = ENOTCONN;
  return -1;
}

// Reads values into their buffer, and with the same call the bytes behind them, usually heads of other frames.
bool piece_stream::read_some() {
  if (ahead_begin_ > 0) {
    std::memmove(ahead_.data(), ahead_.data() + ahead_begin_, ahead_end_ - ahead_begin_);
    ahead_end_ -= std::exchange(ahead_begin_, 0);
  }
  std::span<std::byte> values;
  if (incoming_)
    values = incoming_->missing();
  const auto got = read_into(values, std::span{ahead_}.subspan(ahead_end_));
  if (got < 0)
    return false;
  const auto of_values = std::min(static_cast<size_t>(got), values.size());
  if (incoming_)
    incoming_->read += of_values;
  ahead_end_ += static_cast<size_t>(got) - of_values;
  return true;
}

bool piece_stream::receive(const std::function<void(carried_frame&&)>& take) {
  for (;;) {
    if (incoming_ && incoming_->missing().empty()) {
      take_values(take);
    } else if (!incoming_ && ahead_end_ - ahead_begin_ >= frame_head_bytes) {
      if (!begin_frame(take))
        return false;
    } else if (!read_some()) {
      return is_only_later();
    }
  }
}

void piece_stream::take_values(const std::function<void(carried_frame&&)>& take) {
  auto whole = std::move(*incoming_);
  incoming_.reset();
  const auto format = whole.what.format();
  widen(format, whole.values());
  const auto count = static_cast<size_t>(whole.what.count);
  whole.what.piece.values =
    float_view{std::move(whole.storage), count, whole.what.checksum, checksum_of_values}
      .with_format(format);
  take(std::move(whole.what));
}

bool piece_stream::begin_frame(const std::function<void(carried_frame&&)>& take) {
  frame_head head;
  std::memcpy(head.data(), ahead_.data() + ahead_begin_, frame_head_bytes);
  ahead_begin_ += frame_head_bytes;
  auto frame = read_frame(head);
  if (!frame)
    return false;
  const auto count = static_cast<size_t>(frame->count);
  if (frame->kind == frame_kind::piece || frame->kind == frame_kind::narrow) {
    incoming_ = incoming{std::move(*frame), receive_buffer(count)};
    const auto there = incoming_->missing();
    const auto here = std::min(there.size(), ahead_end_ - ahead_begin_);
    std::memcpy(there.data(), ahead_.data() + ahead_begin_, here);
    ahead_begin_ += here;
    incoming_->read = here;
    return true;
  }
  if (frame->kind == frame_kind::slot) {
    const auto there = slots_ ? slots_->look(frame->place, count) : std::span<const float>{};
    if (there.empty())
      return false;
    std::shared_ptr<const void> lender{
      there.data(), [slots = slots_, place = frame->place](const void*) { slots->done(place); }};
    frame->piece.values = {const_buffer::lent(there, std::move(lender)), count, frame->checksum,
                           checksum_of_values};
  }
  take(std::move(*frame));
  return true;
}

} // namespace troupe
