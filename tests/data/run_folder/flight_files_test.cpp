#include "data/run_folder/flight_files.hpp"

#include "data/records/run_recorder.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <thread>

namespace troupe::flight_files_test {
namespace {

class flight_files : public ::testing::Test {
protected:
  std::unique_ptr<run_recorder> recorder(const std::string& process,
                                         const std::string& run_directory) const {
    // Their order is that of milliseconds.
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    return std::make_unique<run_recorder>(
      flight_place{memory_.path(), process, "digits", run_directory}, false);
  }
  /// Of a process that is gone; its only record says `step`.
  std::string left(const std::string& process, const std::string& run_directory,
                   uint64_t step = 0) const {
    const auto one = recorder(process, run_directory);
    one->new_ring({})->begin(trace_kind::slice, step, 0);
    return one->path();
  }
  flight_log read(const std::string& name) const {
    const auto bytes = run_.read(name);
    return read_flight(std::as_bytes(std::span{bytes}), name);
  }

  temporary_folder memory_;
  temporary_folder run_;
};

TEST_F(flight_files, those_of_dead_processes_are_found_in_order_of_their_begin) {
  const auto alive = recorder("main", run_.path());
  const auto first = left("z", run_.path()), second = left("a", "/other");
  memory_.write("troupe-odd-1.flight", "no recorder's file");
  memory_.write("else.flight", "");
  const auto found = left_flights(memory_.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, first);
  EXPECT_EQ(found[0].process, "z");
  EXPECT_EQ(found[1].path, second);
  EXPECT_EQ(found[1].run_directory, "/other");
  EXPECT_TRUE(left_flights("/nowhere").empty());
}

TEST_F(flight_files, a_run_takes_in_its_own_and_the_newest_of_each_process) {
  left("left", run_.path(), 1);
  left("left", run_.path(), 2);
  left("right/1", run_.path(), 3);
  const auto others = left("left", "/other", 4);
  const auto alive = recorder("main", run_.path());
  const auto found = take_in_flights(memory_.path(), run_.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], run_.path("flight-left.bin"));
  EXPECT_EQ(found[1], run_.path("flight-right_1.bin"));
  EXPECT_EQ(read("flight-left.bin").tracks.at(0).records.at(0).step, 2u);
  EXPECT_LT(run_.read("flight-left.bin").size(), 100'000u) << "without the room of others";
  ASSERT_EQ(left_flights(memory_.path()).size(), 1u);
  EXPECT_EQ(left_flights(memory_.path())[0].path, others);
  EXPECT_TRUE(std::filesystem::exists(alive->path()));
}

TEST_F(flight_files, a_process_that_ends_badly_takes_in_its_own_while_actors_still_hold_it) {
  const auto own = recorder("main", run_.path());
  const auto ring = own->new_ring({});
  ring->begin(trace_kind::slice, 5, 0);
  EXPECT_TRUE(take_in_flights(memory_.path(), run_.path()).empty());
  own->let_go();
  EXPECT_EQ(take_in_flights(memory_.path(), run_.path()),
            std::vector{run_.path("flight-main.bin")});
  ring->begin(trace_kind::slice, 6, 0);
  EXPECT_EQ(read("flight-main.bin").tracks.at(0).records.size(), 1u);
}

TEST_F(flight_files, what_cannot_be_moved_stays) {
  const auto path = left("left", run_.path("none"));
  EXPECT_EQ(take_in_flights(memory_.path(), run_.path("none")), std::vector{path});
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(flight_files, an_empty_one_whose_process_was_killed_as_it_made_it_goes_after_a_minute) {
  for (const auto* name : {"troupe-old-1.flight", "troupe-new-2.flight", "else.flight"})
    memory_.write(name, "");
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::seconds{70};
  const std::filesystem::path folder = memory_.path();
  std::filesystem::last_write_time(folder / "troupe-old-1.flight", old);
  std::filesystem::last_write_time(folder / "else.flight", old);
  drop_old_flights(memory_.path());
  EXPECT_FALSE(std::filesystem::exists(folder / "troupe-old-1.flight"));
  EXPECT_TRUE(std::filesystem::exists(folder / "troupe-new-2.flight"));
  EXPECT_TRUE(std::filesystem::exists(folder / "else.flight"));
}

TEST_F(flight_files, what_nobody_takes_in_does_not_pile_up) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < flight_files_kept + 3; ++i)
    paths.push_back(left("node" + std::to_string(i), "/run"));
  const auto alive = recorder("main", "/run");
  drop_old_flights(memory_.path());
  for (size_t i = 0; i < paths.size(); ++i)
    EXPECT_EQ(std::filesystem::exists(paths[i]), i >= 3) << i;
  EXPECT_TRUE(std::filesystem::exists(alive->path()));
}

} // namespace
} // namespace troupe::flight_files_test
