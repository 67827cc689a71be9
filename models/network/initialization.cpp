#include "models/network/initialization.hpp"

#include "models/base/random.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe {

void initialize(initialization_kind kind, const initialization_request& request,
                std::span<float> weights) {
  if (request.inputs == 0 || request.outputs == 0)
    throw std::invalid_argument("initialization: a layer needs inputs and outputs");
  const random_sequence sequence{request.seed, random_purpose::initialization, request.tensor};
  const auto inputs = static_cast<double>(request.inputs);
  const auto outputs = static_cast<double>(request.outputs);
  const auto scale = static_cast<float>(request.scale);
  switch (kind) {
  case initialization_kind::zero:
    std::ranges::fill(weights, 0.0f);
    return;
  case initialization_kind::he:
    fill_normal(sequence, request.first, static_cast<float>(std::sqrt(2 / inputs)), weights);
    return;
  case initialization_kind::lecun:
    fill_normal(sequence, request.first, static_cast<float>(std::sqrt(1 / inputs)), weights);
    return;
  case initialization_kind::uniform:
    fill_uniform(sequence, request.first, -scale, scale, weights);
    return;
  case initialization_kind::normal:
    fill_normal(sequence, request.first, scale, weights);
    return;
  case initialization_kind::xavier: {
    const auto limit = static_cast<float>(std::sqrt(6 / (inputs + outputs)));
    fill_uniform(sequence, request.first, -limit, limit, weights);
    return;
  }
  }
  throw std::invalid_argument("initialization: unknown kind");
}

} // namespace troupe
