#include "troupe/models/activation.hpp"

#include "troupe/models/elementary.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

namespace {

struct identity_function {
  static float value(float y) { return y; }
  static float derivative(float) { return 1; }
};

struct relu_function {
  // Written so that NaN compares into the first branch and stays.
  static float value(float y) { return y <= 0 ? 0.0f : y; }
  static float derivative(float y) { return y > 0 ? 1.0f : 0.0f; }
};

struct tanh_function {
  static float value(float y) { return elementary::tanh(y); }
  static float derivative(float y) { return 1 - y * y; }
};

struct sigmoid_function {
  static float value(float y) { return elementary::sigmoid(y); }
  static float derivative(float y) { return y * (1 - y); }
};

// Calls `use` with the function object of `kind`: the one place that lists them all.
template <class Use>
void with_function(activation_kind kind, Use use) {
  switch (kind) {
  case activation_kind::identity:
    return use(identity_function{});
  case activation_kind::relu:
    return use(relu_function{});
  case activation_kind::tanh:
    return use(tanh_function{});
  case activation_kind::sigmoid:
    return use(sigmoid_function{});
  }
  throw std::invalid_argument("activation: unknown kind");
}

} // namespace

void activate(activation_kind kind, std::span<float> values) {
  with_function(kind, [values](auto function) {
    float* const y = values.data();
    const size_t count = values.size();
    for (size_t i = 0; i < count; ++i)
      y[i] = function.value(y[i]);
  });
}

void add_bias_and_activate(activation_kind kind, std::span<const float> bias,
                           std::span<float> values) {
  if (bias.empty() || values.size() % bias.size() != 0)
    throw std::invalid_argument("bias: " + std::to_string(values.size()) +
                                " values are no whole number of rows of " +
                                std::to_string(bias.size()));
  with_function(kind, [bias, values](auto function) {
    const size_t columns = bias.size();
    const float* const __restrict b = bias.data();
    for (size_t start = 0; start < values.size(); start += columns) {
      float* const __restrict y = values.data() + start;
      for (size_t j = 0; j < columns; ++j)
        y[j] = function.value(y[j] + b[j]);
    }
  });
}

void multiply_by_derivative(activation_kind kind, std::span<const float> outputs,
                            std::span<float> delta) {
  if (outputs.size() != delta.size())
    throw std::invalid_argument("activation derivative: " + std::to_string(outputs.size()) +
                                " outputs but " + std::to_string(delta.size()) + " deltas");
  with_function(kind, [outputs, delta](auto function) {
    const float* const __restrict y = outputs.data();
    float* const __restrict d = delta.data();
    const size_t count = delta.size();
    for (size_t i = 0; i < count; ++i)
      d[i] *= function.derivative(y[i]);
  });
}

} // namespace troupe
