// Kinds and messages written as xtensor expressions: element-wise losses and activations, and values that an expression
// comes to.
//
//   troupe::losses().add("quartic", {1, ".."}, {troupe::loss_of([](const auto& s, const auto& y, auto& value, auto& slope) {
//     const auto e = s - y;
//     value = e * e * e * e;
//     slope = 4.0 * e * e * e;
//   })});
//   const member_update mine{place, work.ticket, troupe::buffer_of(xt::view(table, 0)), 12};
//
// xt::exp and its kin are the C library's: the same bits on machines of one kind (docs/open.md).

#pragma once

#include "models/base/buffer.hpp"
#include "models/losses/own_loss.hpp"
#include "models/network/own_activation.hpp"

#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace detail {

/// N values of a span as a one-dimensional xtensor, without a copy.
template <class T>
auto adapted(std::span<T> values) {
  return xt::adapt(values.data(), values.size(), xt::no_ownership(),
                   std::array<size_t, 1>{values.size()});
}

inline void require_as_many(size_t expected, size_t values, size_t slopes) {
  if (values != expected || slopes != expected)
    throw std::invalid_argument("an expression of " + std::to_string(values) +
                                " values and one of " + std::to_string(slopes) + " slopes for " +
                                std::to_string(expected) + ": assign one of each for each");
}

} // namespace detail

/// `own_loss::evaluate` from a function of N scores and N targets, double, that assigns the losses and their derivatives
/// by the scores: any expressions of N values. Throws std::invalid_argument for others.
template <class Function>
auto loss_of(Function f) {
  return [f = std::move(f)](std::span<const float> scores, std::span<const float> targets,
                            std::span<loss_value> out) {
    const xt::xtensor<double, 1> s = xt::cast<double>(detail::adapted(scores));
    const xt::xtensor<double, 1> y = xt::cast<double>(detail::adapted(targets));
    xt::xtensor<double, 1> values, slopes;
    f(s, y, values, slopes);
    detail::require_as_many(out.size(), values.size(), slopes.size());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = {values(i), slopes(i)};
  };
}

/// `own_activation::evaluate` from a function of N values that assigns f(x) and f'(x), likewise.
template <class Function>
auto activation_of(Function f) {
  return
    [f = std::move(f)](std::span<const float> x, std::span<float> value, std::span<float> slope) {
      const xt::xtensor<float, 1> in = detail::adapted(x);
      xt::xtensor<float, 1> values, slopes;
      f(in, values, slopes);
      detail::require_as_many(x.size(), values.size(), slopes.size());
      detail::adapted(value) = values;
      if (!slope.empty())
        detail::adapted(slope) = slopes;
    };
}

/// What any expression comes to, row by row, as values for a message: of a gradient or of parameters.
template <class E>
const_buffer buffer_of(const xt::xexpression<E>& values) {
  const auto& x = values.derived_cast();
  const buffer result{x.size()};
  auto to = result.values().begin();
  for (auto at = x.template begin<xt::layout_type::row_major>(),
            end = x.template end<xt::layout_type::row_major>();
       at != end; ++at)
    *to++ = static_cast<float>(*at);
  return result;
}

} // namespace troupe
