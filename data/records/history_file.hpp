// history.csv, one line an epoch, and rounds.csv, one line a federated round: for spreadsheets and plotting scripts.

#pragma once

#include "data/records/history_figures.hpp"
#include "models/training/round_record.hpp"

#include <cstdint>
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

// rounds.csv only grows; a run that goes on from a version takes back what lies beyond it.

/// CSV with a header of the fields' names; numbers have the fewest digits that read back as the same
/// double. A round that counted nobody has empty cells where its figures would be, and so has a private
/// one: its number, whether it was void and the epsilon so far are all that is told of it.
std::string rounds_text(const std::vector<round_record>& rounds);

/// Reads what `rounds_text` wrote; a last line without its end is left out: it may be half of one.
/// `path` is for messages. Throws failure(bad_data), with the line, when it is no such table.
std::vector<round_record> read_rounds(std::string_view text, const std::string& path);

/// rounds.csv while a run lasts: each round is in the file as soon as it is told.
class rounds_writer {
public:
  /// Of a run that begins at `version`: of a file at `path` the rounds up to it stay, 0 for none.
  /// Throws as write_file_atomically does.
  rounds_writer(std::string path, uint64_t version);

  /// Adds rounds, in order. Where the first of them is not beyond those that are there (they were
  /// done once more after a loss), it replaces all from there on. Throws failure(io_error), or as
  /// write_file_atomically does.
  void add(const std::vector<round_record>& rounds);

private:
  void cut_back(uint64_t version);

  std::string path_;
  uint64_t last_ = 0; ///< round in the file
};

} // namespace troupe
