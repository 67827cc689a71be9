// Progress as Keras users know it: one line an epoch, redrawn in place on a terminal.
//
//   Epoch 3/20  120/120 [====================] 1.2 ms/step  loss 0.2310  accuracy 0.9300

#pragma once

#include "troupe/actors/train.hpp"

#include <cstddef>
#include <cstdio>
#include <string>

namespace troupe {

struct progress_style {
  bool live = false;   ///< redrawn in place: the output is a terminal that can
  bool colour = false; ///< the bar is green
};

/// The line for `progress`, without line break. On a live terminal it takes fewer than `width`
/// columns: the bar shrinks first, then figures are left out from the end.
std::string progress_line(const training_progress& progress, size_t width,
                          const progress_style& style);

/// How to write to `file`: live if it is a terminal and TERM is not "dumb"; in colour if live and
/// NO_COLOR is unset or empty.
progress_style style_for(std::FILE* file);

/// Columns of the terminal behind `file`, else COLUMNS, else 80.
size_t columns_of(std::FILE* file);

/// Writes progress to a file: each message on a live terminal, otherwise only finished epochs.
class progress_display {
public:
  progress_display(std::FILE* file, progress_style style) : file_(file), style_(style) {}
  ~progress_display() { end_line(); }
  progress_display(const progress_display&) = delete;
  progress_display& operator=(const progress_display&) = delete;

  void show(const training_progress& progress);

  /// Leaves an unfinished line as it is and starts a new one.
  void end_line();

private:
  std::FILE* file_;
  progress_style style_;
  bool line_open_ = false;
};

} // namespace troupe
