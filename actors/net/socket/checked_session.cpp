#include "actors/net/socket/checked_session.hpp"

#include "data/text/checksum.hpp"
#include "models/base/copy_values.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

namespace troupe {

namespace {

constexpr size_t length_bytes = 4;

uint64_t check_of(std::string_view bytes, uint64_t record) {
  const std::array<uint64_t, 3> all{short_checksum_of(std::as_bytes(std::span{bytes})),
                                    bytes.size(), record};
  return short_checksum_of(std::as_bytes(std::span{all}));
}

void put(char* onto, uint64_t number, size_t count) {
  for (size_t i = 0; i < count; ++i)
    onto[i] = static_cast<char>(number >> 8 * (count - 1 - i));
}

uint64_t number_at(const char* from, size_t count) {
  uint64_t result = 0;
  for (size_t i = 0; i < count; ++i)
    result = result << 8 | static_cast<unsigned char>(from[i]);
  return result;
}

size_t length_of(std::string_view header) {
  return number_at(header.data(), length_bytes);
}

transfer lost(const std::string& why) {
  return {0, true, why, false};
}

} // namespace

checked_session::checked_session(int descriptor)
  : descriptor_(descriptor), buffer_(2 * (record_header_bytes + record_bytes_max)) {}

std::string_view checked_session::arrived() const {
  return {buffer_.data() + begin_, end_ - begin_};
}

// True for a whole record, or one whose length is too large.
bool checked_session::has_record() const {
  const auto x = arrived();
  return x.size() >= record_header_bytes &&
         (length_of(x) > record_bytes_max || x.size() - record_header_bytes >= length_of(x));
}

bool checked_session::has_pending() const {
  return opened_ > 0 || has_record();
}

// Checks a record; false when it is damaged.
bool checked_session::open_record() {
  const auto x = arrived();
  const auto bytes = x.substr(record_header_bytes, length_of(x));
  if (length_of(x) == 0 || length_of(x) > record_bytes_max ||
      check_of(bytes, read_count_++) != number_at(x.data() + length_bytes, 8))
    return false;
  begin_ += record_header_bytes;
  opened_ = bytes.size();
  return true;
}

transfer checked_session::receive() {
  if (begin_ > 0)
    copy_values(arrived(), buffer_.begin());
  end_ -= std::exchange(begin_, 0);
  const auto count = ::recv(descriptor_, buffer_.data() + end_, buffer_.size() - end_, 0);
  if (count < 0)
    return is_for_later(errno) ? transfer{} : lost(std::strerror(errno));
  end_ += static_cast<size_t>(count);
  return {static_cast<size_t>(count), count == 0, {}, false};
}

transfer checked_session::read(std::span<char> onto) {
  if (opened_ == 0 && !has_record())
    if (const auto result = receive(); result.is_over || !has_record())
      return {0, result.is_over, result.problem, false};
  if (opened_ == 0 && !open_record())
    return lost("what came was damaged on the way");
  const auto count = std::min(opened_, onto.size());
  copy_values(arrived().substr(0, count), onto.begin());
  begin_ += count;
  opened_ -= count;
  return {count, false, {}, false};
}

void checked_session::begin_record(std::string_view bytes) {
  sending_ = std::min(bytes.size(), record_bytes_max);
  sent_ = 0;
  put(header_.data(), sending_, length_bytes);
  put(header_.data() + length_bytes, check_of(bytes.substr(0, sending_), written_count_++), 8);
}

transfer checked_session::write(std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const auto rest = bytes.substr(done);
    if (sending_ == 0)
      begin_record(rest);
    const auto of_header = std::min(sent_, record_header_bytes);
    const auto of_bytes = sent_ - of_header;
    std::array<iovec, 2> parts{
      iovec{header_.data() + of_header, record_header_bytes - of_header},
      iovec{const_cast<char*>(rest.data()) + of_bytes, sending_ - of_bytes}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const auto count = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
    if (count < 0 && !is_for_later(errno))
      return {done, true, std::strerror(errno), false};
    sent_ += count < 0 ? 0 : static_cast<size_t>(count);
    if (sent_ < record_header_bytes + sending_)
      break;
    done += std::exchange(sending_, 0);
  }
  return {done, false, {}, false};
}

} // namespace troupe
