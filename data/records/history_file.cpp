#include "data/records/history_file.hpp"

#include "data/disk/atomic_file.hpp"
#include "data/records/cell_reader.hpp"
#include "data/records/history_figures.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

std::string number(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

std::string cell(const std::optional<double>& value) {
  return value ? number(*value) : std::string{};
}

// Hexadecimal, the high half first; nothing for what was not hashed.
std::string cell(const hash_sum& value) {
  if (value == hash_sum{})
    return {};
  std::array<char, 33> digits{};
  std::snprintf(digits.data(), digits.size(), "%016" PRIx64 "%016" PRIx64, value.high, value.low);
  return digits.data();
}

/// What stands behind a row's figures.
constexpr std::string_view hash_columns = ",parameters_hash,state_hash";

std::string common_header() {
  std::string result = "epoch,steps";
  for (const auto& figure : placed_figures())
    result += ',' + figure.name;
  return result;
}

std::string header(const history_columns& columns) {
  auto result = common_header();
  if (columns.has_hashes)
    result += hash_columns;
  for (const auto& figure : columns.metrics)
    result += ',' + figure.name;
  return result + '\n';
}

std::string line_of(const history_row& row, const history_columns& columns) {
  auto result = std::to_string(row.epoch) + ',' + std::to_string(row.steps);
  for (const auto& figure : placed_figures())
    result += ',' + cell(figure.in(row));
  const auto hash = row.hash.value_or(version_hash{});
  if (columns.has_hashes)
    result += ',' + cell(hash.parameters) + ',' + cell(hash.state);
  for (const auto& figure : columns.metrics)
    result += ',' + cell(figure.in(row));
  return result + '\n';
}

history_columns columns_of(std::span<const history_row> rows) {
  const auto figures = history_figures(rows);
  const auto common = static_cast<std::ptrdiff_t>(placed_figures().size());
  return {std::ranges::any_of(rows, [](const auto& row) { return row.hash.has_value(); }),
          {figures.begin() + common, figures.end()}};
}

/// By what follows the columns of every history.
history_columns columns_of(std::string_view header) {
  history_columns result;
  result.has_hashes = header.starts_with(hash_columns);
  if (result.has_hashes)
    header.remove_prefix(hash_columns.size());
  while (!header.empty()) {
    header.remove_prefix(1); // the comma
    const auto end = std::min(header.find(','), header.size());
    result.metrics.push_back(figure_named(std::string{header.substr(0, end)}));
    header.remove_prefix(end);
  }
  return result;
}

hash_sum next_hash(cell_reader& cells) {
  constexpr size_t half = 16;
  const auto text = cells.next_text();
  hash_sum result;
  if (text.empty())
    return result;
  const auto read = [&](std::string_view digits, uint64_t& value) {
    const auto [stop, problem] = std::from_chars(digits.begin(), digits.end(), value, 16);
    return problem == std::errc{} && stop == digits.end();
  };
  if (text.size() != 2 * half || !read(text.substr(0, half), result.high) ||
      !read(text.substr(half), result.low))
    cells.refuse("'" + std::string{text} + "' is no hash");
  return result;
}

history_row read_row(std::string_view line, const history_columns& columns,
                     const std::string& where) {
  cell_reader cells{line, where};
  history_row row;
  row.epoch = cells.next<size_t>();
  row.steps = cells.next<uint64_t>();
  for (const auto& figure : placed_figures())
    figure.set(row, figure.may_be_absent() ? cells.next_if_any<double>() : cells.next<double>());
  if (columns.has_hashes) {
    const auto parameters = next_hash(cells); // in the order of the cells
    const version_hash hash{parameters, next_hash(cells)};
    row.hash = parameters != hash_sum{} ? std::optional{hash} : std::nullopt;
  }
  for (const auto& figure : columns.metrics)
    figure.set(row, cells.next_if_any<double>());
  cells.expect_end();
  return row;
}

} // namespace

std::vector<history_row> read_history(std::string_view text, const std::string& path) {
  const auto common = common_header();
  const auto titles = text.substr(0, text.find('\n'));
  const bool is_whole = titles.size() < text.size() && titles.starts_with(common);
  if (!is_whole || (titles.size() > common.size() && titles[common.size()] != ','))
    throw failure(failure_code::bad_data, "this is no history of a run", path + ":1");
  const auto columns = columns_of(titles.substr(common.size()));
  text.remove_prefix(titles.size() + 1);
  std::vector<history_row> result;
  for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    result.push_back(
      read_row(text.substr(0, end), columns, path + ":" + std::to_string(result.size() + 2)));
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string history_text(const std::vector<history_row>& rows) {
  const auto columns = columns_of(rows);
  auto result = header(columns);
  for (const auto& row : rows)
    result += line_of(row, columns);
  return result;
}

history_writer::history_writer(std::string path, std::vector<history_row> rows)
  : path_(std::move(path)), rows_(std::move(rows)) {
  rewrite();
}

void history_writer::add(const history_row& row) {
  const bool precedes = !rows_.empty() && rows_.back().steps >= row.steps;
  while (!rows_.empty() && rows_.back().steps >= row.steps)
    rows_.pop_back();
  rows_.push_back(row);
  const auto& metrics = columns_.metrics;
  const bool has_new =
    (row.hash && !columns_.has_hashes) || std::ranges::any_of(row.metrics, [&](const auto& metric) {
      return std::ranges::find(metrics, metric.first, &history_figure::name) == metrics.end();
    });
  if (precedes || has_new)
    rewrite();
  else
    append(row);
}

void history_writer::rewrite() {
  columns_ = columns_of(rows_);
  write_file_atomically(path_, history_text(rows_));
}

// Opened anew for each row: whoever takes the file away in between gets a new one.
void history_writer::append(const history_row& row) const {
  std::ofstream file{path_, std::ios::binary | std::ios::app};
  file << line_of(row, columns_) << std::flush;
  if (!file)
    throw failure(failure_code::io_error, "cannot add a row", path_,
                  "is the disk full? the whole file is written at the end of the run");
}

} // namespace troupe
