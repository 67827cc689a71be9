// Lets whoever asked for data end the reading of them: files may be large, and a pipe may stay
// silent for ever.
//
//   reading_stop stop{[] { return user_is_gone(); }};
//   auto rows = read_data("rows.csv");   // throws failure(interrupted) soon after the user left
//
// Every reader takes its bytes from a text_source, which asks between pieces and while it waits; so
// no reader has to be told.

#pragma once

#include <functional>

namespace troupe {

/// Holds for the thread that makes it, while it lives; an inner one hides an outer one.
class reading_stop {
public:
  /// `requested` may be empty: then nothing ends the reading.
  explicit reading_stop(std::function<bool()> requested);
  ~reading_stop();
  reading_stop(const reading_stop&) = delete;
  reading_stop& operator=(const reading_stop&) = delete;

  /// Throws failure(interrupted) when this thread's reading is to end.
  static void check();

private:
  std::function<bool()> requested_;
  const reading_stop* outer_;
};

} // namespace troupe
