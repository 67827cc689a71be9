// Float view: a span of float32 values together with the buffer it lies in, so that the values live
// as long as anybody looks at them.
//
// Values that came over a wire know the checksum they were sent with. Whoever uses them asks
// `intact` first; nothing is computed before that, and nothing ever for values of this process.

#pragma once

#include "models/base/buffer.hpp"
#include "models/base/number_format.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace troupe {

/// A number that follows from the values' bits: the same function at both ends of a wire.
using float_checksum = uint64_t (*)(std::span<const float>);

class float_view {
public:
  float_view() = default;

  /// The values [offset, offset + size) of `storage`; throws std::invalid_argument outside it.
  float_view(const_buffer storage, size_t offset, size_t size)
    : storage_(std::move(storage)), offset_(offset), size_(size) {
    if (offset > storage_.size() || size > storage_.size() - offset)
      throw std::invalid_argument("float_view: a span that leaves its buffer");
  }

  /// The first `size` values of `storage`, received with a checksum that `compute` has to give
  /// again.
  float_view(const_buffer storage, size_t size, uint64_t checksum, float_checksum compute)
    : float_view(std::move(storage), 0, size) {
    compute_ = compute;
    received_checksum_ = checksum;
  }

  /// The same values, all of this format: on a wire they need no more bytes than it has.
  float_view with_format(number_format format) && {
    format_ = format;
    return std::move(*this);
  }
  number_format format() const { return format_; }

  std::span<const float> values() const { return storage_.values().subspan(offset_, size_); }
  size_t size() const { return size_; }

  /// The memory behind: the same for all spans of one version in one process.
  const const_buffer& storage() const { return storage_; }
  size_t offset() const { return offset_; }

  /// The values [first, first + count) of these, as values of this process: ask `intact` before.
  float_view part(size_t first, size_t count) const { return {storage_, offset_ + first, count}; }

  /// False when the values came over a wire and do not have the checksum they were sent with.
  bool intact() const { return compute_ == nullptr || compute_(values()) == received_checksum_; }

  /// Nothing for values of this process.
  std::optional<uint64_t> received_checksum() const {
    return compute_ == nullptr ? std::nullopt : std::optional{received_checksum_};
  }

  /// Bit for bit.
  friend bool operator==(const float_view& a, const float_view& b) {
    const auto x = a.values();
    const auto y = b.values();
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
  }

private:
  const_buffer storage_;
  size_t offset_ = 0;
  size_t size_ = 0;
  number_format format_ = number_format::float32;
  float_checksum compute_ = nullptr; ///< null: values of this process
  uint64_t received_checksum_ = 0;
};

} // namespace troupe
