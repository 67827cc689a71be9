#include "troupe/app/sweep/sweep_results.hpp"

#include "troupe/app/compare/comparison.hpp"
#include "troupe/data/run_folder/run_directory.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

constexpr std::array<const char*, 6> names_of_states{"waiting", "running", "standing",
                                                     "dropped", "done",    "failed"};

const char* name_of(trial_state x) {
  return names_of_states.at(static_cast<size_t>(x));
}

json number(const std::optional<double>& x) {
  return x ? json(*x) : json(nullptr);
}

// One kind for all rows of a run: rows that are not evaluated have a training loss alone.
std::optional<double> history_row::*watched_of(const run_record& x) {
  for (const auto loss : {&history_row::validation_loss, &history_row::test_loss})
    if (std::ranges::any_of(x.history, [&](const auto& row) { return (row.*loss).has_value(); }))
      return loss;
  return &history_row::train_loss;
}

} // namespace

json trial_object(const sweep_outcome& x, size_t trial) {
  const auto& run = x.runs[trial];
  const auto* row = run ? row_of_result(*run) : nullptr;
  json values = json::object();
  for (const auto& [key, value] : x.trials[trial])
    values[key] = value;
  json result{{"trial", trial + 1},
              {"state", name_of(x.rule.state(trial))},
              {"values", values},
              {"loss", number(x.rule.loss(trial))},
              {"epochs", row ? row->epoch : 0}};
  if (run && run->summary) {
    const auto& summary = run->summary;
    result["steps"] = summary->steps;
    result["seconds"] = summary->seconds;
    result["validation_accuracy"] = number(summary->validation_accuracy);
    result["test_accuracy"] = number(summary->test_accuracy);
    result["test_r2"] = number(summary->test_r2);
    result["parameters_sha256"] = summary->parameters_sha256;
  }
  return result;
}

namespace {

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\n\r") == std::string::npos)
    return cell;
  std::string result = "\"";
  for (const char c : cell)
    result += c == '"' ? "\"\"" : std::string{c};
  return result + '"';
}

/// Columns that no trial has anything in are left out.
table_cells cells_of(const sweep_outcome& x) {
  const std::array<const char*, 9> figures{"state",         "loss",    "epochs",
                                           "steps",         "seconds", "validation_accuracy",
                                           "test_accuracy", "test_r2", "parameters_sha256"};
  table_cells rows{{"trial"}};
  for (const auto& [key, value] : x.trials.front())
    rows.front().push_back(key);
  rows.front().insert(rows.front().end(), figures.begin(), figures.end());
  for (const auto trial : x.rule.ranking()) {
    const auto object = trial_object(x, trial);
    rows.push_back({std::to_string(trial + 1)});
    for (const auto& [key, value] : x.trials[trial])
      rows.back().push_back(value);
    for (const auto* figure : figures)
      rows.back().push_back(object.contains(figure) ? cell_text(object[figure]) : "");
  }
  return without_empty_columns(std::move(rows));
}

} // namespace

std::string cell_text(const json& x) {
  return x.is_null() ? "" : x.is_string() ? x.get<std::string>() : x.dump();
}

table_cells without_empty_columns(table_cells rows) {
  for (size_t column = rows.front().size(); column-- > 0;)
    if (std::ranges::all_of(rows.begin() + 1, rows.end(),
                            [&](const auto& row) { return row[column].empty(); }))
      for (auto& row : rows)
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  return rows;
}

std::string trial_folder_name(size_t trial) {
  auto result = std::to_string(trial + 1);
  return std::string(result.size() < 3 ? 3 - result.size() : 0, '0') + result;
}

std::optional<run_record> read_trial(const std::string& folder) {
  std::error_code ignored;
  for (const auto name : {job_file_name, identity_file_name})
    if (!std::filesystem::exists(std::filesystem::path{folder} / name, ignored))
      return std::nullopt;
  return read_run(folder);
}

bool has_diverged(const run_record& x) {
  return x.summary && x.summary->stopped_by == "diverged";
}

bool has_reached(const run_record& x, uint64_t epochs) {
  if (!x.summary || x.summary->stopped_by == "interrupt" || has_diverged(x))
    return false;
  const bool by_rule = x.summary->stopped_by != "epochs" && x.summary->stopped_by != "steps";
  return by_rule || (!x.history.empty() && x.history.back().epoch >= epochs);
}

const history_row* judged_row(const run_record& x, uint64_t epochs) {
  const auto loss = watched_of(x);
  const bool keeps_best = x.summary && x.summary->best_version;
  auto least = std::numeric_limits<double>::infinity();
  const history_row* result = nullptr;
  for (const auto& row : x.history)
    if (row.epoch <= epochs && row.*loss && (!keeps_best || *(row.*loss) < least)) {
      least = *(row.*loss);
      result = &row;
    }
  return result;
}

std::optional<double> loss_at(const run_record& x, uint64_t epochs) {
  const auto* row = judged_row(x, epochs);
  return row ? row->*watched_of(x) : std::nullopt;
}

std::string cells_text(table_cells rows) {
  for (auto& row : rows) // the whole hash is in the files
    for (auto& cell : row)
      if (cell.size() == 64)
        cell.resize(12);
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string result;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      result +=
        row[i] + (i + 1 < row.size() ? std::string(widths[i] - row[i].size() + 2, ' ') : "");
    result += '\n';
  }
  return result;
}

std::string sweep_text(const sweep_outcome& x) {
  return cells_text(cells_of(x));
}

json sweep_object(const sweep_outcome& x) {
  json result{{"trials", json::array()}, {"best", nullptr}};
  for (const auto trial : x.rule.ranking())
    result["trials"].push_back(trial_object(x, trial));
  if (const auto best = x.rule.ranking().front(); x.rule.loss(best))
    result["best"] = best + 1;
  return result;
}

std::string cells_csv(const table_cells& rows) {
  std::string result;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      result += (i == 0 ? "" : ",") + quoted(row[i]);
    result += '\n';
  }
  return result;
}

std::string sweep_csv(const sweep_outcome& x) {
  return cells_csv(cells_of(x));
}

} // namespace troupe
