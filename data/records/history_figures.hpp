// The figures of a history row, one line each: their names in history.csv, and where TensorBoard
// shows them. Whoever writes, reads, shows or compares rows walks this table, so a new figure is one
// member of history_row and one line here.

#pragma once

#include "troupe/data/records/training_record.hpp"

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

struct history_figure {
  std::string name; ///< the column of history.csv
  std::string tag;  ///< the scalar's name in TensorBoard; empty: not shown there
  /// The last: a metric of the job's, by its name.
  std::variant<double history_row::*, std::optional<double> history_row::*, std::monostate> member;
  /// Of two runs the one with more of it is better; nothing where neither is.
  std::optional<bool> more_is_better = std::nullopt;

  std::optional<double> in(const history_row& row) const {
    if (const auto* always = std::get_if<double history_row::*>(&member))
      return row.*(*always);
    if (const auto* some = std::get_if<std::optional<double> history_row::*>(&member))
      return row.*(*some);
    const auto found = row.metrics.find(name);
    return found != row.metrics.end() ? found->second : std::nullopt;
  }
  /// `value` may be absent only where the figure may.
  void set(history_row& row, std::optional<double> value) const {
    if (const auto* always = std::get_if<double history_row::*>(&member))
      row.*(*always) = value.value();
    else if (const auto* some = std::get_if<std::optional<double> history_row::*>(&member))
      row.*(*some) = value;
    else
      row.metrics[name] = value;
  }
  bool may_be_absent() const { return member.index() != 0; }
};

/// Those of every row, in the order of the columns, which follow `epoch` and `steps`.
std::span<const history_figure> common_figures();

/// A metric's, as a job names it.
history_figure metric_figure(const std::string& name);

/// Behind these the metrics that one of the rows has, by name.
std::vector<history_figure> history_figures(std::span<const history_row> rows);
inline std::vector<history_figure> history_figures(const history_row& row) {
  return history_figures({&row, 1});
}

} // namespace troupe
