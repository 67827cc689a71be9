// The losses of one output, in C++: models/shared/losses.hpp says what they are.

#pragma once

#include "models/math/elementary.hpp"

namespace troupe::elementary {

#include "models/shared/losses.hpp"

} // namespace troupe::elementary
