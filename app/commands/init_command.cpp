#include "actors/run/job_data.hpp"
#include "app/commands/commands.hpp"
#include "app/init/column_guess.hpp"
#include "app/init/held_back_look.hpp"
#include "app/job/job_file.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "app/toml/parse_toml.hpp"
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
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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
  std::string targets;                                       ///< what they are, in words
  std::vector<std::pair<std::string, column_guess>> ignored; ///< columns, and why
  std::vector<std::string> features;
  /// Columns that are no plain numbers, and why, by what they are.
  std::map<column_kind, std::vector<std::pair<std::string, std::string>>> readings{};
  std::optional<date_form> date_order{};    ///< of dates that do not begin with the year
  std::string missing{};                    ///< which columns have gaps, in words; empty: none
  std::vector<std::string> missing_cells{}; ///< texts that stand in them
  std::string missing_texts{};              ///< which stand where, in words
  bool drops_rows = false;                  ///< with gaps, as the target has some
  std::string rare_class{};                 ///< which class is rare, in words; empty: none
  std::optional<held_back_look> look{};     ///< nothing: too few rows, or not all were seen

  /// Trained by gradients, epoch by epoch.
  bool descends() const { return has_classes || (look && look->best().is_network); }
  bool has_hidden_layer() const { return look ? look->best().is_network : has_classes; }
};

/// Whole numbers of so few values are taken for classes.
constexpr size_t classes_max = 20;
/// With fewer rows the job keeps none aside for early stopping, and a look at networks tells little.
constexpr uint64_t rows_for_validation = 300, rows_for_look = 300;
/// With more a look takes longer than somebody waits for a first job.
constexpr uint64_t rows_for_look_max = 200'000;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_named_as_target(const csv_column& x) {
  constexpr std::array names{"target", "label", "class", "outcome", "survived", "churn"};
  return std::ranges::find(names, lower(x.name)) != names.end();
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
    for (const auto& [word, count] : x.missing_words) {
      out.missing_texts += (out.missing_texts.empty() ? "" : "; ") + printable_text(x.name) + ": " +
                           std::to_string(count) + (count == 1 ? " cell is " : " cells are ") +
                           shown_text(word);
      words.insert(word);
    }
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

std::string percent(uint64_t part, uint64_t whole) {
  const auto tenths = (1000 * part + whole / 2) / whole;
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " %";
}

/// A class in less than a tenth of the rows, and in less than half of those that it would have if all had the same.
std::string rare_class_of(const csv_column& x) {
  const auto by_rows = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [rare, common] = std::ranges::minmax_element(x.values, by_rows);
  uint64_t rows = 0;
  for (const auto& [value, count] : x.values)
    rows += count;
  if (10 * rare->second >= rows || 2 * x.values.size() * rare->second >= rows)
    return "";
  return shown_text(rare->first) + " is in " + percent(rare->second, rows) +
         " of the rows. To answer " + shown_text(common->first) + " always is right in " +
         percent(common->second, rows) + ": auc and macro-f1 tell more than accuracy";
}

void judge_targets(const csv_column& x, uint64_t rows, const std::string& path, job_proposal& out) {
  out.drops_rows = x.empty_count > 0;
  if (2 * x.empty_count > rows)
    throw failure(failure_code::bad_data,
                  "the column " + shown_text(x.name) + " has no value in " +
                    shares(x.empty_count, rows) + " rows, so it cannot be learned",
                  path, "leave these rows out, or name another column: --target");
  const bool is_text = x.text_count > 0 && !x.has_amounts();
  if (x.has_amounts())
    out.readings[column_kind::amount].emplace_back(x.name, amounts_reason(x));
  const bool has_few = x.values.size() <= classes_max;
  out.has_classes = is_text || (x.is_whole && has_few);
  if (out.has_classes && !x.has_many_values() && !x.values.empty())
    out.rare_class = rare_class_of(x);
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

/// Of a path such as "data.date".
std::string_view key_name(std::string_view path) {
  return path.substr(path.find('.') + 1);
}

std::string key(const std::string& name, const std::string& value) {
  return name + " = " + value + '\n';
}

/// Keys of columns that are no plain numbers, with why.
std::string reading_lines(const job_proposal& x) {
  std::string result;
  for (const auto& [kind, path, member] : column_readings) {
    const auto found = x.readings.find(kind);
    if (found == x.readings.end())
      continue;
    std::vector<std::string> columns;
    for (const auto& [column, reason] : found->second) {
      result += comment(printable_text(column) + ": " + printable_text(reason) + ".");
      columns.push_back(column);
    }
    result += key(std::string{key_name(path)}, toml_text(columns));
  }
  if (x.date_order)
    result += key("date_order", toml_text(name_of(*x.date_order)));
  return result;
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
    comment("Cells without a value: " + x.missing + " rows. " +
            (x.drops_rows ? "These rows are left out, as the target is among them."
                          : "The mean stands for them; \"drop\" leaves such rows out.")) +
    key("missing", x.drops_rows ? "\"drop\"" : "\"mean\"");
  return x.missing_cells.empty()
           ? result
           : result + comment("Taken for no value: " + x.missing_texts + ".") +
               key("missing_cells", toml_text(x.missing_cells));
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
    result += comment("No feature: " + printable_text(column) + ", for " +
                      printable_text(why.reason) + ".");
    if (!why.advice.empty())
      result += comment("  To have it: " + printable_text(why.advice) + ".");
    ignored.push_back(column);
  }
  if (!ignored.empty())
    result += key("ignore", toml_text(ignored));
  result += reading_lines(x) + missing_lines(x);
  result += key("test_fraction", "0.2");
  if (x.descends() && facts.row_count >= rows_for_validation)
    result += key("validation_fraction", "0.1");
  if (!x.rare_class.empty())
    result +=
      comment("Rare: " + printable_text(x.rare_class) + ". All parts get their share of it.") +
      key("stratify", "true");
  result += key("standardize", "true");
  if (!x.has_classes && x.descends())
    result +=
      comment("What is learned in place of the target; predictions and errors are in its unit.") +
      key("target_scale", toml_text(name_of(x.look->best().scale)));
  return result + '\n';
}

std::string network_sections(const csv_facts& facts, const job_proposal& x) {
  const bool stops = facts.row_count >= rows_for_validation;
  std::string result = "kind = \"neural-network\"\n";
  result += x.has_hidden_layer() ? "hidden = [32]\n" : "hidden = []\n";
  result += x.has_classes ? "loss = \"categorical-cross-entropy\"\n" : "loss = \"squared\"\n";
  result += "\n[optimizer]\nkind = \"adam\"\nlearning_rate = 0.003\n";
  if (stops)
    result += comment("The rate is lowered where the validation rows get no better for 3 epochs.") +
              "plateau = { patience = 3, factor = 0.3 }\n";
  result += "\n[training]\nbatch_size = 32\n";
  result += stops ? comment("It ends when the validation rows get no better for 20 epochs.") +
                      "epochs = 500\npatience = 20\n"
                  : "epochs = 100\n";
  return result +
         "metrics = " + (x.has_classes ? "[\"auc\", \"macro-f1\"]\n" : "[\"mae\", \"rmse\"]\n");
}

std::string line_sections() {
  return comment("The best line there is, in one step. Where it is not good enough: kind = "
                 "\"neural-network\",") +
         comment("hidden = [32], optimizer \"adam\", epochs = 100, and no l2.") +
         "kind = \"linear-regression\"\nloss = \"squared\"\n\n"
         "[optimizer]\nkind = \"closed-form\"\n" +
         comment(
           "Columns that say the same would have no single solution without a little of it.") +
         "l2 = 0.001\n\n[training]\nmetrics = [\"mae\", \"rmse\"]\n";
}

/// Throws failure(bad_data) for a column that is not there, for a target without most values, and where no feature is
/// left.
job_proposal proposal_for(const csv_facts& facts, const init_arguments& wanted) {
  const auto& path = wanted.file;
  if (facts.row_count == 0 || facts.columns.size() < 2)
    throw failure(
      failure_code::bad_data,
      "the file has " + std::to_string(facts.row_count) + " rows of " +
        std::to_string(facts.columns.size()) + " columns",
      path,
      "it needs rows of a target and a feature, with commas, semicolons, tabs or bars between");
  job_proposal result;
  choose_target(facts, wanted.target, path, result);
  const auto order = guess_date_order(facts, from_name<date_form>(wanted.date_order));
  for (const auto& x : facts.columns) {
    if (x.name == result.target) {
      judge_targets(x, facts.row_count, path, result);
      continue;
    }
    auto guess = guess_column(x, facts.row_count, order);
    if (!guess.kind) {
      result.ignored.emplace_back(x.name, std::move(guess));
      continue;
    }
    result.features.push_back(x.name);
    const bool is_date = guess.kind == column_kind::date || guess.kind == column_kind::datetime;
    if (is_date && !x.has_dates(date_form::year_first))
      result.date_order = order;
    if (*guess.kind != column_kind::number)
      result.readings[*guess.kind].emplace_back(x.name, std::move(guess.reason));
  }
  choose_missing(facts, result);
  if (result.features.empty()) {
    const auto& [column, why] = result.ignored.front();
    throw failure(failure_code::bad_data,
                  "no column can be a feature: " + shown_text(column) + ", as " + why.reason, path,
                  why.advice.empty()
                    ? "features are columns of numbers, dates, or of values that come again"
                    : why.advice);
  }
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
  if (x.look)
    result += comment(x.look->words() + ".");
  return result + (x.descends() ? network_sections(facts, x) : line_sections());
}

namespace fs = std::filesystem;

/// Enough to know the columns, and read in a second or two.
constexpr uint64_t rows_looked_at = 1'000'000;

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

/// Of columns that say something and are left out; empty: there are none.
std::string warning_of_loss(const job_proposal& x, const csv_facts& facts) {
  std::string lines;
  size_t count = 0;
  for (const auto& [column, why] : x.ignored) {
    if (!why.is_loss)
      continue;
    ++count;
    lines += "  " + shown_text(column) + ": " + printable_text(why.reason) +
             (why.advice.empty() ? "" : "\n    to have it, " + printable_text(why.advice)) + '\n';
  }
  return count == 0
           ? ""
           : "troupe: warning: " + shares(count, facts.columns.size()) +
               " columns are left out, though they may say something of the target:\n" + lines;
}

/// The job of a text as at `output`; the header as the user said.
job job_of(const std::string& text, const std::string& output, csv_header header) {
  job_draft draft;
  draft.read_sections(std::get<toml_value::table>(parse_toml(text)), output);
  draft.fill_defaults(output);
  if (header == csv_header::automatic)
    draft.value.data.header = csv_header::automatic;
  return draft.value;
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
  auto proposal = proposal_for(facts, x);
  const auto output = output_of(x);
  auto text = proposed_job(facts, proposal, name_from(output, x.file), output);
  if (facts.is_whole && facts.row_count >= rows_for_look && facts.row_count <= rows_for_look_max) {
    auto linear = job_of(text, output, header);
    linear.model.hidden.clear();
    proposal.look.emplace(linear, proposal.has_classes);
    text = proposed_job(facts, proposal, name_from(output, x.file), output);
  }
  const auto warning = warning_of_loss(proposal, facts);
  if (output == "-") {
    print_message(warning);
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
  for (const auto& [kind, columns] : proposal.readings)
    for (const auto& [column, reason] : columns)
      report += "reads   " + shown_text(column) + " as " + printable_text(reason) + '\n';
  if (proposal.look)
    report += "looked  " + proposal.look->words() + '\n';
  if (!proposal.rare_class.empty())
    report += "rare    " + printable_text(proposal.rare_class) + '\n';
  if (!proposal.missing.empty())
    report += (proposal.drops_rows ? "drops   " : "fills   ") + proposal.missing + " rows" +
              (proposal.drops_rows ? "" : " by the mean") + '\n';
  if (!proposal.missing_texts.empty())
    report += "gaps    " + proposal.missing_texts + '\n';
  for (const auto& [column, why] : proposal.ignored)
    report += "without " + shown_text(column) + ": " + printable_text(why.reason) + '\n';
  print_result(report + "wrote   " + output + "; next: troupe train " + output + '\n');
  print_message(warning);
  return 0;
}

} // namespace

void add_init(CLI::App& app, init_arguments& x, std::function<int()>& chosen) {
  auto* init = app.add_subcommand("init", "Looks at a CSV file and writes a first job for it");
  init->add_option("file", x.file, "The file of rows")->required()->type_name("FILE");
  init->add_option("-o,--output", x.output, "The job to write; -: standard output")
    ->type_name("JOB");
  init->add_option("--target", x.target, "The column to learn, by name");
  init
    ->add_option("--date-order", x.date_order,
                 "What comes first in dates that can be read in two ways")
    ->check(CLI::IsMember({"day-first", "month-first"}));
  init->add_option("--header", x.header, "auto, yes or no");
  init->add_flag("--overwrite", x.overwrite, "Replaces a file that is there");
  init->footer("Example:\n  troupe init examples/data/iris.csv -o iris.toml");
  init->callback([&] { chosen = [&x] { return init_command(x); }; });
}

} // namespace troupe
