// Progress as Keras users know it: one line an epoch, redrawn in place on a terminal.
//
//   Epoch 3/20  120/120 [====================] 1.2 ms/step  loss 0.2310  accuracy 0.9300

#pragma once

#include "actors/run/train.hpp"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

namespace troupe {

struct progress_style {
  bool live = false;   ///< redrawn in place: the output is a terminal that can
  bool colour = false; ///< the bar is green
};

/// The line for `progress`, without line break. On a live terminal it takes fewer than `width`
/// columns: the bar shrinks and goes, then speed and time left, names become short ("acc"), the
/// count of steps goes, and last the figures, those of the test rows after all others.
std::string progress_line(const training_progress& progress, size_t width,
                          const progress_style& style);

/// How to write to `file`: live if it is a terminal and TERM is not "dumb"; in colour if live and
/// NO_COLOR is unset or empty.
progress_style style_for(std::FILE* file);

/// Columns of the terminal behind `file`, else COLUMNS, else 80.
size_t columns_of(std::FILE* file);

/// Writes progress to a file: on a live terminal one line that is redrawn in place, otherwise finished
/// epochs. Epochs may follow each other faster than people read. So the display writes the first and
/// the last, and of those between a few a second; on a terminal the others pass in one line.
class progress_display {
public:
  using moment = std::chrono::steady_clock::time_point;

  /// Between two lines that stay: four a second, in a log of an hour 14,400.
  static constexpr std::chrono::milliseconds line_interval{250};
  /// Between two drawings of one line: more than an eye follows.
  static constexpr std::chrono::milliseconds redraw_interval{50};

  progress_display(std::FILE* file, progress_style style) : file_(file), style_(style) {}
  ~progress_display() { end_line(); }
  progress_display(const progress_display&) = delete;
  progress_display& operator=(const progress_display&) = delete;

  void show(const training_progress& progress, moment now = std::chrono::steady_clock::now());

  /// Writes what is held back, leaves an unfinished line as it is and starts a new one.
  void end_line();

private:
  void write(moment now);
  void break_line();

  std::FILE* file_;
  progress_style style_;
  std::string waiting_;           ///< the newest line, while it is too early to write it
  bool ends_line_ = false;        ///< it is a finished epoch's
  std::optional<moment> written_; ///< when something was written
  std::optional<moment> broken_;  ///< when a line was ended
  bool line_open_ = false;
};

} // namespace troupe
