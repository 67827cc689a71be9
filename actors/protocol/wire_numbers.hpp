// Real numbers on their way between processes, as their bits: CAF's own encoding of floating-point values
// cannot be trusted with infinity or NaN. And the records that hold nothing but numbers.

#pragma once

#include "troupe/models/base/index_range.hpp"
#include "troupe/models/metrics/metric_sums.hpp"
#include "troupe/models/training/round_record.hpp"

#include <caf/error.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/sec.hpp>

#include <bit>
#include <cstdint>
#include <optional>

namespace troupe {

/// A double on its way: its bits as an integer. Use it in `inspect` around a member.
struct wire_double {
  double& value;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, wire_double x) {
  auto bits = std::bit_cast<uint64_t>(x.value);
  auto load = [&]() -> caf::error {
    x.value = std::bit_cast<double>(bits);
    return caf::none;
  };
  return f(bits, caf::meta::load_callback(load));
}

/// An optional double on its way: a flag, then the bits (0 when absent).
struct wire_optional {
  std::optional<double>& value;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, wire_optional x) {
  bool present = x.value.has_value();
  auto bits = std::bit_cast<uint64_t>(x.value.value_or(0));
  auto load = [&]() -> caf::error {
    x.value = present ? std::optional{std::bit_cast<double>(bits)} : std::nullopt;
    return caf::none;
  };
  return f(present, bits, caf::meta::load_callback(load));
}

/// Doubles on their way: their bits as integers.
struct wire_doubles {
  std::vector<double>& values;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, wire_doubles x) {
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

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, metric_sums& x) {
  wire_doubles values{x.values};
  return f(caf::meta::type_name("troupe.metric_sums"), x.places, values);
}

/// Named figures on their way, some of them absent.
struct wire_figures {
  metric_figures& values;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, wire_figures x) {
  std::vector<std::string> names, absent;
  std::vector<double> numbers;
  for (const auto& [name, value] : x.values)
    if (value) {
      names.push_back(name);
      numbers.push_back(*value);
    } else {
      absent.push_back(name);
    }
  wire_doubles wired{numbers};
  auto load = [&]() -> caf::error {
    x.values.clear();
    for (const auto& name : absent)
      x.values[name].reset();
    if (names.size() != numbers.size())
      return caf::make_error(caf::sec::invalid_argument, "figures without names");
    for (size_t i = 0; i < names.size(); ++i)
      x.values[names[i]] = numbers[i];
    return caf::none;
  };
  return f(names, wired, absent, caf::meta::load_callback(load));
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, index_range& x) {
  return f(x.begin, x.end);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, client_quantiles& x) {
  wire_double p10{x.p10};
  wire_double p50{x.p50};
  wire_double p90{x.p90};
  wire_double most{x.most};
  return f(p10, p50, p90, most);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, round_record& x) {
  wire_double loss{x.loss};
  wire_optional epsilon{x.epsilon};
  return f(x.round, x.invited, x.dropped, x.late, x.surplus, x.refused, x.counted, x.rows, loss,
           x.losses, x.norms, x.is_void, epsilon);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, privacy_totals& x) {
  wire_double epsilon{x.epsilon};
  wire_double delta{x.delta};
  wire_double noise{x.noise};
  wire_double rate{x.sampling_rate};
  wire_double clip{x.clip_norm};
  return f(x.releases, epsilon, delta, noise, rate, clip);
}

} // namespace troupe
