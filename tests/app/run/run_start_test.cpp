// Where a training begins: from which checkpoint, and when a finished run goes on (lengths and stop
// rules are no part of the job).

#include "app/run/run_start.hpp"

#include "actors/run/job_data.hpp"
#include "data/text/digest.hpp"
#include "data/text/failure.hpp"
#include "models/base/arithmetic.hpp"
#include "tests/support/some_checkpoint.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <span>

namespace troupe::run_start_test {
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
  for (const auto* stopped_by : {"epochs", "patience"}) {
    EXPECT_TRUE(can_go_on({100, stopped_by, true, true}, 100)) << "to its last version";
    EXPECT_FALSE(can_go_on({100, stopped_by, true, true}, 99));
  }
}

class run_start_of : public testing::Test {
protected:
  run_start_of() {
    x.name = "some";
    x.data.synthetic = synthetic_kind::classification;
    x.data.rows = 64;
    x.output.directory = folder.path("run");
    data = load_data(x);
    const auto text = identity(); // claims the folder for a moment
    run_folders{x, earlier_run::replace}.begin("", text);
  }

  run_start find() {
    warnings.clear();
    return find_start(x, *data, run_folders{x, earlier_run::resume},
                      [this](const std::string& line) { warnings += line; });
  }

  std::string identity() {
    return find_start(x, *data, run_folders{x, earlier_run::replace}, {}).identity;
  }

  checkpoint checkpoint_at(uint64_t version) {
    const auto text = identity();
    const auto shape = shape_of(*data);
    const auto size = make_model(resolve(x, shape, 1), shape)->layout().size();
    auto result = plain_checkpoint(version, {size, 0, true, "a1"});
    result.job_sha256 = sha256_hex(std::as_bytes(std::span{text}));
    result.arithmetic = arithmetic_name;
    return result;
  }

  void damage(const std::string& name) {
    auto bytes = folder.read(name);
    bytes.resize(bytes.size() - 1);
    folder.write(name, bytes);
  }

  temporary_folder folder;
  job x;
  std::shared_ptr<const prepared_data> data;
  std::string warnings;
};

TEST_F(run_start_of, a_resumed_run_is_its_newest_whole_checkpoint) {
  checkpoint_store store{posix_disk(), x.output.directory};
  store.write(checkpoint_at(3));
  store.write(checkpoint_at(5));
  auto start = find();
  EXPECT_TRUE(same(*start.resume_from, checkpoint_at(5)));
  EXPECT_EQ(start.note, store.path_of(5) + ": training goes on from step 5\n");
  EXPECT_EQ(warnings, "");
  damage("run/checkpoint-000000000005.troupe");
  start = find();
  EXPECT_TRUE(same(*start.resume_from, checkpoint_at(3)));
  EXPECT_EQ(start.note, store.path_of(3) + ": training goes on from step 3\n");
  EXPECT_TRUE(warnings.starts_with("troupe: warning: " + store.path_of(5) + ": not used: "))
    << warnings;
}

TEST_F(run_start_of, a_checkpoint_of_another_shape_is_skipped_for_the_one_before) {
  checkpoint_store store{posix_disk(), x.output.directory};
  store.write(checkpoint_at(3));
  auto odd = checkpoint_at(5);
  odd.optimizer_numbers.resize(200'000);
  store.write(odd);
  EXPECT_EQ(find().resume_from->version, 3u);
  EXPECT_EQ(warnings, "troupe: warning: " + store.path_of(5) +
                        ": not used: it is of another shape: it has 200000 optimizer numbers, the "
                        "job has 0\n");
}

TEST_F(run_start_of, checkpoints_of_another_shape_alone_are_bad_data) {
  auto odd = checkpoint_at(5);
  odd.slots.push_back(odd.parameters);
  checkpoint_store{posix_disk(), x.output.directory}.write(odd);
  try {
    find();
    FAIL();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_NE(error.reason().find("it has 1 optimizer slots, the job has 0"), std::string::npos);
  }
}

TEST_F(run_start_of, what_was_not_used_is_said_even_when_the_rest_is_refused) {
  checkpoint_store store{posix_disk(), x.output.directory};
  store.write(checkpoint_at(1000));
  store.write(checkpoint_at(1001));
  damage("run/checkpoint-000000001001.troupe");
  EXPECT_THROW(find(), failure) << "beyond the end of training";
  EXPECT_NE(warnings.find("1001"), std::string::npos);
}

TEST_F(run_start_of, checkpoints_elsewhere_outlive_the_output_directory) {
  x.checkpoint.directory = folder.path("safe");
  std::filesystem::create_directory(x.checkpoint.directory);
  checkpoint_store{posix_disk(), x.checkpoint.directory}.write(checkpoint_at(3));
  std::filesystem::remove_all(x.output.directory);
  EXPECT_EQ(find().resume_from->version, 3u);
}

TEST_F(run_start_of, a_job_that_does_not_fit_its_data_is_refused_before_anything_is_replaced) {
  x.model.loss = loss_kind::squared;
  x.model.kind = model_kind::linear_regression;
  try {
    find();
    FAIL();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_job);
  }
}

} // namespace
} // namespace troupe::run_start_test
