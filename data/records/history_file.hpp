// history.csv: one line an epoch, for spreadsheets and plotting scripts.

#pragma once

#include "data/records/history_figures.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The columns of a history that not every history has, in their order behind the others.
struct history_columns {
  bool has_hashes = false; ///< of the versions (models/base/version_hash.hpp)
  std::vector<history_figure> metrics;
};

/// CSV with a header of the fields' names. A figure that was not measured is an empty cell; numbers
/// have the fewest digits that read back as the same double ("nan" and "inf" for what is not
/// finite).
std::string history_text(const std::vector<history_row>& rows);

/// Reads what `history_text` wrote; a last line without its end is left out: it may be half of one.
/// `path` is for messages. Throws failure(bad_data), with the line, when it is no such table.
std::vector<history_row> read_history(std::string_view text, const std::string& path);

/// history.csv while a run lasts: each row is in the file as soon as it is there, so that others
/// may read along. What was written when is no promise: `history_text` of all rows, written at the
/// end, is the file.
class history_writer {
public:
  /// Replaces the file at `path` by one of `rows`: those of a run that goes on. Throws as
  /// write_file_atomically does.
  history_writer(std::string path, std::vector<history_row> rows);

  /// Adds a row; one of a version that was left behind (steps done once more) replaces all from
  /// there on, whole or not at all. Throws failure(io_error) or as write_file_atomically does.
  void add(const history_row& row);

private:
  void rewrite();
  void append(const history_row& row) const;

  std::string path_;
  std::vector<history_row> rows_;
  history_columns columns_; ///< the file's
};

} // namespace troupe
