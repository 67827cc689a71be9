// The figures of a history row, one line each: their names in history.csv, and where TensorBoard
// shows them. Whoever writes, reads, shows or compares rows walks this table, so a new figure is one
// member of history_row and one line here.

#pragma once

#include "troupe/data/records/training_record.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace troupe {

struct history_figure {
  std::string_view name; ///< the column of history.csv
  std::string_view tag;  ///< the scalar's name in TensorBoard; empty: not shown there
  std::variant<double history_row::*, std::optional<double> history_row::*> member;
  /// Of two runs the one with more of it is better; nothing where neither is.
  std::optional<bool> more_is_better = std::nullopt;

  std::optional<double> in(const history_row& row) const {
    return std::visit([&](auto m) -> std::optional<double> { return row.*m; }, member);
  }
  /// `value` may be absent only where the figure may.
  void set(history_row& row, std::optional<double> value) const {
    if (const auto* always = std::get_if<double history_row::*>(&member))
      row.*(*always) = value.value();
    else
      row.*(std::get<std::optional<double> history_row::*>(member)) = value;
  }
  bool may_be_absent() const { return member.index() == 1; }
};

/// In the order of the columns, which follow `epoch` and `steps`.
std::span<const history_figure> history_figures();

} // namespace troupe
