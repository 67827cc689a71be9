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
/// The loss that searches judge by, of the last row up to so many epochs: of validation rows, else of test rows,
/// else of training.
std::optional<double> loss_at(const run_record& x, uint64_t epochs);

struct sweep_outcome {
  std::vector<trial_values> trials;
  std::vector<std::optional<run_record>> runs;
  sweep_rule rule;
};

/// A table for people, the best first; JSON: {"trials": [...], "best": number or null}; and sweep.csv.
std::string sweep_text(const sweep_outcome& x);
nlohmann::ordered_json sweep_object(const sweep_outcome& x);
std::string sweep_csv(const sweep_outcome& x);

} // namespace troupe
