#include "troupe/app/tools/tool_lines.hpp"

#include "troupe/app/tools/tool_program.hpp"
#include "troupe/app/tools/tool_services.hpp"

#include <CLI/CLI.hpp>

namespace troupe {

namespace {

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
