// Makes sure that arithmetic is what it is everywhere (models/base/arithmetic.hpp), before a process trains, predicts or
// greets.

#pragma once

namespace troupe {

/// Throws failure(mismatch), naming what is computed otherwise here and by which instructions, where that is so.
void require_arithmetic();

} // namespace troupe
