#include "data/formats/read_data.hpp"

#include "data/formats/arrays/array_header.hpp"
#include "data/formats/arrays/read_array.hpp"
#include "data/rows_file/rows_header.hpp"
#include "data/source/text_source.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/rounding.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

/// Enough to see a first row of text.
constexpr size_t start_bytes_max = 4096;

std::string start_of(const std::string& path) {
  text_source source(path);
  std::string result(start_bytes_max, '\0');
  size_t size = 0;
  while (size < result.size()) {
    const auto count = source.read(std::span(result).subspan(size));
    if (count == 0)
      break;
    size += count;
  }
  result.resize(size);
  return result;
}

/// "7 1:0.5 .." : the second word of the first row is digits, a colon and more.
bool looks_like_libsvm(std::string_view text) {
  while (text.starts_with('#'))
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  const auto line = text.substr(0, text.find_first_of("\r\n"));
  const auto blank = line.find_first_of(" \t");
  const auto second = line.find_first_not_of(" \t", blank);
  if (blank == line.npos || second == line.npos || line.find(',') < second)
    return false;
  const auto colon = line.find_first_not_of("0123456789", second);
  return colon != line.npos && colon > second && line[colon] == ':';
}

/// Rows of text with something that separates cells; the CSV reader says what is wrong with it.
bool looks_like_csv(std::string_view text) {
  return text.find('\0') == text.npos && text.find_first_of(",;\t") != text.npos;
}

std::optional<file_format> format_by_content(std::string_view start) {
  if (looks_like_npy(start))
    return file_format::npy;
  if (looks_like_idx(start))
    return file_format::idx;
  if (looks_like_safetensors(start))
    return file_format::rows;
  if (looks_like_libsvm(start))
    return file_format::libsvm;
  // The CSV reader has the right words for empty files and for UTF-16.
  if (start.empty() || start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff") ||
      looks_like_csv(start))
    return file_format::csv;
  return std::nullopt;
}

/// What is often taken for a table of text, by its first bytes.
struct foreign_format {
  std::string_view start;
  std::string_view name;
  std::string_view hint;
};

constexpr std::string_view as_csv = "write the table as CSV";
constexpr std::string_view as_gzip = "unpack it; compressed files are read if gzip made them";

constexpr foreign_format foreign_formats[] = {
  {"PK\x03\x04", "a zip file, or a spreadsheet, which is one", "unpack it, or save it as CSV"},
  {"PAR1", "a Parquet file", as_csv},
  {"ARROW1", "an Arrow file", as_csv},
  {"\x89HDF", "an HDF5 file", as_csv},
  {"SQLite format 3", "a database", as_csv},
  {"\xd0\xcf\x11\xe0", "an old spreadsheet", "save it as CSV"},
  {"%PDF", "a PDF file", as_csv},
  {"\x80\x04\x95", "a Python pickle", as_csv},
  {"<!DOCTYPE", "a web page", "was it downloaded from the right address?"},
  {"<html", "a web page", "was it downloaded from the right address?"},
  {"BZh", "compressed by bzip2", as_gzip},
  {"\xfd\x37zXZ", "compressed by xz", as_gzip},
  {"\x28\xb5\x2f\xfd", "compressed by zstd", as_gzip},
  {"7z\xbc\xaf", "a 7z file", as_gzip},
};

void refuse_foreign(const std::string& path, std::string_view start) {
  for (const auto& [bytes, name, hint] : foreign_formats)
    if (start.starts_with(bytes))
      throw failure(failure_code::bad_data, "this is " + std::string{name} + ", no table of text",
                    path, std::string{hint});
}

/// A name of ours is no promise that the file keeps.
bool looks_like_json(std::string_view start) {
  const auto first = start.find_first_not_of(" \t\r\n");
  return first != start.npos &&
         (start.substr(first).starts_with("{") || start.substr(first).starts_with("[{") ||
          start.substr(first).starts_with("[["));
}

bool is_regular(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

void refuse_labels(const std::string& path, const read_options& options, std::string_view format) {
  if (!options.labels_file.empty())
    throw failure(failure_code::bad_data,
                  std::string(format) + " files hold their targets themselves, but " +
                    shown_text(options.labels_file) + " is named as the file of the labels",
                  path, "leave labels_file out");
}

/// Prose has commas too: where the file is called a text, people are told what it may be.
table read_guessed_csv(const std::string& path, const csv_options& options) {
  try {
    return read_csv(path, options);
  } catch (const failure& error) {
    if (error.code() != failure_code::bad_data ||
        !(path.ends_with(".txt") || path.ends_with(".txt.gz")))
      throw;
    throw failure(error.code(), error.reason(), error.where(),
                  error.hint() + (error.hint().empty() ? "" : "; ") +
                    "or is it a text for a model of characters? data.format = \"text\"");
  }
}

} // namespace

std::optional<file_format> format_by_name(const std::string& path) {
  std::string_view name = path;
  name.remove_prefix(name.rfind('/') + 1);
  if (name.ends_with(".gz"))
    name.remove_suffix(3);
  const auto has_ending = [&](std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](std::string_view ending) { return name.ends_with(ending); });
  };
  if (has_ending({".csv", ".CSV"}))
    return file_format::csv;
  if (has_ending({".svm", ".svmlight", ".libsvm"}))
    return file_format::libsvm;
  if (has_ending({".idx", "-ubyte"}))
    return file_format::idx;
  if (has_ending({".npy"}))
    return file_format::npy;
  if (has_ending({".safetensors"}))
    return file_format::rows;
  return std::nullopt;
}

file_format format_of(const std::string& path) {
  const auto named = format_by_name(path);
  if (std::filesystem::exists(path) && !is_regular(path))
    return named.value_or(file_format::csv);
  const auto start = start_of(path);
  refuse_foreign(path, start);
  if (named)
    return *named;
  if (looks_like_json(start))
    throw failure(failure_code::bad_data, "this is JSON, no table of text", path,
                  std::string{as_csv});
  if (const auto found = format_by_content(start))
    return *found;
  throw failure(
    failure_code::bad_data,
    "the file's format cannot be told from its name, and it begins with " + shown_text(start), path,
    "say what it is: data.format = \"csv\", \"libsvm\", \"idx\", \"npy\", \"rows\", or \"text\" "
    "for a "
    "model of characters");
}

table read_data(const std::string& path, const read_options& options) {
  const default_rounding rounding;
  const bool is_guess = options.format == file_format::by_name;
  const auto format = is_guess ? format_of(path) : options.format;
  for (const auto& [column, use] :
       {std::pair{&options.client, " is to say whose a row is"},
        std::pair{&options.weight, " is to say what a row counts"},
        std::pair{&options.split_by, " is to say which rows stay together"}})
    if (!column->empty() && format != file_format::csv)
      throw failure(failure_code::bad_data,
                    "the column " + shown_text(*column) + use + ", but the file is no CSV file",
                    path, "write the rows as CSV");
  if (!options.ignore.empty() && format != file_format::csv)
    throw failure(failure_code::bad_data,
                  "the column " + shown_text(options.ignore.front()) +
                    " is to be ignored, but the file is no CSV file",
                  path, "leave data.ignore out, or write the rows as CSV");
  if ((options.has_plan() || !options.plan.empty()) && format != file_format::csv)
    throw failure(
      failure_code::bad_data,
      "cells are to be read as categories, dates or the like, or may be missing, but the file is "
      "no "
      "CSV file",
      path, "leave data.categorical, boolean, date and missing out, or write the rows as CSV");
  switch (format) {
  case file_format::csv:
    refuse_labels(path, options, "CSV");
    return is_guess ? read_guessed_csv(path, options) : read_csv(path, options);
  case file_format::libsvm:
    refuse_labels(path, options, "libsvm");
    return read_libsvm(path, options.libsvm);
  case file_format::text:
    refuse_labels(path, options, "text");
    return read_text(path, options.text);
  case file_format::rows:
    throw std::invalid_argument("read_data: a file of rows is no table");
  default:
    return read_array(path, {options.labels_file, options.target});
  }
}

namespace {

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty())
    return name.empty();
  if (pattern.front() == '*')
    return matches(pattern.substr(1), name) || (!name.empty() && matches(pattern, name.substr(1)));
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         matches(pattern.substr(1), name.substr(1));
}

void require_same_columns(const table& all, const table& next) {
  if (!next.classes.empty())
    throw failure(failure_code::bad_data,
                  "a text has a vocabulary of its own, and a code would be another character in "
                  "each client's file",
                  next.source, "deal one text out: federated.partition = \"iid\"");
  if (!next.sparse.exists() && next.feature_names == all.feature_names &&
      next.target_name == all.target_name)
    return;
  throw failure(failure_code::bad_data,
                next.sparse.exists()
                  ? std::string{"the rows of clients are dense, these are sparse"}
                  : "the columns are not those of " + shown_text(all.source),
                next.source, "give all clients' files the same columns, in the same order");
}

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Where targets are text is known of the first file that has any.
void append_rows(table& all, table&& next) {
  const bool are_numbers =
    all.target_numbers.size() == all.row_count && next.target_numbers.size() == next.row_count;
  if (all.first_text_line == 0 && next.first_text_line > 0) {
    all.source = next.source;
    all.first_text_line = next.first_text_line;
    all.first_text_cell = next.first_text_cell;
  }
  append(all.features, std::move(next.features));
  append(all.target_cells, std::move(next.target_cells));
  append(all.target_numbers, std::move(next.target_numbers));
  if (!are_numbers)
    all.target_numbers.clear();
  all.row_count += next.row_count;
}

} // namespace

std::vector<std::string> matching_files(const std::string& pattern) {
  const std::filesystem::path path{pattern};
  const auto folder = path.parent_path();
  const auto names = path.filename().string();
  std::vector<std::string> result;
  std::error_code problem;
  for (const auto& entry :
       std::filesystem::directory_iterator{folder.empty() ? "." : folder, problem}) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with('.') && matches(names, name))
      result.push_back((folder / name).string());
  }
  if (result.empty())
    throw failure(failure_code::missing_input, "no file is called so", pattern,
                  "* stands for any letters of a file's name, not of its folder's");
  std::ranges::sort(result);
  return result;
}

table read_client_files(const std::string& pattern, const read_options& options) {
  table result;
  const auto files = matching_files(pattern);
  for (size_t client = 0; client < files.size(); ++client) {
    auto next = read_data(files[client], options);
    const auto row_count = next.row_count;
    if (client == 0) {
      require_same_columns(next, next);
      result = std::move(next);
    } else {
      require_same_columns(result, next);
      append_rows(result, std::move(next));
    }
    result.clients.insert(result.clients.end(), row_count, static_cast<uint32_t>(client));
    result.client_names.push_back(std::filesystem::path{files[client]}.filename().string());
  }
  return result;
}

} // namespace troupe
