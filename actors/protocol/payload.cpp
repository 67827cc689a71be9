#include "actors/protocol/payload.hpp"

#include "coordinators/exchange/link_limits.hpp"
#include "data/text/checksum.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/sec.hpp>

#include <bit>

namespace troupe {

// A machine with another byte order needs a swap here, in both directions.
static_assert(std::endian::native == std::endian::little);

namespace {

// Check before allocating: a message must not claim more bytes than it has.
bool has_bytes(caf::deserializer& source, size_t count) {
  const auto* binary = dynamic_cast<caf::binary_deserializer*>(&source);
  return binary == nullptr || binary->remaining() >= count;
}

} // namespace

uint64_t checksum_of_values(std::span<const float> values) {
  return short_checksum_of(std::as_bytes(values));
}

// A pool, because the kernel zeroes fresh memory of this size page by page: half the cost of
// receiving.
buffer receive_buffer(size_t size) {
  static buffer_pool pieces{piece_elements_max};
  const bool fits = size <= piece_elements_max && size > piece_elements_max / 4;
  return fits ? pieces.acquire() : buffer{size};
}

uint64_t payload::checksum() const {
  if (!checksum_)
    checksum_ = received_checksum() ? received_checksum() : checksum_of_values(values());
  return *checksum_;
}

caf::error inspect(caf::serializer& sink, payload& x) {
  const auto values = x.values();
  uint64_t size = values.size();
  uint64_t checksum = x.checksum();
  auto format = static_cast<uint8_t>(x.format());
  if (auto problem = sink(size, checksum, format))
    return problem;
  if (values.empty())
    return caf::none;
  if (x.format() == number_format::bf16) {
    std::vector<uint16_t> narrowed(values.size());
    narrow(values, narrowed.data());
    return sink.apply_raw(narrowed.size() * sizeof(uint16_t), narrowed.data());
  }
  // The serializer only reads, but its interface is shared with the deserializer's.
  return sink.apply_raw(values.size_bytes(), const_cast<float*>(values.data()));
}

caf::error inspect(caf::deserializer& source, payload& x) {
  uint64_t size = 0;
  uint64_t checksum = 0;
  uint8_t number = 0;
  if (auto problem = source(size, checksum, number))
    return problem;
  if (number >= number_format_count)
    return caf::make_error(caf::sec::invalid_argument, "there are no numbers of this format");
  const auto format = static_cast<number_format>(number);
  if (size > payload_size_max || !has_bytes(source, size * bytes_of(format)))
    return caf::make_error(caf::sec::end_of_stream, "payload is longer than its message");
  const auto count = static_cast<size_t>(size);
  const auto storage = receive_buffer(count);
  const auto values = storage.values().first(count);
  const auto bytes = arriving_bytes(format, values);
  if (size > 0)
    if (auto problem = source.apply_raw(bytes.size(), bytes.data()))
      return problem;
  widen(format, values);
  x = float_view{storage, count, checksum, checksum_of_values}.with_format(format);
  return caf::none;
}

} // namespace troupe
