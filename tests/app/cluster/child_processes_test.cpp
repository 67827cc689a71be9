#include "app/cluster/child_processes.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::child_processes_test {
namespace {

using lines = std::vector<std::string>;
using ends = std::vector<std::pair<size_t, process_end>>;
using std::chrono::seconds;

moment in(milliseconds time) {
  return moment::clock::now() + time;
}

// True once nobody has this process number, or only one that has ended and waits to be collected.
bool is_gone(pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos || text.substr(name_end, 3) == ") Z";
}

bool is_gone_soon(pid_t id) {
  for (int i = 0; i < 500 && !is_gone(id); ++i)
    std::this_thread::sleep_for(milliseconds{10});
  return is_gone(id);
}

class children : public testing::Test {
protected:
  static child_options shell(const std::string& name, const std::string& script) {
    return {name, {"/bin/sh", "-c", script}, {}};
  }

  // Starts a shell on `script` and gives how it ended.
  ends end_of(child_processes& x, const std::string& name, const std::string& script) {
    x.start(shell(name, script));
    return wait_for(x, 1);
  }

  // Until `count` have ended; at most ten seconds.
  ends wait_for(child_processes& x, size_t count) {
    ends result;
    const auto until = in(seconds{10});
    while (result.size() < count && moment::clock::now() < until)
      for (const auto& end : x.wait(until).ended)
        result.push_back(end);
    return result;
  }

  // Waits until somebody has printed `line`.
  bool has_printed(child_processes& x, const std::string& line) {
    for (int i = 0; i < 1000; ++i) {
      if (std::find(printed.begin(), printed.end(), line) != printed.end())
        return true;
      x.wait(in(milliseconds{10}));
    }
    return false;
  }

  lines printed;
  child_processes::line_sink print = [this](const std::string& line) { printed.push_back(line); };
  temporary_folder folder;
};

TEST_F(children, whole_lines_come_with_the_name_of_their_writer) {
  child_processes x{{6, false}, print};
  EXPECT_EQ(end_of(x, "a", "printf 'one\\ntw'; sleep 0.05; printf 'o\\n\\nthree' >&2"),
            (ends{{0, {0, 0}}}));
  EXPECT_EQ(printed,
            (lines{"a      | one\n", "a      | two\n", "a      | \n", "a      | three\n"}));
}

TEST_F(children, lines_of_several_are_never_mixed) {
  child_processes x{{1, false}, print};
  const std::string script = "for i in 1 2 3 4 5 6 7 8 9; do printf 'x'; printf 'y\\n'; done";
  x.start(shell("a", script));
  x.start(shell("b", script));
  EXPECT_EQ(wait_for(x, 2).size(), 2u);
  EXPECT_EQ(std::count(printed.begin(), printed.end(), "a | xy\n"), 9);
  EXPECT_EQ(std::count(printed.begin(), printed.end(), "b | xy\n"), 9);
  EXPECT_EQ(printed.size(), 18u);
}

TEST_F(children, colours_are_round_the_mark_and_differ) {
  child_processes x{{1, true}, print};
  end_of(x, "a", "echo 1");
  end_of(x, "b", "echo 2");
  EXPECT_EQ(printed, (lines{"\033[36ma | \033[0m1\n", "\033[33mb | \033[0m2\n"}));
}

TEST_F(children, ends_say_code_or_signal) {
  child_processes x{{}, print};
  EXPECT_EQ(end_of(x, "a", "exit 76"), (ends{{0, {76, 0}}}));
  EXPECT_EQ(end_of(x, "b", "kill -9 $$"), (ends{{1, {0, SIGKILL}}}));
}

TEST_F(children, program_that_is_not_there_ends_with_127_and_says_so) {
  child_processes x{{1, false}, print};
  x.start({"a", {"/nowhere/program"}, {}});
  EXPECT_EQ(wait_for(x, 1), (ends{{0, {127, 0}}}));
  EXPECT_EQ(printed, (lines{"a | cannot run /nowhere/program\n"}));
}

TEST_F(children, last_lines_are_kept_without_marks) {
  child_processes x{{1, false}, print};
  end_of(x, "a", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; done");
  EXPECT_EQ(x.last_lines(0),
            (std::deque<std::string>{"3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}));
}

TEST_F(children, endless_line_is_broken_not_kept) {
  child_processes x{{1, false}, print};
  end_of(x, "a", "head -c 100000 /dev/zero | tr '\\0' z");
  ASSERT_EQ(printed.size(), 2u);
  EXPECT_EQ(printed[0].size() + printed[1].size(), 100000 + 2 * 5u);
}

TEST_F(children, standard_output_goes_where_it_is_told) {
  const auto path = folder.path("out");
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  child_processes x{{1, false}, print};
  auto owner = shell("a", "echo result; echo news >&2");
  owner.standard_output = file;
  x.start(owner);
  wait_for(x, 1);
  end_of(x, "b", "echo other");
  close(file);
  EXPECT_EQ(folder.read("out"), "result\n");
  EXPECT_EQ(printed, (lines{"a | news\n", "b | other\n"}));
}

TEST_F(children, only_named_descriptors_are_inherited) {
  int kept[2];
  int other[2];
  ASSERT_EQ(pipe2(kept, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(other, O_CLOEXEC), 0);
  child_processes x{{1, false}, print};
  const auto has = [](int number) {
    return "[ -e /proc/self/fd/" + std::to_string(number) + " ] && echo yes || echo no; ";
  };
  auto options = shell("a", has(kept[0]) + has(other[0]));
  options.inherited = {kept[0]};
  x.start(options);
  wait_for(x, 1);
  EXPECT_EQ(printed, (lines{"a | yes\n", "a | no\n"}));
  EXPECT_NE(fcntl(kept[0], F_GETFD) & FD_CLOEXEC, 0) << "the parent's own is as it was";
  for (const int number : {kept[0], kept[1], other[0], other[1]})
    close(number);
}

TEST_F(children, nobody_reads_our_standard_input) {
  child_processes x{{1, false}, print};
  EXPECT_EQ(end_of(x, "a", "cat; echo done").size(), 1u);
  EXPECT_EQ(printed, (lines{"a | done\n"}));
}

TEST_F(children, signals_to_us_are_news_and_children_do_not_get_them) {
  child_processes x{{1, false}, print};
  x.start(shell("a", "trap 'echo got' INT; echo ready; sleep 0.2; sleep 0.2; echo end"));
  ASSERT_TRUE(has_printed(x, "a | ready\n"));
  for (const int number : {SIGINT, SIGTERM}) {
    raise(number);
    const auto news = x.wait(in(seconds{10}));
    EXPECT_EQ(news.stop_signals, std::vector<int>{number});
  }
  EXPECT_EQ(wait_for(x, 1), (ends{{0, {0, 0}}}));
  EXPECT_EQ(printed, (lines{"a | ready\n", "a | end\n"}));
}

TEST_F(children, sent_signals_reach_the_whole_group) {
  child_processes x{{1, false}, print};
  x.start(shell("a", "trap '' CHLD; sleep 100 & echo $!; echo ready; wait"));
  ASSERT_TRUE(has_printed(x, "a | ready\n"));
  const auto grandchild = static_cast<pid_t>(std::stoi(x.last_lines(0).front()));
  x.send({0, SIGTERM});
  EXPECT_EQ(wait_for(x, 1), (ends{{0, {0, SIGTERM}}}));
  EXPECT_TRUE(is_gone_soon(grandchild));
  x.send({0, SIGKILL}); // nobody has that number any more
}

TEST_F(children, what_a_child_leaves_behind_ends_with_it) {
  child_processes x{{1, false}, print};
  EXPECT_EQ(end_of(x, "a", "sleep 100 & echo $!"), (ends{{0, {0, 0}}}))
    << "its pipe is still held open";
  EXPECT_TRUE(is_gone_soon(static_cast<pid_t>(std::stoi(x.last_lines(0).front()))));
}

TEST_F(children, time_passes_without_news) {
  child_processes x{{1, false}, print};
  x.start(shell("a", "sleep 100"));
  const auto until = in(milliseconds{30});
  const auto news = x.wait(until);
  EXPECT_TRUE(news.ended.empty() && news.stop_signals.empty());
  EXPECT_GE(moment::clock::now(), until);
}

TEST_F(children, destruction_leaves_nobody) {
  pid_t stubborn = 0;
  {
    child_processes x{{1, false}, print};
    x.start(shell("a", "trap '' INT TERM; echo ready; while true; do sleep 1; done"));
    stubborn = x.process_id(0);
    ASSERT_TRUE(has_printed(x, "a | ready\n"));
  }
  EXPECT_TRUE(is_gone(stubborn));
}

TEST_F(children, none_outlives_a_killed_parent) {
  int number[2];
  ASSERT_EQ(pipe(number), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    child_processes x{{1, false}, [](const std::string&) {}};
    x.start(shell("a", "trap '' INT TERM HUP PIPE; while true; do sleep 1; done"));
    const pid_t id = x.process_id(0);
    if (write(number[1], &id, sizeof id) < 0)
      _exit(1);
    x.wait(std::nullopt);
    _exit(1);
  }
  pid_t id = 0;
  ASSERT_EQ(read(number[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
  EXPECT_FALSE(is_gone(id));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(is_gone_soon(id));
  close(number[0]);
  close(number[1]);
}

TEST_F(children, signals_are_as_before_afterwards) {
  std::signal(SIGTERM, SIG_IGN);
  { const child_processes x{{}, print}; }
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_IGN);
}

} // namespace
} // namespace troupe::child_processes_test
