// Which mutant is in force, for the edited copies of the sources (make_mutants.py). Nothing of the
// product includes this.

#pragma once

namespace troupe {

/// Index in the table of mutants; -1: none, and the copies do what the product does.
inline int mutant_in_force = -1;

} // namespace troupe
