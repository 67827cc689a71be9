// Errors that actors answer with. There is a code only where some code reacts to it.

#pragma once

#include "actors/protocol/fwd.hpp"
#include "models/base/names.hpp"

#include <caf/error.hpp>
#include <caf/make_message.hpp>

#include <string>

namespace troupe {

enum class protocol_error : uint8_t {
  none,
  /// pull: the version is older than the shard's previous one, or it will never get there.
  version_not_held,
  /// pull: training has not finished, there are no final parameters.
  not_finished,
  /// A collective's round ended without values; the context names who is to blame.
  collective_failed,
};

template <>
struct name_table<protocol_error> {
  static constexpr std::array entries{
    named(protocol_error::none, "none"),
    named(protocol_error::version_not_held, "version-not-held"),
    named(protocol_error::not_finished, "not-finished"),
    named(protocol_error::collective_failed, "collective-failed")};
};

inline std::string to_string(protocol_error code) {
  return std::string{name_of(code)};
}

} // namespace troupe

CAF_ERROR_CODE_ENUM(troupe::protocol_error, "troupe")
