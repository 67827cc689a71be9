#include "troupe/app/commands/trace_command.hpp"

#include "troupe/app/run/trace_output.hpp"
#include "troupe/app/terminal/output.hpp"

#include <CLI/CLI.hpp>

namespace troupe {

int trace_merge_command(const trace_merge_arguments& arguments) {
  const auto merged = merge_traces(arguments.files, arguments.output);
  print_result(trace_merge_text(merged, arguments.output));
  return 0;
}

void add_trace(CLI::App& app, trace_merge_arguments& x, std::function<int()>& chosen) {
  auto* trace = app.add_subcommand("trace", "Works on timelines that --trace has written");
  trace->require_subcommand(1);
  trace->footer("Example:\n  troupe trace merge main.json right.json -o run.json");
  auto* merge = trace->add_subcommand("merge", "Makes one timeline of those of a run's processes");
  merge->add_option("file", x.files, "Timelines of one run, the director's among them")
    ->required()
    ->type_name("FILE");
  merge->add_option("-o,--output", x.output, "The file to write")->required()->type_name("FILE");
  merge->footer("Example:\n  troupe trace merge main.json right.json -o run.json");
  merge->callback([&] { chosen = [&x] { return trace_merge_command(x); }; });
}

} // namespace troupe
