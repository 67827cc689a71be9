// The edge of an actor: code below it catches no exception, code above it sees none. An exception
// that leaves a handler ends the actor, and its text becomes the reason that monitors get. Handlers
// compute in default rounding, whatever the host has set on its threads. Afterwards the thread has
// the host's rounding again, for the host's own actors.

#pragma once

#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "models/base/rounding.hpp"
#include "models/device/device.hpp"

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

/// An actor whose handlers, constructor and destructor included, run in default rounding.
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

/// The argument of an actor's function: the pointer to an actor of this interface with this state.
template <class Handle, class State>
using self_pointer = caf::stateful_actor<State, rounds_by_default<typename Handle::base>>*;

/// An exception's text, with the actor's current work if its state has `work_in_hand`.
template <class State>
std::string with_work(const State& state, std::string what) {
  if constexpr (requires { state.work_in_hand(); })
    if (const auto work = state.work_in_hand(); !work.empty())
      what += ", at " + work;
  return what;
}

/// An actor's exit reason: a text for people, and the exit code of a run that it ends.
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
    } catch (const device_error& problem) {
      return end_reason(failure_code::io_error, with_work(self->state, problem.what()));
    } catch (const std::exception& problem) {
      return end_reason(failure_code::internal, with_work(self->state, problem.what()));
    } catch (...) {
      return end_reason(failure_code::internal, with_work(self->state, "an unknown exception"));
    }
  });
  // An actor that cannot read a message answers with an error, even where no answer was asked for.
  // Such an error must not end this actor. Requests have error handlers of their own.
  self->set_error_handler([](caf::error&) {});
}

/// Why an actor ended, for people: its own text if its exit reason has one.
inline std::string reason_text(const caf::actor_system& system, const caf::error& reason) {
  if (reason == caf::sec::runtime_error &&
      (reason.context().match_elements<std::string>() ||
       reason.context().match_elements<std::string, uint8_t>()))
    return reason.context().get_as<std::string>(0);
  return system.render(reason);
}

/// The code of an actor of this process that ended (`end_reason`); internal when it has none.
inline failure_code code_of(const caf::error& reason) {
  const bool has_code =
    reason == caf::sec::runtime_error && reason.context().match_elements<std::string, uint8_t>();
  return has_code ? static_cast<failure_code>(reason.context().get_as<uint8_t>(1))
                  : failure_code::internal;
}

/// Why a run ends when one of its actors has ended; `what` comes first. The code is the actor's,
/// because damaged data or lack of memory is no defect of the program.
inline failure loss_failure(const caf::actor_system& system, const caf::error& reason,
                            const std::string& what = {}) {
  return {code_of(reason), what + reason_text(system, reason)};
}

} // namespace troupe
