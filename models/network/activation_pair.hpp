// Activation functions whose derivative cannot be told from their output, both at once: they share what
// takes the time. What a layer then keeps for backward is the derivative itself.

#pragma once

#include "troupe/models/network/activation.hpp"

#include <span>

namespace troupe {

/// `values` become f(values), `derivative` f'(values). Throws std::invalid_argument for a kind with
/// another derivative than one by the input (`derivative_needs_input`), and for other sizes.
void activate_and_derive(activation_kind kind, std::span<float> values,
                         std::span<float> derivative);

} // namespace troupe
