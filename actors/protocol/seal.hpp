// Seals: a message that crosses a wire carries a checksum over its name and all of its fields, so
// one flipped bit beside the values (in a count, a norm, a number, a name) is as harmless as one
// among them.
//
// A message writes its fields through `sealed`. A message whose seal is broken cannot be read: the
// actor system drops it, and it is as if it had not come. Values have a checksum of their own
// (payload.hpp), which stands for them in the seal: they are looked at once, by who uses them.

#pragma once

#include "actors/protocol/payload.hpp"
#include "actors/protocol/wire_numbers.hpp"
#include "data/text/checksum.hpp"

#include <caf/deserializer.hpp>
#include <caf/error.hpp>
#include <caf/meta/annotation.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/serializer.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe {

/// Collects what a message says of itself: an inspector that reads.
class seal_reader {
public:
  using result_type = void;
  static constexpr bool reads_state = true;
  static constexpr bool writes_state = false;

  template <class... Ts>
  void operator()(Ts&&... fields) {
    (add(fields), ...);
  }

  uint64_t seal() const { return short_checksum_of(bytes_); }

private:
  template <class T>
  void add(T& x) {
    if constexpr (std::is_base_of_v<caf::meta::annotation, std::remove_cv_t<T>>)
      return;
    else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      append({reinterpret_cast<const std::byte*>(&x), sizeof(x)});
    else
      inspect(*this, x);
  }

  void add(const std::string& x) {
    append_size(x.size());
    append(std::as_bytes(std::span{x}));
  }
  void add(std::string& x) { add(std::as_const(x)); }

  template <class T>
  void add(std::vector<T>& x) {
    append_size(x.size());
    for (auto& one : x)
      add(one);
  }
  template <class T, size_t count>
  void add(std::array<T, count>& x) {
    for (auto& one : x)
      add(one);
  }

  void add(payload& x) {
    append_size(x.values().size());
    append_size(x.checksum());
  }

  void append_size(uint64_t x) { append({reinterpret_cast<const std::byte*>(&x), sizeof(x)}); }
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::byte> bytes_;
};

template <class... Ts>
uint64_t seal_of(const char* name, Ts&&... fields) {
  seal_reader reader;
  std::string text = name;
  reader(text, fields...);
  return reader.seal();
}

/// An error unless both are the same.
caf::error compare_seals(uint64_t received, uint64_t computed);

/// What `inspect` returns for a message of this name with these fields.
template <class Inspector, class... Ts>
typename Inspector::result_type sealed(Inspector& f, const char* name, Ts&&... fields) {
  constexpr bool writes = std::is_base_of_v<caf::serializer, Inspector>;
  constexpr bool reads = std::is_base_of_v<caf::deserializer, Inspector>;
  if constexpr (writes || reads) {
    uint64_t seal = writes ? seal_of(name, on_wire(fields)...) : 0;
    auto check = [&]() -> caf::error {
      return compare_seals(seal, seal_of(name, on_wire(fields)...));
    };
    return f(caf::meta::type_name(name), on_wire(fields)..., seal, caf::meta::load_callback(check));
  } else {
    return plain(f, name, fields...);
  }
}

} // namespace troupe
