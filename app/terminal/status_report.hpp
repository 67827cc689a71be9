// A run as `troupe status` shows it to people: what goes on, who is behind, and a table of nodes.

#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// `status` is the object of actors/net/gate/visit.hpp, as text. Throws failure(mismatch) when it
/// lacks what this version shows.
std::string status_report(std::string_view status);

} // namespace troupe
