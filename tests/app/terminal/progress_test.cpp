#include "app/terminal/progress.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe::progress_test {
namespace {

training_progress halfway() {
  training_progress x;
  x.epoch = 3;
  x.epochs = 20;
  x.step = 60;
  x.steps_in_epoch = 120;
  x.seconds_of_epoch = 0.072;
  x.train_loss = 0.231;
  x.train_accuracy = 0.93;
  return x;
}

training_progress finished() {
  auto x = halfway();
  x.step = 120;
  x.seconds_of_epoch = 0.144;
  history_row row;
  row.train_loss = 0.231;
  row.train_accuracy = 0.93;
  row.test_loss = 0.25;
  row.test_accuracy = 0.92;
  x.finished_epoch = row;
  return x;
}

constexpr progress_style plain{};
constexpr progress_style live{true, false};

TEST(progress, finished_epoch_shows_every_figure) {
  EXPECT_EQ(progress_line(finished(), 10, plain),
            "Epoch 3/20  120/120 [====================] 1.2 ms/step  loss 0.2310  accuracy 0.9300"
            "  test_loss 0.2500  test_accuracy 0.9200");
}

TEST(progress, validation_figures_come_before_those_of_the_test_rows) {
  auto x = finished();
  x.finished_epoch->validation_loss = 0.5;
  x.finished_epoch->validation_accuracy = 0.875;
  EXPECT_NE(progress_line(x, 0, plain)
              .find("  accuracy 0.9300  val_loss 0.5000  val_accuracy 0.8750  test_loss 0.2500"),
            std::string::npos);
  x.finished_epoch->validation_accuracy = std::nullopt;
  x.finished_epoch->validation_r2 = -0.25;
  EXPECT_NE(progress_line(x, 0, plain).find("  val_loss 0.5000  val_r2 -0.2500  test_loss"),
            std::string::npos);
}

TEST(progress, running_epoch_has_a_tip_and_figures_so_far) {
  EXPECT_EQ(progress_line(halfway(), 200, live),
            "Epoch 3/20   60/120 [=========>..........] 1.2 ms/step  loss 0.2310  accuracy 0.9300");
}

TEST(progress, first_line_of_an_epoch_has_no_pace) {
  auto x = halfway();
  x.step = 0;
  x.train_accuracy = std::nullopt;
  EXPECT_EQ(progress_line(x, 200, live), "Epoch 3/20    0/120 [....................]  loss 0.2310");
}

TEST(progress, regression_shows_r2) {
  auto x = finished();
  x.finished_epoch->train_accuracy = std::nullopt;
  x.finished_epoch->test_accuracy = std::nullopt;
  x.finished_epoch->test_r2 = -0.5;
  EXPECT_EQ(progress_line(x, 0, plain), "Epoch 3/20  120/120 [====================] 1.2 ms/step"
                                        "  loss 0.2310  test_loss 0.2500  test_r2 -0.5000");
}

TEST(progress, line_fits_a_narrow_terminal_what_says_least_goes_first) {
  // The full line has 84 columns.
  EXPECT_EQ(progress_line(halfway(), 85, live).size(), 84u);
  EXPECT_EQ(progress_line(halfway(), 84, live),
            "Epoch 3/20   60/120 [========>..........] 1.2 ms/step  loss 0.2310  accuracy 0.9300");
  EXPECT_EQ(progress_line(halfway(), 70, live),
            "Epoch 3/20   60/120 1.2 ms/step  loss 0.2310  accuracy 0.9300");
  EXPECT_EQ(progress_line(halfway(), 50, live),
            "Epoch 3/20   60/120  loss 0.2310  accuracy 0.9300");
  EXPECT_EQ(progress_line(halfway(), 41, live), "Epoch 3/20  loss 0.2310  acc 0.9300");
  EXPECT_EQ(progress_line(halfway(), 30, live), "Epoch 3/20  loss 0.2310");
  EXPECT_EQ(progress_line(halfway(), 20, live), "Epoch 3/20");
  EXPECT_EQ(progress_line(halfway(), 5, live), "Epoc");
  EXPECT_EQ(progress_line(halfway(), 0, live), "");
}

// The figures people train for are the last to go.
TEST(progress, eighty_columns_show_the_test_figures) {
  EXPECT_EQ(progress_line(finished(), 80, live),
            "Epoch 3/20  120/120  loss 0.2310  acc 0.9300  test_loss 0.2500  test_acc 0.9200");
  auto x = finished();
  x.finished_epoch->validation_loss = 0.5;
  x.finished_epoch->validation_accuracy = 0.875;
  EXPECT_EQ(progress_line(x, 80, live),
            "Epoch 3/20  val_loss 0.5000  val_acc 0.8750  test_loss 0.2500  test_acc 0.9200");
  EXPECT_EQ(progress_line(x, 40, live), "Epoch 3/20  test_acc 0.9200");
}

TEST(progress, time_left_is_told_when_there_is_something_to_go_by) {
  auto x = halfway(); // of 2,400 steps
  x.version = 600;
  const auto said = [&](double seconds) {
    x.seconds = seconds;
    const auto line = progress_line(x, 200, live);
    const auto end = line.find(" left  loss");
    const auto begin = line.find("step  ");
    return end == line.npos ? "" : line.substr(begin + 6, end - begin - 6);
  };
  EXPECT_EQ(said(1.9), "");
  EXPECT_EQ(said(2), "6 s");
  EXPECT_EQ(said(21), "1:03");
  EXPECT_EQ(said(2000), "1:40:00");
  x.version = 2400;
  EXPECT_EQ(said(2000), "");
  x.version = 0;
  EXPECT_EQ(said(2000), "");
}

TEST(progress, colour_takes_no_columns) {
  auto x = halfway();
  EXPECT_EQ(progress_line(x, 85, {true, true}),
            "Epoch 3/20   60/120 [\033[32m=========>\033[0m..........] 1.2 ms/step  loss 0.2310"
            "  accuracy 0.9300");
}

TEST(progress, pace_has_a_fitting_unit) {
  auto x = halfway();
  x.seconds_of_epoch = 0.0006;
  EXPECT_NE(progress_line(x, 0, plain).find("] 10 us/step  "), std::string::npos);
  x.seconds_of_epoch = 75;
  EXPECT_NE(progress_line(x, 0, plain).find("] 1.25 s/step  "), std::string::npos);
}

TEST(progress, unusual_figures_stay_readable) {
  auto x = halfway();
  x.train_accuracy = std::nullopt;
  const auto loss_of = [&](double loss) {
    x.train_loss = loss;
    const auto line = progress_line(x, 0, plain);
    return line.substr(line.find("loss ") + 5);
  };
  EXPECT_EQ(loss_of(0), "0.0000");
  EXPECT_EQ(loss_of(0.001), "0.0010");
  EXPECT_EQ(loss_of(0.0001234), "1.234e-04");
  EXPECT_EQ(loss_of(1234567), "1.235e+06");
  EXPECT_EQ(loss_of(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(progress, more_steps_than_announced_do_not_overflow_the_bar) {
  auto x = halfway();
  x.step = 130;
  EXPECT_NE(progress_line(x, 0, plain).find("130/120 [====================]"), std::string::npos);
  x.steps_in_epoch = 0;
  EXPECT_NE(progress_line(x, 0, plain).find("130/0 [====================]"), std::string::npos);
}

using clock_type = std::chrono::steady_clock;
using std::chrono::milliseconds;

training_progress finished_epoch(size_t epoch) {
  auto x = finished();
  x.epoch = epoch;
  return x;
}

// What a display writes to a file, each message as many milliseconds after the first.
std::string written(progress_style style,
                    const std::vector<std::pair<training_progress, int>>& messages) {
  temporary_folder folder;
  std::FILE* file = std::fopen(folder.path("out").c_str(), "w");
  setenv("COLUMNS", "50", 1);
  {
    progress_display display{file, style};
    for (const auto& [message, at_ms] : messages)
      display.show(message, clock_type::time_point{} + milliseconds{1000 + at_ms});
  }
  unsetenv("COLUMNS");
  std::fclose(file);
  return folder.read("out");
}

std::string drawn(const training_progress& x) {
  return "\r" + progress_line(x, 50, live) + "\033[K";
}

TEST(progress, files_get_one_line_an_epoch) {
  EXPECT_EQ(written(plain, {{halfway(), 0}, {finished(), 100}, {halfway(), 1000}}),
            progress_line(finished(), 0, plain) + "\n");
}

TEST(progress, terminals_are_redrawn_in_place_and_left_on_a_new_line) {
  EXPECT_EQ(written(live, {{halfway(), 0}, {finished(), 1000}, {halfway(), 2000}}),
            drawn(halfway()) + drawn(finished()) + "\n" + drawn(halfway()) + "\n");
}

// A thousand epochs in a tenth of a second are not a thousand lines.
TEST(progress, epochs_that_fly_by_are_few_lines_and_the_last) {
  std::vector<std::pair<training_progress, int>> messages;
  for (int i = 0; i < 1000; ++i)
    messages.emplace_back(finished_epoch(static_cast<size_t>(i) + 1), i);
  std::string expected;
  for (const size_t epoch : {1, 251, 501, 751, 1000})
    expected += progress_line(finished_epoch(epoch), 0, plain) + "\n";
  EXPECT_EQ(written(plain, messages), expected);
  const auto shown = written(live, messages);
  EXPECT_EQ(std::ranges::count(shown, '\n'), 5);
  EXPECT_EQ(std::ranges::count(shown, '\r'), 1000 / 50 + 1);
  EXPECT_TRUE(shown.ends_with(drawn(finished_epoch(1000)) + "\n"));
}

TEST(progress, a_message_between_lines_loses_none) {
  temporary_folder folder;
  std::FILE* file = std::fopen(folder.path("out").c_str(), "w");
  {
    progress_display display{file, plain};
    const clock_type::time_point now{};
    display.show(finished_epoch(1), now);
    display.show(finished_epoch(2), now);
    display.end_line();
    std::fputs("news\n", file);
  }
  std::fclose(file);
  EXPECT_EQ(folder.read("out"), progress_line(finished_epoch(1), 0, plain) + "\n" +
                                  progress_line(finished_epoch(2), 0, plain) + "\nnews\n");
}

TEST(progress, a_file_is_neither_live_nor_coloured) {
  temporary_folder folder;
  std::FILE* file = std::fopen(folder.path("out").c_str(), "w");
  EXPECT_FALSE(style_for(file).live);
  EXPECT_FALSE(style_for(file).colour);
  std::fclose(file);
}

} // namespace
} // namespace troupe::progress_test

// What depends on a terminal, on a pseudo terminal: when progress is live and in colour.

namespace troupe::terminal_test {
namespace {

class terminal : public testing::Test {
protected:
  void SetUp() override {
    main_ = posix_openpt(O_RDWR | O_NOCTTY);
    if (main_ < 0)
      GTEST_SKIP() << "no pseudo terminals here: /dev/pts is not mounted";
    ASSERT_EQ(grantpt(main_), 0);
    ASSERT_EQ(unlockpt(main_), 0);
    file = std::fopen(ptsname(main_), "w");
    ASSERT_TRUE(file);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
  }
  void TearDown() override {
    if (file)
      std::fclose(file);
    close(main_);
    unsetenv("NO_COLOR");
  }

  std::FILE* file = nullptr;

private:
  int main_ = -1;
};

TEST_F(terminal, capable_terminal_is_live_and_coloured) {
  EXPECT_TRUE(style_for(file).live);
  EXPECT_TRUE(style_for(file).colour);
}

TEST_F(terminal, no_color_keeps_it_live_without_colour) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(style_for(file).live);
  EXPECT_FALSE(style_for(file).colour);
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(style_for(file).colour) << "an empty NO_COLOR does not count";
}

TEST_F(terminal, dumb_or_unknown_terminal_is_not_live) {
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(style_for(file).live);
  unsetenv("TERM");
  EXPECT_FALSE(style_for(file).live);
}

TEST_F(terminal, width_is_the_terminals_own_then_columns_then_80) {
  const winsize size{24, 123, 0, 0};
  ASSERT_EQ(ioctl(fileno(file), TIOCSWINSZ, &size), 0);
  setenv("COLUMNS", "77", 1);
  EXPECT_EQ(columns_of(file), 123u);
  const winsize unknown{0, 0, 0, 0};
  ASSERT_EQ(ioctl(fileno(file), TIOCSWINSZ, &unknown), 0);
  EXPECT_EQ(columns_of(file), 77u);
  unsetenv("COLUMNS");
  EXPECT_EQ(columns_of(file), 80u);
}

} // namespace
} // namespace troupe::terminal_test
