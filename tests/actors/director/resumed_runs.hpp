// Runs that go on from what an earlier one left in a folder, which is in memory.

#pragma once

#include "actors/run/resuming.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/checksum.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace troupe::test {

inline std::string job_sha256(const job& x) {
  const auto data = load_data(x);
  const auto identity = identity_text(resolve(x, shape_of(*data), 2), data->fingerprint);
  return sha256_hex(std::as_bytes(std::span{identity}));
}

/// A folder in memory that outlives the runs that write to it.
struct memory_folder {
  std::shared_ptr<plain_disk> disk = std::make_shared<plain_disk>();
  size_t keep = checkpoints_kept;

  std::shared_ptr<checkpoint_store> store() const {
    return std::make_shared<checkpoint_store>(disk, "run", keep);
  }

  company_options writing() const {
    company_options options;
    options.checkpoints = store();
    return options;
  }

  /// What a process that finds this folder goes on with.
  company_options resuming(const job& x) const {
    auto options = writing();
    const auto data = load_data(x);
    const auto resolved = resolve(x, shape_of(*data), 2);
    const auto refusal = [&](const checkpoint& found) { return misfit_of(found, resolved, *data); };
    if (!options.checkpoints->versions().empty())
      options.resume_from = options.checkpoints->latest(job_sha256(x), refusal).newest;
    return options;
  }
};

inline std::vector<history_row> without_seconds(std::vector<history_row> rows) {
  for (auto& row : rows)
    row.seconds = 0;
  return rows;
}

/// All that a run is known by, but its time and who did what.
inline void expect_same(const company_outcome& run, const company_outcome& undisturbed) {
  ASSERT_FALSE(run.finished.failed) << run.finished.problem;
  EXPECT_EQ(run.parameters, undisturbed.parameters);
  EXPECT_EQ(run.finished.version, undisturbed.finished.version);
  EXPECT_EQ(run.finished.reason, undisturbed.finished.reason);
  EXPECT_EQ(run.finished.is_best, undisturbed.finished.is_best);
  EXPECT_EQ(run.finished.problem, undisturbed.finished.problem);
  EXPECT_EQ(without_seconds(run.finished.history), without_seconds(undisturbed.finished.history));
}

/// Delivers messages of a run until it is over, or until `message_count` were.
inline void deliver(ordered_company& run, std::mt19937_64& random, size_t message_count) {
  for (size_t i = 0; i < message_count && run.step(random); ++i) {
  }
}

/// A process that is gone after so many messages; what it wrote stays in the folder.
inline void run_and_die(const job& x, const company_options& options, uint64_t seed,
                        size_t message_count) {
  ordered_company run{x, options};
  std::mt19937_64 random{seed};
  run.begin();
  deliver(run, random, message_count);
}

} // namespace troupe::test
