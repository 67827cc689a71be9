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

/// As the system's calls say it.
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
  /// What fits of them, one after the other.
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
  // The end of a piece is not to wait for the answer to its beginning. A socket of the host knows no such
  // waiting.
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

// A secured session takes one row of bytes at a time, and makes records of them: heads and values are put together, so that
// a head has no record of its own.
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

// Values go to their buffer, and what is behind them, heads of others as a rule, is read with them.
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

namespace {

constexpr size_t page_bytes = 4096;
constexpr size_t slot_bytes = piece_elements_max * sizeof(float);
constexpr size_t table_bytes =
  (slot_count * sizeof(uint32_t) + page_bytes - 1) / page_bytes * page_bytes;
constexpr size_t memory_bytes = table_bytes + slot_count * slot_bytes;
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW;

static_assert(std::atomic<uint32_t>::is_always_lock_free);

std::byte* mapped(int descriptor, int protection) {
  void* place = ::mmap(nullptr, memory_bytes, protection, MAP_SHARED, descriptor, 0);
  return place == MAP_FAILED ? nullptr : static_cast<std::byte*>(place);
}

} // namespace

slot_memory::slot_memory(slot_memory&& other) noexcept
  : bytes_(std::exchange(other.bytes_, nullptr)) {}

slot_memory& slot_memory::operator=(slot_memory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

slot_memory::~slot_memory() {
  if (bytes_)
    ::munmap(bytes_, memory_bytes);
}

slot_memory slot_memory::make(owned_socket& descriptor) {
  descriptor = owned_socket{::memfd_create("troupe", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!descriptor || ::ftruncate(descriptor.get(), static_cast<off_t>(memory_bytes)) != 0)
    return {};
  slot_memory result{mapped(descriptor.get(), PROT_READ | PROT_WRITE)};
  // What is mapped already stays writable; nobody can map it so again.
  ::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
  if (::fcntl(descriptor.get(), F_ADD_SEALS, seals | F_SEAL_SEAL) != 0)
    return {};
  return result;
}

slot_memory slot_memory::map(const owned_socket& descriptor) {
  struct stat facts {};
  if (!descriptor || ::fstat(descriptor.get(), &facts) != 0 ||
      static_cast<size_t>(facts.st_size) != memory_bytes)
    return {};
  const int kept = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (kept < 0 || (kept & seals) != seals)
    return {};
  return slot_memory{mapped(descriptor.get(), PROT_READ)};
}

std::atomic<uint32_t>& slot_memory::turn_done(size_t slot) const {
  return reinterpret_cast<std::atomic<uint32_t>*>(bytes_)[slot];
}

float* slot_memory::values_of(size_t slot) const {
  return reinterpret_cast<float*>(bytes_ + table_bytes + slot * slot_bytes);
}

shared_slots::shared_slots(slot_memory mine, slot_memory theirs)
  : mine_(std::move(mine)), theirs_(std::move(theirs)) {}

std::optional<slot_place> shared_slots::put(std::span<const float> values) {
  if (!*this || values.size() > piece_elements_max)
    return std::nullopt;
  for (uint32_t slot = 0; slot < slot_count; ++slot)
    if (theirs_.turn_done(slot).load(std::memory_order_acquire) == turns_[slot]) {
      std::memcpy(mine_.values_of(slot), values.data(), values.size_bytes());
      return slot_place{slot, ++turns_[slot]};
    }
  return std::nullopt;
}

std::span<const float> shared_slots::look(const slot_place& place, size_t count) const {
  if (!*this || place.slot >= slot_count || count > piece_elements_max)
    return {};
  return {theirs_.values_of(place.slot), count};
}

void shared_slots::done(const slot_place& place) {
  if (*this && place.slot < slot_count)
    mine_.turn_done(place.slot).store(place.turn, std::memory_order_release);
}

// A machine with another byte order needs a swap here, in both directions.
static_assert(std::endian::native == std::endian::little);

namespace {

constexpr uint64_t magic = 0x7472'6f75'7065 << 16; // "troupe", above what and kind
constexpr uint64_t magic_mask = ~uint64_t{0xffff};
constexpr unsigned byte_bits = 8;
constexpr unsigned half_bits = 32;
constexpr uint64_t byte_mask = 0xff;

enum word : size_t {
  at_kind,
  at_term,
  at_key,
  at_node,
  at_part = 5,
  at_first,
  at_count,
  at_facts,
  at_remarks = 12,
  at_link = 14,
  at_position,
  at_place,
  at_checksum,
  at_end
};

uint64_t checksum_of_head(const frame_head& head) {
  return short_checksum_of(std::as_bytes(std::span{head}.first(at_end)));
}

} // namespace

frame_head write_frame(const carried_frame& x) {
  frame_head head{};
  const auto& of = x.piece.of;
  head[at_kind] =
    magic | static_cast<uint64_t>(x.kind) << byte_bits | static_cast<uint64_t>(of.kind);
  head[at_term] = of.term;
  head[at_key] = of.key;
  head[at_node] = of.node.begin;
  head[at_node + 1] = of.node.end;
  head[at_part] = of.part;
  head[at_first] = x.piece.first_element;
  head[at_count] = x.count;
  copy_values(x.piece.note.facts, head.begin() + at_facts);
  copy_values(x.piece.note.remarks, head.begin() + at_remarks);
  head[at_link] = x.piece.stamp.link;
  head[at_position] = x.piece.stamp.bytes;
  head[at_place] = uint64_t{x.place.turn} << half_bits | x.place.slot;
  head[at_checksum] = x.checksum;
  head[at_end] = checksum_of_head(head);
  return head;
}

std::optional<carried_frame> read_frame(const frame_head& head) {
  const auto kind = head[at_kind] >> byte_bits & byte_mask;
  const auto tensor = head[at_kind] & byte_mask;
  if (head[at_end] != checksum_of_head(head) || (head[at_kind] & magic_mask) != magic ||
      kind > static_cast<uint64_t>(frame_kind::credit) || tensor >= tensor_kind_count ||
      head[at_count] > piece_elements_max ||
      (head[at_count] == 0) != (kind >= static_cast<uint64_t>(frame_kind::stamp)))
    return std::nullopt;
  carried_frame x;
  x.kind = static_cast<frame_kind>(kind);
  x.piece.of = {static_cast<tensor_kind>(tensor),
                head[at_term],
                head[at_key],
                {head[at_node], head[at_node + 1]},
                head[at_part]};
  x.piece.first_element = head[at_first];
  x.count = head[at_count];
  std::copy_n(head.begin() + at_facts, x.piece.note.facts.size(), x.piece.note.facts.begin());
  std::copy_n(head.begin() + at_remarks, x.piece.note.remarks.size(), x.piece.note.remarks.begin());
  x.piece.stamp = {head[at_link], head[at_position]};
  x.place = {static_cast<uint32_t>(head[at_place]),
             static_cast<uint32_t>(head[at_place] >> half_bits)};
  x.checksum = head[at_checksum];
  return x;
}

} // namespace troupe
