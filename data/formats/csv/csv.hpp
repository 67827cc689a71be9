// Reads CSV files (RFC 4180), plain or gzip, into a table: numbers in every column but the target.
//
// Cells are separated by commas and may stand in quotation marks; blanks around cells without them
// do not count. Lines end in LF or CR LF, the last one in either or nothing; the text is UTF-8,
// with or without byte order mark. Empty lines at the end are ignored, anywhere else they are an
// error. Points are points whatever the locale.
//
// A file is read once, front to back, and only the table is kept: about 4 bytes a feature cell.
// Nothing is guessed and nothing is left out: a cell that cannot be read ends the reading with its
// line, column and name, and with advice.

#pragma once

#include "data/formats/csv/csv_options.hpp"
#include "data/table/table.hpp"

#include <string>

namespace troupe {

/// Reads the file at `path`.
///
/// Feature cells, quoted or not, are finite decimal numbers that fit a float32. Target cells are
/// any text but not empty; an unquoted "nan", "inf" or number too large for a double is an error
/// there too, because it would silently turn numbers into labels. Without a header, and where its
/// cell is empty, a column's name is its 0-based index.
///
/// Throws failure: bad_data with where = "path:line:column" (both from 1; the column counts
/// characters); what text_source throws. std::bad_alloc when the table does not fit in memory.
table read_csv(const std::string& path, const csv_options& options = {});

} // namespace troupe
