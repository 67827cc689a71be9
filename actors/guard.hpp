// The actor's edge: an exception that leaves a handler ends the actor, and its text becomes the
// reason that its monitors see. Below this edge nothing is caught, above it nothing is thrown.

#pragma once

#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/sec.hpp>

#include <exception>
#include <string>

namespace troupe {

/// Call it first thing in an actor.
template <class Self>
void guard(Self* self) {
  self->set_exception_handler([](std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& problem) {
      return caf::make_error(caf::sec::runtime_error, std::string{problem.what()});
    } catch (...) {
      return caf::make_error(caf::sec::runtime_error, std::string{"an unknown exception"});
    }
  });
}

/// Why an actor ended, for people: its own words when it left some.
inline std::string reason_text(const caf::actor_system& system, const caf::error& reason) {
  if (reason == caf::sec::runtime_error && reason.context().match_elements<std::string>())
    return reason.context().get_as<std::string>(0);
  return system.render(reason);
}

} // namespace troupe
