// The figures of a history row, one line each: their names in history.csv, and where TensorBoard
// shows them. Whoever writes, reads, sends, shows or compares rows walks this table, so a new figure is one
// member of result_figures and one line here.

#pragma once

#include "data/records/training_record.hpp"
#include "data/text/json_value.hpp"

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
  std::variant<double history_row::*, std::optional<double> result_figures::*, std::monostate>
    member;
  /// Of two runs the one with more of it is better; nothing where neither is.
  std::optional<bool> more_is_better = std::nullopt;

  std::optional<double> in(const history_row& row) const {
    const auto* always = std::get_if<double history_row::*>(&member);
    return always ? row.*(*always) : in(static_cast<const result_figures&>(row));
  }
  /// Nothing of what only a row has.
  std::optional<double> in(const result_figures& x) const {
    if (const auto* some = std::get_if<std::optional<double> result_figures::*>(&member))
      return x.*(*some);
    const auto found = x.metrics.find(name);
    return found != x.metrics.end() ? found->second : std::nullopt;
  }
  /// `value` may be absent only where the figure may.
  void set(history_row& row, std::optional<double> value) const {
    if (const auto* always = std::get_if<double history_row::*>(&member))
      row.*(*always) = value.value();
    else if (const auto* some = std::get_if<std::optional<double> result_figures::*>(&member))
      row.*(*some) = value;
    else
      row.metrics[name] = value;
  }
  bool may_be_absent() const { return member.index() != 0; }
  bool is_metric() const { return member.index() == 2; }
  /// Of test or validation rows.
  bool is_evaluated() const { return name.starts_with("test_") || validates(); }
  bool validates() const { return name.starts_with("validation_"); }
  /// "val_loss" of "validation_loss".
  std::string short_name() const { return validates() ? "val" + name.substr(10) : name; }
};

/// Those of every row, in the order of the columns, which follow `epoch` and `steps`.
std::span<const history_figure> common_figures();

/// The first of them, which have a place of their own in each row of a file. Later ones go by name, as a job's
/// metrics do: so files of before are read.
std::span<const history_figure> placed_figures();

/// One of those, or a job's metric.
history_figure figure_named(const std::string& name);

/// Behind these the metrics that one of the rows has, by name.
std::vector<history_figure> history_figures(std::span<const history_row> rows);
inline std::vector<history_figure> history_figures(const history_row& row) {
  return history_figures({&row, 1});
}

/// Those of validation rows, of test rows, and the job's metrics, as people read them.
std::vector<history_figure> evaluated_figures(const result_figures& x = {});

/// All figures of a row, by name; and back.
metric_figures figures_by_name(const history_row& row);
void set_figures(history_row& row, metric_figures figures);

/// `epoch`, `steps` and the figures, for JSON.
template <class Json>
Json row_object(const history_row& row) {
  Json result{{"epoch", row.epoch}, {"steps", row.steps}};
  for (const auto& figure : history_figures(row))
    result[figure.name] = json_of<Json>(figure.in(row));
  return result;
}

} // namespace troupe
