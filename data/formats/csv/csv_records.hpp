// The two lower layers of the CSV reader: a file's records, and a record's cells. Readers of other
// texts use the records with `quote_rule::plain`: then each is one line.
//
// A record is one line, or several when a quoted cell holds line breaks. Within RFC 4180 nothing is
// guessed: a quotation mark stands around a whole cell or, doubled, inside a quoted one, so a
// record is whole exactly when its quotation marks are even in number. One record at a time is in
// memory.

#pragma once

#include "data/formats/csv/csv_options.hpp"
#include "data/source/text_source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct csv_record {
  std::string_view text;    ///< without its line end; valid until the next record is read
  size_t line = 0;          ///< of its first byte, counted from 1
  bool has_quotes = false;  ///< a quotation mark somewhere
  bool starts_file = false; ///< the first record of the file
};

struct csv_cell {
  std::string_view text; ///< trimmed, or unquoted; valid until the next cell is read
  size_t offset = 0;     ///< in the record: of its first byte that is not blank, or of its end
  bool quoted = false;
};

enum class quote_rule : uint8_t {
  csv,   ///< line ends between quotation marks belong to the record
  plain, ///< a quotation mark is a letter like any other
};

/// Whether `letter` is a blank around a cell: a space or a tab.
constexpr bool is_blank(char letter) {
  return letter == ' ' || letter == '\t';
}

class csv_records {
public:
  /// Opens the file; `record_bytes_max` bounds one record, hence the memory. Throws what
  /// text_source throws.
  csv_records(const std::string& path, size_t record_bytes_max, quote_rule quotes = quote_rule::csv,
              const csv_dialect& dialect = {});

  const csv_dialect& dialect() const noexcept { return dialect_; }

  /// Reads the next record; false at the end of the file. An empty line is an empty record, a line of comment none.
  ///
  /// Throws failure(bad_data) for UTF-16 text, a NUL byte, a carriage return inside a line and a
  /// record that is too long; what text_source throws.
  bool next(csv_record& out);

  /// The lines that are in memory whole, with their line ends: nothing at the end of the file, when
  /// the last line has no end, or when the next one is too long. At least `padding_bytes` behind
  /// them may be read, whatever they hold. Valid until the next call but `skip_lines`.
  std::string_view lines_at_hand();

  /// Passes over the first `bytes` bytes of them: `line_count` whole lines that the caller has
  /// read.
  void skip_lines(size_t bytes, size_t line_count);

  /// Bytes of the whole text, as far as can be told (text_source::expected_size).
  uint64_t expected_size() const noexcept { return source_.expected_size(); }

  /// Of the next record, counted from 1.
  size_t line() const noexcept { return line_; }

  static constexpr size_t padding_bytes = 16;

  /// Throws failure(bad_data) that names file, line and column of a byte of `record`. Columns are
  /// counted in characters, from 1.
  [[noreturn]] void fail_at(const csv_record& record, size_t offset, std::string reason,
                            std::string hint) const;

private:
  bool fill();
  void pass_over_line();
  void check_encoding();
  size_t line_end(size_t from);
  void check(const csv_record& record, bool whole) const;
  size_t available() const { return end_ - begin_; }
  const char* data() const { return buffer_.data() + begin_; }

  text_source source_;
  size_t record_bytes_max_;
  quote_rule quotes_;
  csv_dialect dialect_;
  std::vector<char> buffer_;
  size_t begin_ = 0; ///< of what is left in the buffer
  size_t end_ = 0;
  size_t line_ = 1;           ///< of the next record
  bool at_file_start_ = true; ///< no record has been given out
  bool at_file_end_ = false;  ///< the source has no more
};

/// The cells of one record, in order.
class csv_cells {
public:
  csv_cells(const csv_records& source, const csv_record& record)
    : source_(source),
      record_(record),
      separator_(source.dialect().separator),
      quote_(source.dialect().quote) {}

  /// Reads the next cell; false after the last. A record with n commas has n + 1 cells.
  ///
  /// Throws failure(bad_data) for a quotation mark that is never closed (naming where it stands),
  /// for one inside an unquoted cell, and for text after a closing one.
  bool next(csv_cell& out);

private:
  void next_unquoted(csv_cell& out);
  void next_quoted(csv_cell& out);
  size_t skip_blanks(size_t from) const;

  const csv_records& source_;
  const csv_record& record_;
  char separator_;
  char quote_;
  size_t at_ = 0;         ///< offset of the next cell; past the end after the last
  std::string unescaped_; ///< of a quoted cell with doubled quotation marks
};

/// What to do about text where a feature's number should be. In row 1 it is most often a header
/// that was not seen as one; in a column that nobody chose as target it may be the target.
/// `column`: empty where the features are another's choice, so that none can be left out.
std::string hint_for_text(bool may_be_header, const std::string& column, bool may_be_target,
                          std::string_view cell);

} // namespace troupe
