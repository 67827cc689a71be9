#include "actors/run/job_data.hpp"
#include "app/commands/commands.hpp"
#include "app/init/job_proposal.hpp"
#include "app/job/job_file.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/formats/read_data.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>

namespace troupe {

namespace {

namespace fs = std::filesystem;

/// Enough to know columns by, and read in a second or two.
constexpr uint64_t rows_looked_at = 200'000;

std::string output_of(const init_arguments& x) {
  if (!x.output.empty())
    return x.output;
  auto name = fs::path{x.file}.filename();
  if (name.extension() == ".gz")
    name.replace_extension();
  return name.replace_extension(".toml").string();
}

/// As a job at `output` is to name the file: paths in jobs are relative to the job.
std::string name_from(const std::string& output, const std::string& file) {
  if (output == "-" || fs::path{file}.is_absolute())
    return file;
  const auto folder = fs::absolute(output).parent_path();
  return fs::absolute(file)
    .lexically_normal()
    .lexically_relative(folder.lexically_normal())
    .string();
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t shown_max = 8;
  std::string result;
  for (size_t i = 0; i < std::min(names.size(), shown_max); ++i)
    result += (i == 0 ? "" : ", ") + shown_text(names[i]);
  return names.size() > shown_max
           ? result + " and " + std::to_string(names.size() - shown_max) + " more"
           : result;
}

void write_job(const std::string& output, const std::string& text, bool overwrite) {
  if (!overwrite && fs::exists(fs::symlink_status(output)))
    throw failure(failure_code::cannot_create, "the file is there already", output,
                  "give --overwrite to replace it, or -o another name");
  write_file_atomically(output, text);
}

int init_command(const init_arguments& x) {
  if (const auto format = format_of(x.file); format != file_format::csv)
    throw failure(failure_code::usage,
                  "this is a file of the format " + std::string{name_of(format)} +
                    ": there are no columns to choose from",
                  x.file,
                  "a job needs no more than data.file = \"" + x.file + "\" and a model.kind");
  const auto header = header_option(x.header);
  const auto facts = facts_of_csv(x.file, header, rows_looked_at, dialect_by_content(x.file));
  const auto proposal = proposal_for(facts, x.target, x.file);
  const auto output = output_of(x);
  const auto text = proposed_job(facts, proposal, name_from(output, x.file), output);
  if (output == "-") {
    print_result(text);
    return 0;
  }
  const bool is_new = !fs::exists(fs::symlink_status(output));
  write_job(output, text, x.overwrite);
  auto job = load_job(output, {}, {}); // it is one that trains, or this is a defect
  if (header == csv_header::automatic)
    job.data.header = header_kind::automatic;
  try { // what training refuses or warns of is said now
    const auto data = facts.is_whole ? load_data(job) : std::make_shared<prepared_data>();
    for (const auto& remark : data->remarks)
      print_message("troupe: warning: " + remark + '\n');
  } catch (const failure&) {
    if (is_new)
      fs::remove(output);
    throw;
  }
  std::string report = "learns  " + shown_text(proposal.target) + " (" +
                       (proposal.is_sure ? "" : proposal.target_reason + "; ") +
                       printable_text(proposal.targets) + ")\nfrom    " +
                       listed(proposal.features) + '\n';
  for (const auto* readings : {&proposal.categorical, &proposal.boolean, &proposal.date})
    for (const auto& [column, reason] : *readings)
      report += "reads   " + shown_text(column) + " as " + printable_text(reason) + '\n';
  if (!proposal.missing.empty())
    report += (proposal.drops_rows ? "drops   " : "fills   ") + proposal.missing + " rows" +
              (proposal.drops_rows ? "" : " by the mean") + '\n';
  for (const auto& [column, why] : proposal.ignored)
    report += "without " + shown_text(column) + ": " + printable_text(why) + '\n';
  print_result(report + "wrote   " + output + "; next: troupe train " + output + '\n');
  return 0;
}

} // namespace

void add_init(CLI::App& app, init_arguments& x, std::function<int()>& chosen) {
  auto* init = app.add_subcommand("init", "Looks at a CSV file and writes a first job for it");
  init->add_option("file", x.file, "The file of rows")->required()->type_name("FILE");
  init->add_option("-o,--output", x.output, "The job to write; -: standard output")
    ->type_name("JOB");
  init->add_option("--target", x.target, "The column to learn, by name");
  init->add_option("--header", x.header, "auto, yes or no");
  init->add_flag("--overwrite", x.overwrite, "Replaces a file that is there");
  init->footer("Example:\n  troupe init examples/data/iris.csv -o iris.toml");
  init->callback([&] { chosen = [&x] { return init_command(x); }; });
}

} // namespace troupe
