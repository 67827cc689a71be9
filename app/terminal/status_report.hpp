// A run as `troupe status` shows it to people: what goes on, who is behind, and a table of nodes.

#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// `status` is the object of actors/net/gate/visit.hpp, as text. Throws failure(mismatch) when it
/// lacks what this version shows.
std::string status_report(std::string_view status);

/// Of the same object only why nothing moves: who holds up the run, the chain of waits that leads
/// there, and what to do; one line when it moves. Throws as `status_report`.
std::string wait_report(std::string_view status);

} // namespace troupe
