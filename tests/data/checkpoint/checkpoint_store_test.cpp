// The folder of checkpoints: what a write does in which order, what a failure leaves, which one is
// found, what is said of the others.

#include "data/checkpoint/checkpoint_store.hpp"

#include "data/checkpoint/checkpoint.hpp"
#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/checkpoint/checkpoint_output.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe::checkpoint_store_test {
namespace {

const std::string folder = "run";

class checkpoint_stores : public testing::Test {
protected:
  checkpoint_store make(size_t keep = 2) { return {where, folder, keep}; }

  void put(const std::string& name, const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    where->files[folder + "/" + name].assign(bytes.begin(), bytes.end());
  }

  void damage(uint64_t version) {
    auto& bytes = where->files.at(make().path_of(version));
    bytes[checkpoint_format::start_bytes] ^= std::byte{1}; // of the parameters
  }

  std::shared_ptr<plain_disk> where = std::make_shared<plain_disk>();
};

TEST_F(checkpoint_stores, names_hold_the_version_in_twelve_digits) {
  const auto store = make();
  EXPECT_EQ(store.path_of(120), "run/checkpoint-000000000120.troupe");
  EXPECT_EQ(store.path_of(1234567890123), "run/checkpoint-1234567890123.troupe");
}

TEST_F(checkpoint_stores, newest_one_is_found_and_whole) {
  auto store = make();
  for (const uint64_t version : {2, 4, 10})
    store.write(some_checkpoint(version));
  const auto found = store.latest("a1");
  ASSERT_TRUE(found.newest);
  EXPECT_TRUE(same(*found.newest, some_checkpoint(10)));
  EXPECT_EQ(found.path, store.path_of(10));
  EXPECT_TRUE(found.skipped.empty());
}

TEST_F(checkpoint_stores, nothing_there_is_nothing_found) {
  const auto found = make().latest("a1");
  EXPECT_FALSE(found.newest);
  EXPECT_TRUE(found.skipped.empty());
}

TEST_F(checkpoint_stores, last_ones_are_kept_and_the_order_is_by_number) {
  auto store = make(2);
  for (const uint64_t version : {9L, 10L, 999'999'999'999L, 1'000'000'000'000L})
    store.write(some_checkpoint(version));
  EXPECT_EQ(store.versions(), (std::vector<uint64_t>{999'999'999'999, 1'000'000'000'000}));
  auto one = make(1);
  one.write(some_checkpoint(1'000'000'000'001));
  EXPECT_EQ(one.versions(), (std::vector<uint64_t>{1'000'000'000'001}));
  EXPECT_THROW(make(0), std::invalid_argument);
}

TEST_F(checkpoint_stores, a_file_gets_its_name_only_after_it_reached_the_disk) {
  auto store = make(1);
  store.write(some_checkpoint(1));
  where->log.clear();
  store.write(some_checkpoint(2));
  EXPECT_EQ(where->log, (std::vector<std::string>{"create", "write", "sync", "rename",
                                                  "sync_folder", "remove", "sync_folder"}));
}

TEST_F(checkpoint_stores, a_failing_disk_costs_no_older_checkpoint_and_leaves_nothing) {
  for (const std::string operation : {"create", "write", "sync", "rename"})
    for (size_t passes = 0; passes < 3; ++passes) {
      where = std::make_shared<plain_disk>();
      auto store = make(1);
      store.write(some_checkpoint(1));
      const auto before = where->files;
      where->failing = operation;
      where->passes = operation == "write" ? passes : 0;
      const auto error = test::failure_of([&] { store.write(some_checkpoint(2)); });
      EXPECT_EQ(error.code(), failure_code::io_error) << operation;
      EXPECT_EQ(error.where(), store.path_of(2));
      EXPECT_EQ(where->files, before) << operation;
      where->failing.clear();
      store.write(some_checkpoint(2));
      EXPECT_TRUE(same(*store.latest("a1").newest, some_checkpoint(2)));
    }
}

TEST_F(checkpoint_stores, several_grow_at_a_time_and_a_later_one_ends_those_before_it) {
  auto store = make();
  const auto give = [&](uint64_t version, uint64_t part) {
    const auto x = some_checkpoint(version, {5, 1, false, "a1"});
    store.write_range({version, 5, 1, part, 0}, (part == 0 ? x.parameters : x.slots[0]).values());
  };
  const auto finish = [&](uint64_t version) {
    return store.finish(some_checkpoint(version, {5, 1, false, "a1"})).read();
  };
  for (const uint64_t version : {4, 8, 12, 16})
    give(version, 1);
  EXPECT_TRUE(store.versions().empty());
  EXPECT_THROW(finish(8), std::logic_error) << "not whole, and gone";
  EXPECT_EQ(where->files.size(), 2u) << "and 4 with it";
  give(12, 0);
  EXPECT_TRUE(same(finish(12), some_checkpoint(12, {5, 1, false, "a1"})));
  EXPECT_EQ(store.versions(), std::vector<uint64_t>{12});
  store.drop_drafts_from(13);
  EXPECT_EQ(where->files.size(), 1u);
  give(16, 1); // in another term
  give(16, 0);
  EXPECT_TRUE(same(finish(16), some_checkpoint(16, {5, 1, false, "a1"})));
  give(20, 0);
  EXPECT_EQ(where->files.size(), 3u);
}

TEST_F(checkpoint_stores, what_is_not_finished_is_gone_with_the_store) {
  {
    auto store = make();
    const auto parameters = some_checkpoint(4).parameters;
    store.write_range({4, 5, 0, 0, 0}, parameters.values());
    EXPECT_EQ(where->files.size(), 1u);
  }
  EXPECT_TRUE(where->files.empty());
}

TEST_F(checkpoint_stores, a_failed_range_fails_all_that_follow_until_it_is_dropped) {
  auto store = make();
  const auto kept = some_checkpoint(4);
  const auto give = [&] { store.write_range({4, 5, 0, 0, 0}, kept.parameters.values()); };
  where->failing = "write";
  where->error_number = ENOSPC;
  const auto error = test::failure_of(give);
  EXPECT_EQ(error.where(), store.path_of(4));
  EXPECT_TRUE(test::contains(error.reason(), " bytes needed, 1000 available"));
  where->failing.clear();
  EXPECT_EQ(test::failure_of(give).reason(), error.reason());
  EXPECT_EQ(test::failure_of([&] { store.finish(some_checkpoint(4)); }).reason(), error.reason());
  EXPECT_TRUE(where->files.empty());
  give();
  EXPECT_EQ(where->files.size(), 1u);
}

TEST_F(checkpoint_stores, a_draft_that_could_not_be_removed_is_in_nobodys_way) {
  auto store = make();
  const auto x = some_checkpoint(4);
  store.write_range({4, 5, 0, 0, 0}, x.parameters.values());
  where->failing = "remove";
  store.drop_drafts_from(0);
  where->failing.clear();
  EXPECT_EQ(where->files.size(), 1u);
  store.write(x);
  EXPECT_EQ(where->files.size(), 1u);
  EXPECT_EQ(store.versions(), std::vector<uint64_t>{4});
}

TEST_F(checkpoint_stores, an_unsynced_folder_costs_no_older_checkpoint) {
  auto store = make(1);
  store.write(some_checkpoint(1));
  where->failing = "sync_folder";
  EXPECT_EQ(test::failure_of([&] { store.write(some_checkpoint(2)); }).code(),
            failure_code::io_error);
  EXPECT_EQ(store.versions(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(checkpoint_stores, a_full_disk_is_told_with_need_and_room) {
  auto store = make();
  where->failing = "write";
  where->error_number = ENOSPC;
  const auto error = test::failure_of([&] { store.write(some_checkpoint(2)); });
  EXPECT_EQ(error.code(), failure_code::io_error);
  const auto x = some_checkpoint(2);
  const auto need = std::to_string(checkpoint_file_bytes(x, 5, texts_of(x)));
  EXPECT_TRUE(error.reason().ends_with(": " + need + " bytes needed, 1000 available"))
    << error.reason();
  EXPECT_EQ(error.hint(), "free some space or write elsewhere");
}

TEST_F(checkpoint_stores, damaged_ones_are_skipped_and_named) {
  auto store = make();
  store.write(some_checkpoint(1));
  store.write(some_checkpoint(2));
  damage(2);
  const auto found = store.latest("a1");
  EXPECT_TRUE(same(*found.newest, some_checkpoint(1)));
  ASSERT_EQ(found.skipped.size(), 1u);
  EXPECT_EQ(found.skipped[0].path, store.path_of(2));
  EXPECT_TRUE(test::contains(found.skipped[0].reason, "checksum"));
}

TEST_F(checkpoint_stores, other_jobs_are_skipped_and_named) {
  auto store = make();
  store.write(some_checkpoint(1));
  auto other = some_checkpoint(2, {5, 0, false, "b2"});
  store.write(other);
  const auto found = store.latest("a1");
  EXPECT_TRUE(same(*found.newest, some_checkpoint(1)));
  EXPECT_EQ(found.skipped,
            (std::vector<skipped_checkpoint>{{store.path_of(2), "it belongs to another job"}}));
}

TEST_F(checkpoint_stores, a_file_with_the_name_of_another_version_is_not_taken_for_it) {
  auto store = make();
  store.write(some_checkpoint(1));
  where->files[store.path_of(5)] = where->files[store.path_of(1)];
  const auto found = store.latest("a1");
  EXPECT_EQ(found.newest->version, 1u);
  EXPECT_EQ(found.skipped.at(0).reason, "it holds version 1");
}

TEST_F(checkpoint_stores, nothing_usable_is_a_failure_and_never_a_new_beginning) {
  auto store = make();
  store.write(some_checkpoint(1));
  const auto foreign = test::failure_of([&] { store.latest("b2"); });
  EXPECT_EQ(foreign.code(), failure_code::mismatch);
  EXPECT_TRUE(test::contains(foreign.reason(), store.path_of(1) + ": it belongs to another job"));
  damage(1);
  const auto damaged = test::failure_of([&] { store.latest("a1"); });
  EXPECT_EQ(damaged.code(), failure_code::bad_data);
  EXPECT_EQ(damaged.where(), folder);
  EXPECT_TRUE(test::contains(damaged.reason(), store.path_of(1)));
  EXPECT_FALSE(damaged.hint().empty());
}

TEST_F(checkpoint_stores, a_file_without_its_record_does_not_count_as_kept) {
  auto store = make(2);
  for (const uint64_t version : {1, 2, 3})
    store.write(some_checkpoint(version));
  where->files[store.path_of(3)].resize(100);
  store.write(some_checkpoint(4));
  EXPECT_EQ(store.versions(), (std::vector<uint64_t>{2, 3, 4}));
  store.write(some_checkpoint(5));
  EXPECT_EQ(store.versions(), (std::vector<uint64_t>{4, 5}));
}

TEST_F(checkpoint_stores, later_ones_that_could_not_be_used_make_room) {
  auto store = make(2);
  for (const uint64_t version : {10, 20, 30})
    store.write(some_checkpoint(version));
  damage(30);
  store.write(some_checkpoint(25));
  EXPECT_EQ(store.versions(), (std::vector<uint64_t>{20, 25}));
}

TEST_F(checkpoint_stores, other_jobs_files_are_neither_removed_nor_replaced) {
  auto store = make(1);
  store.write(some_checkpoint(1, {5, 0, false, "b2"}));
  store.write(some_checkpoint(2));
  store.write(some_checkpoint(3));
  EXPECT_EQ(store.versions(), (std::vector<uint64_t>{1, 3}));
  const auto error = test::failure_of([&] { store.write(some_checkpoint(1)); });
  EXPECT_EQ(error.code(), failure_code::cannot_create);
  EXPECT_EQ(error.where(), store.path_of(1));
}

TEST_F(checkpoint_stores, only_what_a_dead_process_left_is_removed_at_the_start) {
  put("checkpoint-000000000007.troupe.tmp", "half");
  put("term.tmp", "t");
  const std::vector<std::string> others{"notes.tmp",
                                        "checkpoint-7.troupe",
                                        "checkpoint-7.troupe.tmp",
                                        "checkpoint-00000000000x.troupe",
                                        "checkpoint-0000000000007.troupe",
                                        "checkpoint-000000000007.troupe.old",
                                        "term",
                                        "x.troupe"};
  for (const auto& name : others)
    put(name, "mine");
  auto store = make();
  EXPECT_EQ(where->files.size(), others.size());
  EXPECT_TRUE(store.versions().empty());
  store.write(some_checkpoint(1));
  store.clear();
  EXPECT_EQ(where->files.size(), others.size()) << "clear removes checkpoints alone";
}

TEST_F(checkpoint_stores, a_missing_folder_is_told_as_one) {
  const auto error = test::failure_of([] { checkpoint_store(posix_disk(), "/no/such/folder"); });
  EXPECT_EQ(error.code(), failure_code::cannot_create);
  EXPECT_EQ(error.where(), "/no/such/folder");
}

TEST_F(checkpoint_stores, a_term_is_remembered) {
  auto store = make();
  EXPECT_EQ(store.read_term(), 0u);
  for (const uint64_t term : {uint64_t{1}, uint64_t{42}, ~uint64_t{0}}) {
    where->log.clear();
    store.write_term(term);
    EXPECT_EQ(where->log,
              (std::vector<std::string>{"create", "write", "sync", "rename", "sync_folder"}));
    EXPECT_EQ(make().read_term(), term);
  }
}

TEST_F(checkpoint_stores, a_damaged_term_is_not_guessed) {
  auto store = make();
  store.write_term(12);
  auto& bytes = where->files.at(folder + "/term");
  const auto whole = bytes;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    bytes = whole;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_EQ(test::failure_of([&] { store.read_term(); }).code(), failure_code::bad_data) << bit;
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    bytes.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(test::failure_of([&] { store.read_term(); }).code(), failure_code::bad_data) << size;
  }
  bytes = whole;
  bytes.resize(100'000);
  EXPECT_EQ(test::failure_of([&] { store.read_term(); }).where(), folder + "/term");
}

TEST_F(checkpoint_stores, a_term_that_cannot_be_written_leaves_the_old_one) {
  auto store = make();
  store.write_term(3);
  where->failing = "sync";
  EXPECT_EQ(test::failure_of([&] { store.write_term(4); }).code(), failure_code::io_error);
  EXPECT_EQ(store.read_term(), 3u);
  EXPECT_EQ(where->files.size(), 1u);
}

// Checkpoints with right checksums and another shape: each field is held against the job.

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A job of 4 steps an epoch, of 10 rows each, and a checkpoint of it.
const checkpoint_expectation expected{5, 2, 3, 4, 10};

checkpoint fitting() {
  auto x = some_checkpoint(9);
  x.optimizer_numbers = {0.1, -0.0, infinity};
  return x;
}

TEST(checkpoint_fit, a_checkpoint_of_the_job_fits) {
  EXPECT_EQ(misfit(fitting(), expected), std::nullopt);
  auto plain = fitting();
  plain.best_parameters = {};
  plain.best_version = 77; // means nothing without parameters
  plain.history.clear();
  plain.stop = {};
  EXPECT_EQ(misfit(plain, expected), std::nullopt);
}

const_buffer with_nan(size_t size) {
  const buffer result{size};
  std::ranges::fill(result.values(), 1.0f);
  result.values()[2] = std::numeric_limits<float>::quiet_NaN();
  return result;
}

TEST(checkpoint_fit, an_odd_checkpoint_is_refused_by_what_differs) {
  const std::pair<void (*)(checkpoint&), const char*> changes[] = {
    {[](checkpoint& x) { x.parameters = some_tensor(6, 1); }, "it has 6 parameters, the job has 5"},
    {[](checkpoint& x) { x.parameters = {}; }, "it has 0 parameters, the job has 5"},
    {[](checkpoint& x) { x.slots.clear(); }, "it has 0 optimizer slots, the job has 2"},
    {[](checkpoint& x) { x.slots.push_back(x.slots[0]); },
     "it has 3 optimizer slots, the job has 2"},
    {[](checkpoint& x) { x.slots[1] = some_tensor(4, 1); },
     "it has 4 values in an optimizer slot, the job has 5"},
    {[](checkpoint& x) { x.optimizer_numbers.resize(200'000); },
     "it has 200000 optimizer numbers, the job has 3"},
    {[](checkpoint& x) { x.best_parameters = some_tensor(1, 1); },
     "it has 1 best parameters, the job has 5"},
    {[](checkpoint& x) { x.parameters = with_nan(5); }, "value 2 of the parameters is not finite"},
    {[](checkpoint& x) { x.best_parameters = with_nan(5); },
     "value 2 of the best parameters is not finite"},
    {[](checkpoint& x) { x.plateau.best_version = 10; },
     "the plateau rule's best version is 10, at most 9 is possible"},
    {[](checkpoint& x) { x.plateau.best_loss = not_a_number; },
     "the plateau rule's best loss is no number"},
    {[](checkpoint& x) { x.reductions[0] = 3; },
     "the steps from which its rate is lower do not rise"},
    {[](checkpoint& x) { x.reductions[1] = 10; },
     "the last reduction of its rate is 10, at most 9 is possible"},
    {[](checkpoint& x) { x.history[1].steps = 60; },
     "the history's row of step 60 is beyond its version, 9"},
    {[](checkpoint& x) { x.history[1] = x.history[0]; },
     "the history's row of step 4 stands behind that of step 4"},
    {[](checkpoint& x) { x.history[0].steps = 0; },
     "the history's row of step 0 stands behind that of step 0"},
    {[](checkpoint& x) { x.history[1].epoch = 3; },
     "the history's row of step 8 says epoch 3, it was epoch 2"},
    {[](checkpoint& x) { x.history[0].seconds = infinity; },
     "the history's row of step 4: its time is not finite"},
    {[](checkpoint& x) { x.seconds = not_a_number; }, "its time is not finite"},
    {[](checkpoint& x) { x.metrics.sample_count = 91; },
     "the number of samples in its metrics is 91, at most 90 is possible"},
    {[](checkpoint& x) { x.metrics.correct_count = 18; },
     "the number of right answers in its metrics is 18, at most 17 is possible"},
    {[](checkpoint& x) { x.metrics.loss_sum = not_a_number; },
     "the loss in its metrics is not finite"},
    {[](checkpoint& x) { x.metrics.squared_error_sum = infinity; },
     "the squared error in its metrics is not finite"},
    {[](checkpoint& x) { x.stop.best_version = 10; },
     "the stop rule's best version is 10, at most 9 is possible"},
    {[](checkpoint& x) { x.stop.waited = 10; },
     "the stop rule's wait is 10, at most 9 is possible"},
    {[](checkpoint& x) { x.stop.best_loss = not_a_number; },
     "the stop rule's best loss is no number"},
    {[](checkpoint& x) { x.best_version = 10; }, "the best version is 10, at most 9 is possible"},
    {[](checkpoint& x) { x.best_loss = not_a_number; }, "the best version's loss is no number"},
    {[](checkpoint& x) { x.replicas.resize(100'001); },
     "the number of its replicas is 100001, at most 100000 is possible"}};
  for (const auto& [change, reason] : changes) {
    auto x = fitting();
    change(x);
    EXPECT_EQ(misfit(x, expected).value_or("it fits"), reason);
  }
}

} // namespace
} // namespace troupe::checkpoint_store_test
