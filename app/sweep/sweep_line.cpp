#include "troupe/app/sweep/sweep_command.hpp"

#include <CLI/CLI.hpp>

namespace troupe {

void add_sweep(CLI::App& app, sweep_arguments& x, std::function<int()>& chosen) {
  auto* sweep = app.add_subcommand("sweep", "Trains a job with different values of its keys");
  sweep->add_option("job", x.job_file, "The job file (docs/jobs.md)")->required()->type_name("JOB");
  const auto add = [&](const char* name, std::vector<std::string>& texts, const char* about) {
    return sweep->add_option(name, texts, about)->allow_extra_args(false);
  };
  add("--set", x.sets, "Sets a key of all trials")->type_name("KEY=VALUE");
  add("--grid", x.grids, "Values of a key, each with all of other grids")->type_name("KEY=A,B,..");
  add("--random", x.randoms, "Draws of a key: LOW..HIGH:COUNT or LOW..HIGH:log:COUNT")
    ->type_name("KEY=DRAWS");
  sweep->add_option("--seed", x.seed, "Of the draws")->type_name("N");
  sweep
    ->add_option("--halve", x.halving,
                 "Trains all a little, the best of every N further, and so on")
    ->check(CLI::Range(2, 100))
    ->type_name("N");
  sweep->add_option("--folds", x.folds, "Trains each setting once for each of N folds")
    ->check(CLI::Range(2, 1000))
    ->type_name("N");
  sweep->add_option("--slots", x.slots, "Trials at once; one a core")
    ->check(CLI::Range(1, 1024))
    ->type_name("N");
  sweep->add_option("-o,--output", x.folder, "Where the trials' runs go")->type_name("FOLDER");
  sweep->add_flag("--json", x.json, "Prints the result as one JSON object");
  sweep->add_flag("--quiet", x.quiet, "Says nothing of single trials");
  auto* resume =
    sweep->add_flag("--resume", x.resume, "Goes on with what has not been trained yet");
  sweep->add_flag("--overwrite", x.overwrite, "Replaces a sweep in the same folder")
    ->excludes(resume);
  sweep->footer("Example:\n  troupe sweep examples/digits.toml --grid model.hidden=[32],[64] "
                "--random optimizer.learning_rate=1e-3..1e-1:log:4");
  sweep->callback([&] { chosen = [&x] { return sweep_command(x); }; });
}

} // namespace troupe
