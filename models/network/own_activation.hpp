// An activation that an application adds, in place of one of the library's (activation.hpp).
//
//   troupe::activations().add("mish", {1, "x tanh(softplus(x))"}, {each_value(&mish, &derivative_of_mish)});
//
// `verify_activation` (models/verify/verify.hpp) checks what it promises.

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace troupe {

/// Called by several threads at once; gives each element the same, whatever stands beside it.
struct own_activation {
  /// N values f(x) and N derivatives f'(x) of N inputs; `derivative` is empty when nobody wants it. Neither is the
  /// memory of `x`.
  std::function<void(std::span<const float> x, std::span<float> value, std::span<float> derivative)>
    evaluate;
  /// 0 or nearly so on one side and a line on the other: weights begin with "he" by default, not with "xavier".
  bool is_rectifier = false;
};

/// `evaluate` from a function of one value and its derivative.
template <class Function, class Derivative>
auto each_value(Function f, Derivative derivative) {
  return [f = std::move(f), derivative = std::move(derivative)](
           std::span<const float> x, std::span<float> value, std::span<float> slope) {
    for (size_t i = 0; i < x.size(); ++i)
      value[i] = static_cast<float>(f(x[i]));
    for (size_t i = 0; i < slope.size(); ++i)
      slope[i] = static_cast<float>(derivative(x[i]));
  };
}

} // namespace troupe
