#include "troupe/models/optimizers/adagrad.hpp"

#include "troupe/models/base/multiversion.hpp"

#include <cmath>

namespace troupe {

namespace {

struct adagrad_step {
  float factor; ///< on the gradient sum
  float rate;
  float epsilon;
};

TROUPE_MULTIVERSION void update_values(const float* __restrict gradient_sum,
                                       const float* __restrict parameters, float* __restrict next,
                                       float* __restrict squares, size_t count,
                                       const adagrad_step& step) {
  const auto [factor, rate, epsilon] = step;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient_sum[i] * factor;
    const float s = squares[i] + g * g;
    squares[i] = s;
    next[i] = parameters[i] - rate * g / (std::sqrt(s) + epsilon);
  }
}

} // namespace

void adagrad::update(const update_step& step, const update_piece& piece,
                     const optimizer_state& state) const {
  using x = optimizer_options;
  update_values(piece.gradient_sum, piece.parameters, piece.next,
                state.slot(0).data() + piece.offset, piece.count,
                {step.gradient_factor, step.learning_rate, constant(&x::epsilon)});
}

} // namespace troupe
