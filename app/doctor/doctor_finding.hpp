// What `troupe doctor` found out about one thing, and what to do about it. The doctor's judgement
// is here and in app/doctor/doctor_judgement.hpp, apart from the looking
// (app/doctor/machine_facts.hpp), so that every verdict can be tested without a machine that
// deserves it.

#pragma once

#include "troupe/data/text/failure.hpp"

#include <string>
#include <vector>

namespace troupe {

enum class health : uint8_t {
  ok,
  warn, ///< a run works, but not as well as it could
  fail, ///< a run would be refused, or end early
};

template <>
struct name_table<health> {
  static constexpr std::array entries{named(health::ok, "ok"), named(health::warn, "warn"),
                                      named(health::fail, "fail")};
};

struct finding {
  std::string check; ///< one or two words: "processors", "port of main"
  health verdict = health::ok;
  std::string what;                          ///< what was found
  std::string hint{};                        ///< what to do; empty when all is well
  failure_code code = failure_code::bad_job; ///< what a run would end with, when it fails

  friend bool operator==(const finding&, const finding&) = default;
};

using findings = std::vector<finding>;

/// The first that fails; null when none does. Its code is the exit code.
const finding* first_failed(const findings& all);

/// One line each, "ok    processors  2, all usable", with hints below.
std::string doctor_report(const findings& all);

/// {"verdict": .., "checks": [{"check", "verdict", "what", "hint"}]} on one line, and `error` as
/// every failed command has it when one fails.
std::string doctor_json(const findings& all);

} // namespace troupe
