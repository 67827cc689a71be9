// What a process does before it trains or greets: it chooses the instructions of products and makes sure that arithmetic
// is what it is everywhere.

#pragma once

#include "troupe/coordinators/job/job.hpp"

namespace troupe {

/// From now on, in this process, products use the instructions that the job asks for. Throws failure(mismatch) when they
/// are not to be had here, and when arithmetic is not what it is everywhere.
void begin_arithmetic(const runtime_options& wanted);

} // namespace troupe
