// A faulty member's model, for rehearsals of robust merging (models/merging/robust.hpp).

#pragma once

#include <span>

namespace troupe {

/// values (P) := start - factor (values - start), element by element: the update reversed, and
/// `factor` times as long. Throws std::invalid_argument when sizes differ.
void flip_update(std::span<const float> start, double factor, std::span<float> values);

} // namespace troupe
