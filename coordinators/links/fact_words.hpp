// Facts in words: what a process has in common with others, as lines "key = value", so that a
// reason can say what differs and not only that something does.
//
//   steps = 5                            steps = 5
//   checkpoint.every_steps = 100         checkpoint.every_steps = 7
//     --> "checkpoint.every_steps = 100 and 7"
//
// They come from strangers: nothing here trusts their lengths or contents.

#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// Foreign text for people: at most 40 bytes of printable ASCII; "nothing" when there is none.
std::string shown_fact(std::string_view text);

/// The first line that differs, as "key = value of a and value of b", with "nothing" for who lacks
/// it; of facts that are one word, both words. Empty when they are equal.
std::string first_difference(std::string_view of_a, std::string_view of_b);

} // namespace troupe
