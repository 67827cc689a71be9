// The fields of messages on their way between processes, for the sources that define `inspect` (TROUPE_INSPECT). Real
// numbers travel as their bits: CAF's own encoding of floating-point values cannot be trusted with infinity or NaN.

#pragma once

#include "actors/protocol/fwd.hpp"
#include "models/base/names.hpp"
#include "models/metrics/metric.hpp"

#include <caf/deserializer.hpp>
#include <caf/detail/stringification_inspector.hpp>
#include <caf/error.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/sec.hpp>
#include <caf/serializer.hpp>

#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

/// Annotates the fields of `inspect`: what to do once they are read.
template <class Function>
auto when_loaded(Function function) {
  return caf::meta::load_callback([function]() -> caf::error {
    function();
    return caf::none;
  });
}

/// A real number on a wire: its bits as an integer.
template <class Real>
struct wire_real {
  Real& value;
};

template <class Real>
auto inspect(auto& f, wire_real<Real> x) {
  using word = std::conditional_t<sizeof(Real) == sizeof(uint64_t), uint64_t, uint32_t>;
  auto bits = std::bit_cast<word>(x.value);
  return f(bits, when_loaded([&] { x.value = std::bit_cast<Real>(bits); }));
}

/// A value of an enumeration on its way: a byte; one beyond the last is refused.
template <class Enum>
struct wire_enum {
  Enum& value;
};

template <class Enum>
auto inspect(auto& f, wire_enum<Enum> x) {
  auto byte = static_cast<uint8_t>(x.value);
  auto load = [&]() -> caf::error {
    if (byte > static_cast<uint8_t>(last_of<Enum>))
      return caf::make_error(caf::sec::invalid_argument, "there is no such value");
    x.value = static_cast<Enum>(byte);
    return caf::none;
  };
  return f(byte, caf::meta::load_callback(load));
}

/// A time on a wire: its count.
template <class Duration>
struct wire_time {
  Duration& value;
};

template <class Duration>
auto inspect(auto& f, wire_time<Duration> x) {
  auto count = static_cast<int64_t>(x.value.count());
  return f(count, when_loaded([&] { x.value = Duration{count}; }));
}

/// Doubles on a wire: their bits as integers.
struct wire_doubles {
  std::vector<double>& values;
};

auto inspect(auto& f, wire_doubles x) {
  std::vector<uint64_t> bits;
  for (double value : x.values)
    bits.push_back(std::bit_cast<uint64_t>(value));
  auto load = [&]() -> caf::error {
    x.values.clear();
    for (auto word : bits)
      x.values.push_back(std::bit_cast<double>(word));
    return caf::none;
  };
  return f(bits, caf::meta::load_callback(load));
}

/// An optional value on a wire: a flag, then the value (a default one when absent).
template <class T>
struct wire_optional {
  std::optional<T>& value;
};

/// Named figures on a wire, some of them absent.
struct wire_figures {
  metric_figures& values;
};

/// The form of a field on a wire: its own, except for the types above.
template <class T>
T& on_wire(T& x) {
  return x;
}
inline wire_real<double> on_wire(double& x) {
  return {x};
}
inline wire_real<float> on_wire(float& x) {
  return {x};
}
template <class Enum>
requires std::is_enum_v<Enum> wire_enum<Enum> on_wire(Enum& x) {
  return {x};
}
inline wire_doubles on_wire(std::vector<double>& x) {
  return {x};
}
template <class Rep, class Period>
wire_time<std::chrono::duration<Rep, Period>> on_wire(std::chrono::duration<Rep, Period>& x) {
  return {x};
}
template <class T>
wire_optional<T> on_wire(std::optional<T>& x) {
  return {x};
}
inline wire_figures on_wire(metric_figures& x) {
  return {x};
}

/// What `inspect` returns for these fields, annotations of CAF among them.
auto inspect_fields(auto& f, auto&&... fields) {
  return f(on_wire(fields)...);
}

/// The same for a message, with its name for logs.
auto plain(auto& f, const char* name, auto&&... fields) {
  return f(caf::meta::type_name(name), on_wire(fields)...);
}

template <class T>
auto inspect(auto& f, wire_optional<T> x) {
  bool present = x.value.has_value();
  auto content = x.value.value_or(T{});
  return inspect_fields(f, present, content, when_loaded([&] {
                          x.value = present ? std::optional{content} : std::nullopt;
                        }));
}

/// One of named figures on their way.
struct named_figure {
  std::string name;
  std::optional<double> value;
};

auto inspect(auto& f, named_figure& x) {
  return inspect_fields(f, x.name, x.value);
}

auto inspect(auto& f, wire_figures x) {
  std::vector<named_figure> all;
  for (const auto& [name, value] : x.values)
    all.push_back({name, value});
  auto load = [&]() -> caf::error {
    x.values.clear();
    for (const auto& one : all)
      x.values[one.name] = one.value;
    return caf::none;
  };
  return f(all, caf::meta::load_callback(load));
}

} // namespace troupe

/// Makes the declared `inspect` of a type for writing, reading and text.
#define TROUPE_INSTANTIATE_INSPECT(TYPE)                                                           \
  template caf::error inspect(caf::serializer&, TYPE&);                                            \
  template caf::error inspect(caf::deserializer&, TYPE&);                                          \
  template void inspect(caf::detail::stringification_inspector&, TYPE&);

/// Defines and makes it: the fields are an expression of `f`, the inspector, and `x`, the value.
#define TROUPE_INSPECT(TYPE, ...)                                                                  \
  TROUPE_INSPECTED(TYPE) {                                                                         \
    return __VA_ARGS__;                                                                            \
  }                                                                                                \
  TROUPE_INSTANTIATE_INSPECT(TYPE)
