#include "app/commands/commands.hpp"
#include "app/run/flight_report.hpp"
#include "app/run/trace_output.hpp"
#include "app/terminal/output.hpp"

#include <CLI/CLI.hpp>

namespace troupe {

void add_trace(CLI::App& app, trace_arguments& x, std::function<int()>& chosen) {
  auto* trace = app.add_subcommand("trace", "Works on timelines and flight recorders of runs");
  trace->require_subcommand(1);
  trace->footer("Example:\n  troupe trace merge main.json right.json -o run.json");
  auto* merge = trace->add_subcommand("merge", "Makes one timeline of those of a run's processes");
  merge->add_option("file", x.files, "Timelines of one run, the director's among them")
    ->required()
    ->type_name("FILE");
  merge->add_option("-o,--output", x.output, "The file to write")->required()->type_name("FILE");
  merge->footer("Example:\n  troupe trace merge main.json right.json -o run.json");
  merge->callback([&] {
    chosen = [&x] {
      print_result(trace_merge_text(merge_traces(x.files, x.output), x.output));
      return 0;
    };
  });
  auto* show = trace->add_subcommand("show", "Shows what the actors of a process did last");
  show->add_option("file", x.flight, "What its flight recorder left")
    ->required()
    ->type_name("FILE");
  show->add_option("--records", x.records, "At most so many of each actor (20)")->type_name("N");
  show->add_flag("--json", x.json, "Prints one JSON object, with all records");
  show->footer("Example:\n  troupe trace show runs/digits/flight-left.bin");
  show->callback([&] {
    chosen = [&x] {
      const auto log = load_flight(x.flight);
      print_result(x.json ? flight_json(log) : flight_report(log, x.records));
      return 0;
    };
  });
}

} // namespace troupe
