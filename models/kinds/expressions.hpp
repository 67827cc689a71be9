// Kinds and messages written as xtensor expressions: element-wise losses and activations, and values that an expression
// comes to.
//
//   troupe::losses().add("logcosh", {1, ".."}, {troupe::loss_of([](const auto& s, const auto& y) {
//     return std::pair{xt::log(xt::cosh(s - y)), xt::tanh(s - y)};
//   })});
//   const member_update mine{place, work.ticket, troupe::buffer_of(xt::view(table, 0)), 12};
//
// An expression is computed straight into its place. xt::exp and its kin are the C library's: the same bits on machines of
// one kind (docs/open.md).

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
#include <utility>

namespace troupe {

namespace detail {

/// N values of a span as a one-dimensional xtensor, without a copy.
template <class T>
auto adapted(std::span<T> values) {
  return xt::adapt(values.data(), values.size(), xt::no_ownership(),
                   std::array<size_t, 1>{values.size()});
}

} // namespace detail

/// `own_loss::evaluate` from a function of N scores and N targets, double, that returns two expressions of N values: the
/// losses, and their derivatives by the scores.
template <class Expressions>
auto loss_of(Expressions f) {
  return [f = std::move(f)](std::span<const float> scores, std::span<const float> targets,
                            std::span<loss_value> out) {
    const xt::xtensor<double, 1> s = xt::cast<double>(detail::adapted(scores));
    const xt::xtensor<double, 1> y = xt::cast<double>(detail::adapted(targets));
    const auto [values, derivatives] = f(s, y);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = {values(i), derivatives(i)};
  };
}

/// `own_activation::evaluate` from two functions of N values that return expressions of as many: f(x) and f'(x).
template <class Function, class Derivative>
auto activation_of(Function f, Derivative derivative) {
  return [f = std::move(f), derivative = std::move(derivative)](
           std::span<const float> x, std::span<float> value, std::span<float> slope) {
    const auto in = detail::adapted(x);
    detail::adapted(value) = xt::cast<float>(f(in));
    if (!slope.empty())
      detail::adapted(slope) = xt::cast<float>(derivative(in));
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
