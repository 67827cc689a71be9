#include "data/records/tensorboard_file.hpp"

#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace troupe::tensorboard_file_test {
namespace {

std::string hex(const std::vector<std::byte>& content) {
  std::string result;
  for (const auto byte : content)
    for (const int shift : {4, 0})
      result += "0123456789abcdef"[(static_cast<unsigned>(byte) >> shift) & 15];
  return result;
}

history_row row_at(uint64_t steps, double seconds) {
  history_row result;
  result.epoch = steps / 4;
  result.steps = steps;
  result.seconds = seconds;
  result.learning_rate = 0.125;
  result.train_loss = 0.5;
  return result;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator{folder})
    result.push_back(entry.path().filename().string());
  std::ranges::sort(result);
  return result;
}

// Byte by byte from the protocol buffers' encoding; the checksums by a reader of another make
// (tests/scripts/resume_test.py has one in Python).
TEST(tensorboard_file, a_scalar_is_these_bytes) {
  const std::vector<tensorboard_scalar> scalars{{"loss/train", 0.5}};
  const auto event = tensorboard_scalars(1.0, 469, scalars);
  EXPECT_EQ(hex(event), "09000000000000f03f"       // wall_time 1.0
                        "10d503"                   // step 469
                        "2a13"                     // summary, 19 bytes
                        "0a11"                     // value, 17 bytes
                        "0a0a6c6f73732f747261696e" // tag "loss/train"
                        "150000003f");             // simple_value 0.5
  const auto record = tensorboard_record(event);
  ASSERT_EQ(record.size(), 49u);
  EXPECT_EQ(hex(record).substr(0, 24), "2100000000000000017becf6");
  EXPECT_EQ(hex(record).substr(24, 66), hex(event));
  EXPECT_EQ(hex(record).substr(90), "91f900ce");
}

TEST(tensorboard_file, a_greeting_and_a_restart_are_these_bytes) {
  EXPECT_EQ(hex(tensorboard_greeting(1.0)), "09000000000000f03f"
                                            "1a0d"
                                            "627261696e2e4576656e743a32");
  EXPECT_EQ(hex(tensorboard_restart(1.0, 300)), "09000000000000f03f"
                                                "10ac02"
                                                "3a020801");
}

TEST(tensorboard_file, measured_figures_and_speed_are_shown) {
  auto row = row_at(40, 4);
  row.validation_r2 = -2.0;
  using scalars = std::vector<tensorboard_scalar>;
  EXPECT_EQ(tensorboard_scalars_of(row, {}), (scalars{{"learning_rate", 0.125},
                                                      {"loss/train", 0.5},
                                                      {"r2/validation", -2.0},
                                                      {"speed/steps_per_second", 10}}));
  EXPECT_EQ(tensorboard_scalars_of(row, row_at(30, 2)).back(),
            (tensorboard_scalar{"speed/steps_per_second", 5}));
  EXPECT_EQ(tensorboard_scalars_of(row, row_at(30, 4)).back().tag, "r2/validation")
    << "no time has passed";
}

TEST(tensorboard_writer, a_later_file_has_the_later_name) {
  temporary_folder folder;
  const auto where = folder.path("t");
  std::filesystem::create_directory(where);
  std::ofstream{where + "/events.out.tfevents.9999999998.host.1.0"}; // of a clock in the future
  tensorboard_writer out{where, std::nullopt};
  ASSERT_EQ(names_in(where).size(), 2u);
  EXPECT_EQ(where + '/' + names_in(where).back(), out.path());
}

// Sizes tell what is in the file: a greeting of 40 bytes, records of rows and of restarts.
TEST(tensorboard_writer, steps_that_are_done_again_void_what_was_told_of_them) {
  temporary_folder folder;
  const auto where = folder.path("t");
  constexpr size_t greeting = 24 + 16, restart = 15 + 16;
  {
    tensorboard_writer out{where, std::nullopt};
    EXPECT_EQ(std::filesystem::file_size(out.path()), greeting);
    out.add(row_at(4, 1));
    const auto one = std::filesystem::file_size(out.path()) - greeting;
    out.add(row_at(8, 2));
    EXPECT_EQ(std::filesystem::file_size(out.path()), greeting + 2 * one);
    out.add(row_at(4, 3));
    EXPECT_EQ(std::filesystem::file_size(out.path()), greeting + 3 * one + restart);
    out.add(row_at(8, 4));
    EXPECT_EQ(std::filesystem::file_size(out.path()), greeting + 4 * one + restart);
  }
  {
    // The rest of an epoch that the run before ended in.
    tensorboard_writer out{where, std::vector{row_at(4, 1)}};
    const auto before = std::filesystem::file_size(out.path());
    out.add(row_at(6, 2));
    const auto one = std::filesystem::file_size(out.path()) - before - restart;
    out.add(row_at(7, 3));
    EXPECT_EQ(std::filesystem::file_size(out.path()), before + 2 * (one + restart));
  }
  tensorboard_writer resumed{where, std::vector{row_at(4, 1)}};
  EXPECT_EQ(std::filesystem::file_size(resumed.path()), greeting + restart);
}

TEST(tensorboard_writer, what_cannot_be_written_is_a_failure) {
  temporary_folder folder;
  EXPECT_THROW((tensorboard_writer{folder.path("none/t"), std::nullopt}), failure);
  tensorboard_writer out{folder.path("t"), std::nullopt};
  std::filesystem::remove_all(folder.path("t"));
  EXPECT_THROW(out.add(row_at(4, 1)), failure);
}

} // namespace
} // namespace troupe::tensorboard_file_test
