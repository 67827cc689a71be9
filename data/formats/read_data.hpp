// One door to all readers: finds out what a data file is and reads it into a table.
//
// What the caller says counts; else the name's ending (.csv, .svm, .svmlight, .libsvm, .idx, .npy,
// and MNIST's "-ubyte", each also with .gz behind it); else the first bytes of the file. That a file is read
// as text, character by character, has to be said.

#pragma once

#include "data/formats/csv/csv.hpp"
#include "data/formats/libsvm/libsvm.hpp"
#include "data/formats/text/read_text.hpp"
#include "data/table/table.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Beside what a CSV file is read by; its `target` also counts for arrays without a file of labels.
struct read_options : csv_options {
  file_format format = file_format::by_name;
  libsvm_options libsvm = {};
  std::string labels_file; ///< arrays; empty: by name (read_array.hpp)
  text_options text = {};
};

/// The format that the name of a file promises; nothing when it promises none.
std::optional<file_format> format_by_name(const std::string& path);

/// The format of the file at `path`, by name or else by content. A pipe is not looked into, because
/// what was read of it would be lost: without a telling name it is CSV.
///
/// Throws failure(bad_data), quoting the first bytes, when they look like none of the formats; what
/// text_source throws.
file_format format_of(const std::string& path);

/// Reads the file, unless it is one of rows (data/rows_file), which needs no table: that throws
/// std::invalid_argument. Throws what the reader of its format throws; failure(bad_data) when the caller
/// names labels for a format that has its own.
table read_data(const std::string& path, const read_options& options = {});

// Rows in many files, each of which is one client's: a table of all of them.

/// Files that the pattern names, sorted by bytes: `*` in its last part stands for any letters, also for
/// none, `?` for one. Names that begin with a point are passed over. Throws failure(missing_input) when
/// there is none.
std::vector<std::string> matching_files(const std::string& pattern);

/// The rows of all these files, one file behind the other; each file is a client, called by its name.
/// Throws what read_data throws, and failure(bad_data), naming the file, where columns are not those of the
/// first one, or rows are sparse.
table read_client_files(const std::string& pattern, const read_options& options);

} // namespace troupe
