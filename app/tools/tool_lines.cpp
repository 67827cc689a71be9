#include "app/tools/tool_lines.hpp"

#include "app/page/page_answer.hpp"
#include "app/run/training_run.hpp"
#include "data/text/failure.hpp"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

/// The archive is "/tools.zip" (generated, cmake/embed.cmake).
const page_asset* tool_asset_at(std::string_view path);

namespace {

/// A file of no folder, which lives as long as a process has it open.
std::string path_of_archive() {
  const auto bytes = tool_asset_at("/tools.zip")->bytes;
  const int file = memfd_create("troupe-tools", 0);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw failure(failure_code::internal,
                  std::string{"cannot write to memory: "} + std::strerror(errno));
  return "/proc/self/fd/" + std::to_string(file);
}

/// Isolated: Python reads nothing from the environment, the current folder and the user's packages.
[[noreturn]] void become(const std::string& name, const std::vector<std::string>& options) {
  std::vector<std::string> words{"python3", "-I", "-B", "-X", "utf8", path_of_archive(), name};
  words.push_back("troupe=" + std::filesystem::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (const auto* program : {"/usr/bin/python3", "python3"}) // Debian's own, else that of PATH
    execvp(program, arguments.data());
  throw failure(failure_code::missing_input,
                "'troupe " + name +
                  "' needs Python, and python3 cannot be run: " + std::strerror(errno),
                {}, "install Python 3.9 or later (Debian: apt-get install python3)");
}

/// Becomes the program of python/tools with this name, which reads `options`, each "name=value". Returns only by throwing
/// failure(missing_input) when there is no python3; with `json` that is also printed as an object.
int run_tool_program(const std::string& name, const std::vector<std::string>& options, bool json) {
  return with_failure_object(json, [&]() -> int { become(name, options); });
}

void call_program(CLI::App& command, std::function<int()>& chosen) {
  command.callback([&] {
    chosen = [&command] {
      std::vector<std::string> words;
      for (const auto* option : command.get_options())
        for (const auto& value : option->results())
          words.push_back(option->get_single_name() + '=' + value);
      return run_tool_program(command.get_name(), words, command.count("--json") > 0);
    };
  });
}

} // namespace

void add_compare(CLI::App& app, tool_line& x, std::function<int()>& chosen) {
  auto* compare = app.add_subcommand("compare", "Says what differs between runs");
  compare->add_option("run", x.texts, "Folders of runs, two at least")
    ->required()
    ->expected(2, -1)
    ->type_name("RUN");
  compare->add_option("-o,--output", x.text, "Writes the curves: FILE.svg")->type_name("FILE");
  compare->add_flag("--json", x.flag, "Prints one JSON object");
  compare->footer("Example:\n  troupe compare runs/digits runs/other -o curves.svg");
  call_program(*compare, chosen);
}

void add_sweep(CLI::App& app, tool_line& x, std::function<int()>& chosen) {
  auto* sweep = app.add_subcommand("sweep", "Trains a job with different values of its keys");
  sweep->add_option("job", x.text, "The job file (docs/jobs.md)")->required()->type_name("JOB");
  const auto add = [&](const char* name, const char* about) {
    return sweep->add_option(name, x.texts, about)->allow_extra_args(false);
  };
  add("--set", "Sets a key of all trials")->type_name("KEY=VALUE");
  add("--grid", "Values of a key, each with all of other grids")->type_name("KEY=A,B,..");
  add("--random", "Draws of a key: LOW..HIGH:COUNT or LOW..HIGH:log:COUNT")->type_name("KEY=DRAWS");
  const auto add_number = [&](const char* name, const char* about) {
    return sweep->add_option(name, x.number, about)->type_name("N");
  };
  add_number("--seed", "Of the draws");
  add_number("--halve", "Trains all a little, the best of every N further, and so on")
    ->check(CLI::Range(2, 100));
  add_number("--folds", "Trains each setting once for each of N folds")->check(CLI::Range(2, 1000));
  add_number("--slots", "Trials at once; one a core")->check(CLI::Range(1, 1024));
  sweep->add_option("-o,--output", x.text, "Where the trials' runs go")->type_name("FOLDER");
  sweep->add_flag("--json", x.flag, "Prints the result as one JSON object");
  sweep->add_flag("--quiet", x.flag, "Says nothing of single trials");
  auto* resume = sweep->add_flag("--resume", x.flag, "Goes on with what has not been trained yet");
  sweep->add_flag("--overwrite", x.flag, "Replaces a sweep in the same folder")->excludes(resume);
  sweep->footer("Example:\n  troupe sweep examples/digits.toml --grid model.hidden=[32],[64] "
                "--random optimizer.learning_rate=1e-3..1e-1:log:4");
  call_program(*sweep, chosen);
}

void add_tool_services(CLI::App& app, tool_line& x, std::function<int()>& chosen) {
  auto* serve = app.add_subcommand("serve-tools", "Says what python/tools ask")->group("");
  serve->add_option("service", x.service)->required();
  serve->callback([&] { chosen = [&x] { return serve_tool(x.service); }; });
}

} // namespace troupe
