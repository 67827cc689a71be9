// When a finished run goes on: lengths and stop rules are no part of the job.

#include "troupe/app/run_start.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(run_start, a_finished_run_goes_on_only_when_something_can_come_of_it) {
  struct row {
    const char* stopped_by;
    bool same_rules;
    uint64_t last_version; ///< the run ended at 100
    bool goes_on;
  };
  const row table[] = {
    {"epochs", true, 100, false},      {"epochs", true, 101, true},
    {"epochs", true, 50, false},       {"steps", true, 101, true},
    {"steps", false, 100, false},      {"interrupt", true, 200, true},
    {"interrupt", true, 100, false},   {"patience", true, 200, false},
    {"patience", false, 200, true},    {"patience", false, 100, false},
    {"target-loss", true, 200, false}, {"target-loss", false, 200, true},
  };
  for (const auto& [stopped_by, same_rules, last_version, goes_on] : table)
    EXPECT_EQ(can_go_on({100, stopped_by, same_rules}, last_version), goes_on)
      << stopped_by << " " << same_rules << " " << last_version;
}

} // namespace
} // namespace troupe
