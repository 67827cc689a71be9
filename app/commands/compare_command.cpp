#include "troupe/app/commands/commands.hpp"
#include "troupe/app/compare/comparison.hpp"
#include "troupe/app/compare/comparison_report.hpp"
#include "troupe/app/compare/curves.hpp"
#include "troupe/app/terminal/figures_text.hpp"
#include "troupe/app/terminal/output.hpp"
#include "troupe/data/disk/atomic_file.hpp"

#include <vector>

namespace troupe {

int compare_command(const compare_arguments& arguments) {
  return with_failure_object(arguments.json, [&] {
    if (!arguments.output_file.empty() && !arguments.output_file.ends_with(".svg"))
      throw failure(failure_code::usage,
                    "curves are written as .svg, not as '" + arguments.output_file + "'");
    std::vector<run_record> runs;
    for (const auto& folder : arguments.folders)
      runs.push_back(read_run(folder));
    read_common_checkpoints(runs);
    const auto found = compare_runs(runs);
    if (!arguments.output_file.empty())
      write_file_atomically(arguments.output_file, curves_svg(runs));
    print_result(arguments.json ? one_line(comparison_object(runs, found))
                                : comparison_text(runs, found));
    return 0;
  });
}

} // namespace troupe
