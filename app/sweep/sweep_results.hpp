// What trials of a search came to, read from their run folders, and the tables and files made of that.

#pragma once

#include "troupe/app/compare/run_record.hpp"
#include "troupe/app/sweep/sweep_trials.hpp"
#include "troupe/coordinators/sweep/sweep_rule.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// "001": the folder of a trial within the search's, counted from 1.
std::string trial_folder_name(size_t trial);

/// The trial's run; nothing when there is none, or one that came to write nothing. Throws as read_run does.
std::optional<run_record> read_trial(const std::string& folder);

/// It would do so again.
bool has_diverged(const run_record& x);
/// Whether the run has got so far, or was ended before by a rule of its own.
bool has_reached(const run_record& x, uint64_t epochs);
/// The row that searches judge by: of those up to so many epochs the last with a watched loss, and of a run that keeps
/// its best version the one with the least. Watched are the validation rows, else the test rows, else training.
const history_row* judged_row(const run_record& x, uint64_t epochs);
std::optional<double> loss_at(const run_record& x, uint64_t epochs);

struct sweep_outcome {
  std::vector<trial_values> trials;
  std::vector<std::optional<run_record>> runs;
  sweep_rule rule;
};

/// {"trial": 1, "state": .., "values": {..}, "loss": .., ..}: figures that are not there are null, or not told.
nlohmann::ordered_json trial_object(const sweep_outcome& x, size_t trial);

/// Rows of cells, the first of names: for people, with long hashes cut; and as CSV.
using table_cells = std::vector<std::vector<std::string>>;
std::string cells_text(table_cells rows);
std::string cells_csv(const table_cells& rows);
std::string cell_text(const nlohmann::ordered_json& x);
/// Without columns that have a name alone.
table_cells without_empty_columns(table_cells rows);

/// A table for people, the best first; JSON: {"trials": [...], "best": number or null}; and sweep.csv.
std::string sweep_text(const sweep_outcome& x);
nlohmann::ordered_json sweep_object(const sweep_outcome& x);
std::string sweep_csv(const sweep_outcome& x);

} // namespace troupe
