#include "data/formats/arrays/read_array.hpp"

#include "models/base/multiversion.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
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

/// Goes over elements and gives float32: what a vector needs to take them in without first filling
/// its new room with zeros.
template <class T, bool Big>
class element_iterator {
public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = float;
  using difference_type = ptrdiff_t;
  using pointer = const float*;
  using reference = float;

  explicit element_iterator(const char* at) : at_(at) {}

  float operator*() const { return static_cast<float>(element_at<T, Big>(at_)); }
  element_iterator& operator++() {
    at_ += sizeof(T);
    return *this;
  }
  element_iterator& operator--() {
    at_ -= sizeof(T);
    return *this;
  }
  element_iterator& operator+=(ptrdiff_t count) {
    at_ += count * static_cast<ptrdiff_t>(sizeof(T));
    return *this;
  }
  friend element_iterator operator+(element_iterator at, ptrdiff_t count) { return at += count; }
  friend ptrdiff_t operator-(element_iterator a, element_iterator b) {
    return (a.at_ - b.at_) / static_cast<ptrdiff_t>(sizeof(T));
  }
  friend bool operator==(element_iterator, element_iterator) = default;

private:
  const char* at_;
};

template <class T>
std::string text_of(T value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

} // namespace

size_t array_values::append(uint64_t count, std::vector<float>& out) {
  const auto size = static_cast<size_t>(std::min<uint64_t>(count, block_size));
  block_offset_ = source_.offset();
  bytes_.resize(size * bytes_of(header_.type));
  source_.read(bytes_, "the values");
  with_type(header_, [&]<class T, bool Big>() {
    const element_iterator<T, Big> begin{bytes_.data()};
    out.insert(out.end(), begin, begin + static_cast<ptrdiff_t>(size));
  });
  const auto values = std::span(out).last(size);
  if (is_floating(header_.type) && !all_finite(values.data(), size))
    refuse(values);
  return size;
}

/// Names the first element that is no finite float32.
void array_values::refuse(std::span<const float> values) const {
  size_t i = 0;
  while (i < values.size() && std::isfinite(values[i]))
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
