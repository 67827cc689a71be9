// What depends on a terminal, on a pseudo terminal: when progress is live and in colour.

#include "troupe/app/terminal/progress.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
