// The one exception of Troupe's readers, writers and of training as a whole: what went wrong,
// where, and what to do about it. Its code decides the exit code of the `troupe` command.

#pragma once

#include "models/base/names.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace troupe {

/// Values are the command's exit codes (docs/command-line.md), after sysexits.h where it has one.
enum class failure_code : uint8_t {
  diverged = 1,       ///< training met a value that is not finite
  usage = 2,          ///< wrong options on the command line
  bad_data = 65,      ///< a data, model or checkpoint file with wrong content
  missing_input = 66, ///< a file that is not there or cannot be read
  unavailable = 69,   ///< a peer that cannot be reached
  internal = 70,      ///< a broken promise of our own: please report
  cannot_create = 73, ///< an output that may not be written: it exists, or its folder does not
  io_error = 74,      ///< the disk is full or failed, or a device that computes
  mismatch = 76,      ///< version, job or arithmetic differ
  no_permission = 77, ///< authentication or file permission
  bad_job = 78,       ///< a job that cannot be trained
  interrupted = 130,  ///< SIGINT
  terminated = 143,   ///< SIGTERM
};

template <>
struct name_table<failure_code> {
  static constexpr std::array entries{named(failure_code::diverged, "diverged"),
                                      named(failure_code::usage, "usage"),
                                      named(failure_code::bad_data, "bad-data"),
                                      named(failure_code::missing_input, "missing-input"),
                                      named(failure_code::unavailable, "unavailable"),
                                      named(failure_code::internal, "internal"),
                                      named(failure_code::cannot_create, "cannot-create"),
                                      named(failure_code::io_error, "io-error"),
                                      named(failure_code::mismatch, "mismatch"),
                                      named(failure_code::no_permission, "no-permission"),
                                      named(failure_code::bad_job, "bad-job"),
                                      named(failure_code::interrupted, "interrupted"),
                                      named(failure_code::terminated, "terminated")};
};

class failure : public std::runtime_error {
public:
  /// `where` is file:line:column, a key, or empty; `hint` says what to do, or is empty.
  failure(failure_code code, std::string what, std::string where = {}, std::string hint = {});

  failure_code code() const noexcept { return code_; }
  const std::string& reason() const noexcept { return reason_; }
  const std::string& where() const noexcept { return where_; }
  const std::string& hint() const noexcept { return hint_; }

private:
  failure_code code_;
  std::string reason_;
  std::string where_;
  std::string hint_;
};

} // namespace troupe
