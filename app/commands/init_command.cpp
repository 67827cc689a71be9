#include "actors/run/job_data.hpp"
#include "app/commands/commands.hpp"
#include "app/job/job_file.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/formats/csv/csv_columns.hpp"
#include "data/formats/read_data.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/keys/closest_name.hpp"
#include "models/keys/toml_value.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

namespace {

// A first job for a file: what to learn from what, and how sure each guess is.

/// Columns of a file of a header and rows, by their use.
struct job_proposal {
  std::string target;
  std::string target_reason; ///< "its name says so", and the like
  bool is_sure = false;      ///< of the target
  bool has_classes = false;
  std::string targets;                                      ///< what they are, in words
  std::vector<std::pair<std::string, std::string>> ignored; ///< by column: why
  std::vector<std::string> features;
  struct reading {
    std::string column;
    std::string reason; ///< with how sure it is
  };
  std::vector<reading> categorical{};
  std::vector<reading> boolean{};
  std::vector<reading> date{};
  std::string missing{};                    ///< which columns have gaps, in words; empty: none
  std::vector<std::string> missing_cells{}; ///< texts that stand in them
  bool drops_rows = false;                  ///< with gaps, as the target has some
};

/// Whole numbers of so few values are taken for classes.
constexpr size_t classes_max = 20;
/// With fewer rows the job keeps none aside for early stopping.
constexpr uint64_t rows_for_validation = 300;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_named_as_target(const csv_column& x) {
  constexpr std::array names{"target", "label", "class", "outcome", "survived", "churn"};
  return std::ranges::find(names, lower(x.name)) != names.end();
}

std::string shares(uint64_t part, uint64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

/// Text of so few values, or of one in so many rows, is taken for categories.
constexpr uint64_t rows_of_category_min = 2;

bool is_text_of(uint64_t count, const csv_column& x) {
  return x.text_count > 0 && count == x.text_count && x.number_count == 0;
}

bool has_categories(const csv_column& x) {
  return !x.has_many_values() &&
         x.number_count + x.text_count >= rows_of_category_min * x.values.size();
}

/// Why it is no feature; empty when it is one.
std::string reason_to_ignore(const csv_column& x, uint64_t rows) {
  if (2 * x.empty_count > rows)
    return shares(x.empty_count, rows) + " cells are empty";
  if (x.values.size() == 1)
    return "all cells are the same";
  if (is_text_of(x.date_count, x) || is_text_of(x.boolean_count, x))
    return "";
  if (x.text_count > 0 && (x.number_count > x.text_count || !has_categories(x)))
    return shares(x.text_count, rows) + " cells are no numbers, such as " +
           shown_text(x.first_text);
  const auto name = lower(x.name);
  const bool is_named_id = name == "id" || name.ends_with("_id") || name.ends_with("id number");
  if (x.counts && x.text_count == 0 && rows > 2)
    return "it counts the rows";
  return is_named_id && x.is_whole && x.has_many_values() ? "its name says that it is an id" : "";
}

std::string listed_values(const csv_column& x);

/// What a feature's cells are, where they are not plain numbers.
void choose_reading(const csv_column& x, job_proposal& out) {
  if (is_text_of(x.date_count, x))
    out.date.push_back({x.name, "dates in all cells, for certain"});
  else if (is_text_of(x.boolean_count, x))
    out.boolean.push_back({x.name, "true or false (" + listed_values(x) + "), for certain"});
  else if (x.text_count > 0)
    out.categorical.push_back({x.name, "text of " + std::to_string(x.values.size()) + " values (" +
                                         listed_values(x) + "), likely"});
  else if (x.has_leading_zeros && has_categories(x))
    out.categorical.push_back({x.name, "numbers that begin with 0, as codes do, of " +
                                         std::to_string(x.values.size()) + " values, likely"});
}

/// How gaps in these features are to be filled.
void choose_missing(const csv_facts& facts, job_proposal& out) {
  std::set<std::string> words;
  for (const auto& x : facts.columns) {
    const bool is_used =
      x.name == out.target || std::ranges::find(out.features, x.name) != out.features.end();
    if (x.empty_count == 0 || !is_used)
      continue;
    out.missing += (out.missing.empty() ? "" : ", ") + printable_text(x.name) + " in " +
                   shares(x.empty_count, facts.row_count);
    words.insert(x.missing_words.begin(), x.missing_words.end());
  }
  out.missing_cells.assign(words.begin(), words.end());
}

void choose_target(const csv_facts& facts, const std::string& wanted, const std::string& path,
                   job_proposal& out) {
  const auto& columns = facts.columns;
  if (!wanted.empty()) {
    if (std::ranges::find(columns, wanted, &csv_column::name) == columns.end()) {
      std::vector<std::string> names;
      for (const auto& x : columns)
        names.push_back(x.name);
      const auto closest = closest_name(wanted, names);
      throw failure(failure_code::bad_data, "there is no column " + shown_text(wanted), path,
                    closest.empty() ? "its columns are " + shown_text(names.front()) + " to " +
                                        shown_text(names.back())
                                    : "did you mean " + shown_text(closest) + "?");
    }
    out.target = wanted;
    out.target_reason = "you named it";
    out.is_sure = true;
  } else if (const auto found = std::ranges::find_if(columns, is_named_as_target);
             found != columns.end()) {
    out.target = found->name;
    out.target_reason = "a guess by its name";
  } else {
    out.target = columns.back().name;
    out.target_reason = "a guess, as it is the last column";
  }
}

std::string listed_values(const csv_column& x) {
  std::string result;
  size_t count = 0;
  for (const auto& value : x.values) {
    if (++count > 5)
      return result + ", ..";
    result += (count == 1 ? "" : ", ") + shown_text(value);
  }
  return result;
}

void judge_targets(const csv_column& x, uint64_t rows, const std::string& path, job_proposal& out) {
  out.drops_rows = x.empty_count > 0;
  if (2 * x.empty_count > rows)
    throw failure(failure_code::bad_data,
                  "the column " + shown_text(x.name) + " has no value in " +
                    shares(x.empty_count, rows) + " rows, so it cannot be learned",
                  path, "leave these rows out, or name another column: --target");
  const bool is_text = x.text_count > 0;
  const bool has_few = x.values.size() <= classes_max;
  out.has_classes = is_text || (x.is_whole && has_few);
  const auto many = x.has_many_values() ? "more than " + std::to_string(csv_column::values_kept_max)
                                        : std::to_string(x.values.size());
  if (is_text)
    out.targets = many + " values (" + listed_values(x) + "), some are text: classes, for certain";
  else if (out.has_classes)
    out.targets = many + " whole numbers (" + listed_values(x) +
                  "): taken for classes, a guess; if they are amounts, use loss = \"squared\"";
  else
    out.targets = "numbers of " + many + " values: amounts";
}

std::string comment(const std::string& text) {
  return "# " + text + '\n';
}

std::string key(const std::string& name, const std::string& value) {
  return name + " = " + value + '\n';
}

/// A key of columns that are read in one way, with why.
std::string readings(const std::string& name, const std::vector<job_proposal::reading>& x) {
  std::string result;
  std::vector<std::string> columns;
  for (const auto& [column, reason] : x) {
    result += comment(printable_text(column) + ": " + printable_text(reason) + ".");
    columns.push_back(column);
  }
  return columns.empty() ? "" : result + key(name, toml_text(columns));
}

std::string dialect_lines(const csv_dialect& x) {
  if (x.separator == ',')
    return "";
  auto result =
    comment("How cells are written: a guess, as all of the first lines have as many of them.") +
    key("separator", toml_text(std::string_view{&x.separator, 1}));
  return x.decimal == '.' ? result
                          : result + key("decimal", toml_text(std::string_view{&x.decimal, 1}));
}

std::string missing_lines(const job_proposal& x) {
  if (x.missing.empty())
    return "";
  auto result =
    comment("Cells without a value, for certain: " + x.missing + " rows. " +
            (x.drops_rows ? "These rows are left out, as the target is among them."
                          : "The mean stands for them; \"drop\" leaves such rows out.")) +
    key("missing", x.drops_rows ? "\"drop\"" : "\"mean\"");
  return x.missing_cells.empty() ? result
                                 : result + key("missing_cells", toml_text(x.missing_cells));
}

std::string data_section(const csv_facts& facts, const job_proposal& x, const std::string& file) {
  auto result = "[data]\n" + key("file", toml_text(std::string_view{file}));
  if (!facts.has_header)
    result += comment("Some cell of row 1 is a number, so it is a row; columns are called by their "
                      "index.");
  result += key("header", facts.has_header ? "true" : "false");
  result += dialect_lines(facts.dialect);
  result += comment("What to learn: " + x.target_reason + ".");
  result += key("target", toml_text(std::string_view{x.target}));
  std::vector<std::string> ignored;
  for (const auto& [column, why] : x.ignored) {
    result +=
      comment("No feature: " + printable_text(column) + ", for " + printable_text(why) + ".");
    ignored.push_back(column);
  }
  if (!ignored.empty())
    result += key("ignore", toml_text(ignored));
  result += readings("categorical", x.categorical) + readings("boolean", x.boolean) +
            readings("date", x.date) + missing_lines(x);
  result += key("test_fraction", "0.2");
  if (x.has_classes && facts.row_count >= rows_for_validation)
    result += key("validation_fraction", "0.1");
  return result + key("standardize", "true") + '\n';
}

std::string classifier_sections(const csv_facts& facts) {
  const bool stops = facts.row_count >= rows_for_validation;
  std::string result = "kind = \"neural-network\"\nhidden = [32]\n"
                       "loss = \"categorical-cross-entropy\"\n\n"
                       "[optimizer]\nkind = \"adam\"\nlearning_rate = 0.003\n\n"
                       "[training]\nbatch_size = 32\n";
  result += stops ? comment("It ends when the validation rows get no better for 20 epochs.") +
                      "epochs = 500\npatience = 20\n"
                  : "epochs = 100\n";
  return result + "metrics = [\"auc\", \"macro-f1\"]\n";
}

std::string regression_sections() {
  return comment("The best line there is, in one step. Where it is not good enough: kind = "
                 "\"neural-network\",") +
         comment("hidden = [32], optimizer \"adam\", epochs = 100, and no l2.") +
         "kind = \"linear-regression\"\nloss = \"squared\"\n\n"
         "[optimizer]\nkind = \"closed-form\"\n" +
         comment(
           "Columns that say the same would have no single solution without a little of it.") +
         "l2 = 0.001\n\n[training]\nmetrics = [\"mae\", \"rmse\"]\n";
}

/// `target`: the column that the user names; empty: to be guessed. Throws failure(bad_data) for a column
/// that is not there, for a target without most values, and where no feature is left.
job_proposal proposal_for(const csv_facts& facts, const std::string& target,
                          const std::string& path) {
  if (facts.row_count == 0 || facts.columns.size() < 2)
    throw failure(
      failure_code::bad_data,
      "the file has " + std::to_string(facts.row_count) + " rows of " +
        std::to_string(facts.columns.size()) + " columns",
      path,
      "it needs rows of a target and a feature, with commas, semicolons, tabs or bars between");
  job_proposal result;
  choose_target(facts, target, path, result);
  for (const auto& x : facts.columns) {
    if (x.name == result.target)
      judge_targets(x, facts.row_count, path, result);
    else if (auto why = reason_to_ignore(x, facts.row_count); !why.empty())
      result.ignored.emplace_back(x.name, std::move(why));
    else {
      result.features.push_back(x.name);
      choose_reading(x, result);
    }
  }
  choose_missing(facts, result);
  if (result.features.empty())
    throw failure(failure_code::bad_data,
                  "no column can be a feature: " + shown_text(result.ignored.front().first) +
                    ", as " + result.ignored.front().second,
                  path, "features are columns of numbers, dates, or of values that come again");
  return result;
}

/// The job, with a comment at each decision. `file`: as the job is to name it; `path`: of the job.
std::string proposed_job(const csv_facts& facts, const job_proposal& x, const std::string& file,
                         const std::string& path) {
  const auto rows =
    (facts.is_whole ? "" : "the first ") + std::to_string(facts.row_count) + " rows";
  auto result = comment("A first job for " + printable_text(file) + ", from a look at " + rows +
                        " of " + std::to_string(facts.columns.size()) +
                        " columns. What is not as you mean it, change; then");
  result += "#\n#   troupe train " + printable_text(path) + "\n#\n" +
            comment("`troupe config keys` lists all keys.") + '\n';
  result += data_section(facts, x, file);
  result +=
    "[model]\n" + comment(printable_text(x.target) + " has " + printable_text(x.targets) + ".");
  return result + (x.has_classes ? classifier_sections(facts) : regression_sections());
}

namespace fs = std::filesystem;

/// Enough to know the columns, and read in a second or two.
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
  if (const auto format = troupe::format_of(x.file); format != file_format::csv)
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
    job.data.header = csv_header::automatic;
  try { // shows now what training would refuse or warn of
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
