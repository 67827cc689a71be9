// The actor's edge. An exception that leaves a handler ends the actor, and its text becomes the
// reason that its monitors see: below this edge nothing is caught, above it nothing is thrown. And
// whatever direction of rounding the host has set on its threads, below this edge numbers are
// computed as ever, and the thread leaves as it came: on it run the host's own actors too.

#pragma once

#include "data/text/failure.hpp"
#include "models/base/rounding.hpp"

#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/resumable.hpp>
#include <caf/sec.hpp>
#include <caf/stateful_actor.hpp>

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

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

/// What an actor ends with: why, for people, and the exit code of a run that ends with it.
inline caf::error end_reason(failure_code code, std::string what) {
  return caf::make_error(caf::sec::runtime_error, std::move(what), static_cast<uint8_t>(code));
}

/// Call it first thing in an actor.
template <class State, class Base>
void guard(caf::stateful_actor<State, rounds_by_default<Base>>* self) {
  self->set_exception_handler([self](std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      return end_reason(failure_code::bad_job, std::string{memory_shortage});
    } catch (const failure& problem) {
      const failure told{problem.code(), with_work(self->state, problem.reason()), problem.where(),
                         problem.hint()};
      return end_reason(told.code(), told.what());
    } catch (const std::exception& problem) {
      return end_reason(failure_code::internal, with_work(self->state, problem.what()));
    } catch (...) {
      return end_reason(failure_code::internal, with_work(self->state, "an unknown exception"));
    }
  });
  // Whoever cannot read a message answers with an error, though nobody asked: that is no reason to
  // end. An answer that was asked for has a handler of its own.
  self->set_error_handler([](caf::error&) {});
}

/// Why an actor ended, for people: its own words when it left some.
inline std::string reason_text(const caf::actor_system& system, const caf::error& reason) {
  if (reason == caf::sec::runtime_error &&
      (reason.context().match_elements<std::string>() ||
       reason.context().match_elements<std::string, uint8_t>()))
    return reason.context().get_as<std::string>(0);
  return system.render(reason);
}

/// The code that an actor of this process ended with (`end_reason`); internal when it left none.
inline failure_code code_of(const caf::error& reason) {
  const bool has_code =
    reason == caf::sec::runtime_error && reason.context().match_elements<std::string, uint8_t>();
  return has_code ? static_cast<failure_code>(reason.context().get_as<uint8_t>(1))
                  : failure_code::internal;
}

/// Why a run ends with a part of it, behind `what`. Damaged data or a want of memory is no defect of
/// the program: the code is the one that the part ended with.
inline failure loss_failure(const caf::actor_system& system, const caf::error& reason,
                            const std::string& what = {}) {
  return {code_of(reason), what + reason_text(system, reason)};
}

} // namespace troupe
