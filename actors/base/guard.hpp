// The actor's edge. An exception that leaves a handler ends the actor, and its text becomes the
// reason that its monitors see: below this edge nothing is caught, above it nothing is thrown. And
// whatever direction of rounding the host has set on its threads, below this edge numbers are
// computed as ever, and the thread leaves as it came: on it run the host's own actors too.

#pragma once

#include "troupe/data/text/failure.hpp"
#include "troupe/models/base/numerics.hpp"

#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/resumable.hpp>
#include <caf/sec.hpp>
#include <caf/stateful_actor.hpp>

#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace troupe {

/// An actor whose handlers, its making and what ends it included, run in default rounding.
template <class Base>
class rounds_by_default : public Base {
public:
  using Base::Base;

  caf::resumable::resume_result resume(caf::execution_unit* context,
                                       size_t max_throughput) override {
    const default_rounding rounding;
    return Base::resume(context, max_throughput);
  }
};

/// What an actor's function takes: the pointer to an actor of this interface with this state.
template <class Handle, class State>
using self_pointer = caf::stateful_actor<State, rounds_by_default<typename Handle::base>>*;

/// What an actor leaves that ran out of memory.
inline constexpr std::string_view memory_shortage = "there is not enough memory";

/// What an exception says, with what the actor was at if its state can tell (`work_in_hand`).
template <class State>
std::string with_work(const State& state, std::string what) {
  if constexpr (requires { state.work_in_hand(); })
    if (const auto work = state.work_in_hand(); !work.empty())
      what += ", at " + work;
  return what;
}

/// Call it first thing in an actor.
template <class State, class Base>
void guard(caf::stateful_actor<State, rounds_by_default<Base>>* self) {
  self->set_exception_handler([self](std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      return caf::make_error(caf::sec::runtime_error, std::string{memory_shortage});
    } catch (const std::exception& problem) {
      return caf::make_error(caf::sec::runtime_error, with_work(self->state, problem.what()));
    } catch (...) {
      return caf::make_error(caf::sec::runtime_error,
                             with_work(self->state, "an unknown exception"));
    }
  });
  // Whoever cannot read a message answers with an error, though nobody asked: that is no reason to
  // end. An answer that was asked for has a handler of its own.
  self->set_error_handler([](caf::error&) {});
}

/// Why an actor ended, for people: its own words when it left some.
inline std::string reason_text(const caf::actor_system& system, const caf::error& reason) {
  if (reason == caf::sec::runtime_error && reason.context().match_elements<std::string>())
    return reason.context().get_as<std::string>(0);
  return system.render(reason);
}

/// Why a run ends with a part of it. Without memory that is no defect of the program.
inline failure loss_failure(const std::string& what) {
  const bool lacks_memory = what.find(memory_shortage) != std::string::npos;
  return {lacks_memory ? failure_code::bad_job : failure_code::internal, what};
}

} // namespace troupe
