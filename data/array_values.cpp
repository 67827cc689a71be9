#include "troupe/data/array_values.hpp"

#include "troupe/models/multiversion.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little,
              "files are read on little-endian machines");

template <class Bits>
Bits reversed(Bits bits) {
  if constexpr (sizeof(Bits) == 1)
    return bits;
  else if constexpr (sizeof(Bits) == 2)
    return __builtin_bswap16(bits);
  else if constexpr (sizeof(Bits) == 4)
    return __builtin_bswap32(bits);
  else
    return __builtin_bswap64(bits);
}

template <class T>
using bits_of_type =
  std::conditional_t<sizeof(T) == 1, uint8_t,
                     std::conditional_t<sizeof(T) == 2, uint16_t,
                                        std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

/// The element of type T that stands at `from`, whatever its alignment.
template <class T, bool Big>
T element_at(const char* from) {
  bits_of_type<T> bits;
  std::memcpy(&bits, from, sizeof bits);
  return std::bit_cast<T>(Big ? reversed(bits) : bits);
}

/// Calls `use.template operator()<T, Big>()` for the header's type and byte order.
template <class Use>
auto with_type(const array_header& header, Use use) {
  const auto of = [&]<class T>() {
    return header.big_endian ? use.template operator()<T, true>()
                             : use.template operator()<T, false>();
  };
  switch (header.type) {
  case element_type::u8:
    return of.template operator()<uint8_t>();
  case element_type::i8:
    return of.template operator()<int8_t>();
  case element_type::u16:
    return of.template operator()<uint16_t>();
  case element_type::i16:
    return of.template operator()<int16_t>();
  case element_type::u32:
    return of.template operator()<uint32_t>();
  case element_type::i32:
    return of.template operator()<int32_t>();
  case element_type::u64:
    return of.template operator()<uint64_t>();
  case element_type::i64:
    return of.template operator()<int64_t>();
  case element_type::f32:
    return of.template operator()<float>();
  default:
    return of.template operator()<double>();
  }
}

/// Whether all are finite: an exponent of ones marks infinities and not-a-numbers.
TROUPE_MULTIVERSION
bool all_finite(const float* values, size_t count) {
  constexpr uint32_t exponent = 0x7f800000;
  uint32_t found = 0;
  for (size_t i = 0; i < count; ++i)
    found |= static_cast<uint32_t>((std::bit_cast<uint32_t>(values[i]) & exponent) == exponent);
  return found == 0;
}

template <class T>
std::string text_of(T value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

} // namespace

array_values::array_values(binary_source& source, const array_header& header, uint64_t count)
  : source_(source),
    header_(header),
    left_(count),
    bytes_(std::min<uint64_t>(count, block_size) * bytes_of(header.type)),
    values_(std::min<uint64_t>(count, block_size)) {}

std::span<const float> array_values::next() {
  const auto count = static_cast<size_t>(std::min<uint64_t>(left_, block_size));
  if (count == 0)
    return {};
  block_offset_ = source_.offset();
  source_.read(std::span(bytes_).first(count * bytes_of(header_.type)), "the values");
  left_ -= count;
  with_type(header_, [&]<class T, bool Big>() {
    const char* in = bytes_.data();
    float* out = values_.data();
    if constexpr (std::is_same_v<T, float> && !Big)
      std::memcpy(out, in, count * sizeof(float));
    else
      for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<float>(element_at<T, Big>(in + i * sizeof(T)));
  });
  if (is_floating(header_.type) && !all_finite(values_.data(), count))
    check(count);
  return std::span(values_).first(count);
}

/// Names the first element that is no finite float32.
void array_values::check(size_t count) const {
  size_t i = 0;
  while (i < count && std::isfinite(values_[i]))
    ++i;
  const bool finite = std::isfinite(number(i));
  source_.fail(
    block_offset_ + i * bytes_of(header_.type),
    finite ? text(i) + " does not fit a floating-point number" : "a value is not a finite number",
    finite ? "numbers go up to 3.4e38: use another unit" : "remove the row or fill the value in");
}

double array_values::number(size_t i) const {
  const char* at = bytes_.data() + i * bytes_of(header_.type);
  return with_type(
    header_, [&]<class T, bool Big>() { return static_cast<double>(element_at<T, Big>(at)); });
}

std::string array_values::text(size_t i) const {
  const char* at = bytes_.data() + i * bytes_of(header_.type);
  return with_type(header_, [&]<class T, bool Big>() { return text_of(element_at<T, Big>(at)); });
}

} // namespace troupe
