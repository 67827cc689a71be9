#include "data/records/history_file.hpp"

#include "data/disk/atomic_file.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

/// Reads the lines of the tables that a run writes (history.csv, rounds.csv), cell by cell. They hold
/// numbers, and names that are no user's: nothing is quoted.
class cell_reader {
public:
  /// `where` is the line's place, for messages. Both outlive the reader.
  cell_reader(std::string_view line, const std::string& where) : rest_(line), where_(where) {}

  /// Throws failure(bad_data) when there is no cell left.
  std::string_view next_text() {
    if (is_over_)
      refuse("the line has fewer cells than the header");
    const auto comma = rest_.find(',');
    const auto result = rest_.substr(0, comma);
    is_over_ = comma == std::string_view::npos;
    rest_.remove_prefix(is_over_ ? rest_.size() : comma + 1);
    return result;
  }

  /// Throws also when it holds no such number.
  template <class Number>
  Number next() {
    return number_in<Number>(next_text());
  }

  /// Nothing of an empty cell.
  template <class Number>
  std::optional<Number> next_if_any() {
    const auto text = next_text();
    return text.empty() ? std::nullopt : std::optional{number_in<Number>(text)};
  }

  void expect_end() const {
    if (!is_over_)
      refuse("the line has more cells than the header");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw failure(failure_code::bad_data, why, where_, "was the file changed by hand?");
  }

private:
  template <class Number>
  Number number_in(std::string_view text) const {
    Number result{};
    const auto* end = text.data() + text.size();
    if (const auto [stop, problem] = std::from_chars(text.data(), end, result);
        problem != std::errc{} || stop != end)
      refuse("'" + std::string{text} + "' is no number");
    return result;
  }

  std::string_view rest_;
  const std::string& where_;
  bool is_over_ = false;
};

/// A record of each whole line of a table, from its second line on.
template <class Record, class Read>
std::vector<Record> read_lines(std::string_view text, const std::string& path, const Read& read) {
  std::vector<Record> result;
  for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    result.push_back(read(text.substr(0, end), path + ":" + std::to_string(result.size() + 2)));
    text.remove_prefix(end + 1);
  }
  return result;
}

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
  return read_lines<history_row>(text, path, [&](std::string_view line, const std::string& where) {
    return read_row(line, columns, where);
  });
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

namespace {

constexpr const char* header_line =
  "round,invited,dropped,late,surplus,refused,counted,rows,loss,loss_p10,loss_p50,loss_p90,"
  "loss_max,norm_p10,norm_p50,norm_p90,norm_max,void,epsilon\n";

/// Between `round` and `void`: of a private round they are empty.
constexpr size_t figures_hidden = 16;

std::string line_of_round(const round_record& x) {
  const std::string end = (x.is_void ? "1," : "0,") + (x.epsilon ? number(*x.epsilon) : "") + '\n';
  if (x.epsilon)
    return std::to_string(x.round) + std::string(figures_hidden + 1, ',') + end;
  std::string result;
  for (const auto count :
       {x.round, x.invited, x.dropped, x.late, x.surplus, x.refused, x.counted, x.rows})
    result += std::to_string(count) + ',';
  for (const auto figure : {x.loss, x.losses.p10, x.losses.p50, x.losses.p90, x.losses.most,
                            x.norms.p10, x.norms.p50, x.norms.p90, x.norms.most})
    result += (x.counted > 0 ? number(figure) : std::string{}) + ',';
  return result + end;
}

/// What `line_of_round` left out stays as it is in a record without it.
round_record read_round(std::string_view line, const std::string& where) {
  cell_reader cells{line, where};
  round_record result;
  result.round = cells.next<uint64_t>();
  for (auto* count : {&result.invited, &result.dropped, &result.late, &result.surplus,
                      &result.refused, &result.counted, &result.rows})
    *count = cells.next_if_any<uint64_t>().value_or(0);
  for (auto* figure : {&result.loss, &result.losses.p10, &result.losses.p50, &result.losses.p90,
                       &result.losses.most, &result.norms.p10, &result.norms.p50, &result.norms.p90,
                       &result.norms.most})
    *figure = cells.next_if_any<double>().value_or(0);
  result.is_void = cells.next<unsigned>() != 0;
  result.epsilon = cells.next_if_any<double>();
  cells.expect_end();
  return result;
}

/// The number a line begins with; 0: none.
uint64_t round_of(const std::string& line) {
  uint64_t result = 0;
  std::from_chars(line.data(), line.data() + line.size(), result);
  return result;
}

} // namespace

std::string rounds_text(const std::vector<round_record>& rounds) {
  std::string result = header_line;
  for (const auto& round : rounds)
    result += line_of_round(round);
  return result;
}

std::vector<round_record> read_rounds(std::string_view text, const std::string& path) {
  if (!text.starts_with(header_line))
    throw failure(failure_code::bad_data, "this is no table of a run's rounds", path + ":1");
  text.remove_prefix(std::string_view{header_line}.size());
  return read_lines<round_record>(text, path, read_round);
}

rounds_writer::rounds_writer(std::string path, uint64_t version) : path_(std::move(path)) {
  cut_back(version);
}

// A last line without its end was cut off as it was written: it is not taken for a round.
void rounds_writer::cut_back(uint64_t version) {
  std::string kept = header_line;
  last_ = 0;
  std::ifstream file{path_, std::ios::binary};
  std::string line;
  while (version > 0 && std::getline(file, line) && !file.eof())
    if (const auto round = round_of(line); round > last_ && round <= version) {
      kept += line + '\n';
      last_ = round;
    }
  write_file_atomically(path_, kept);
}

void rounds_writer::add(const std::vector<round_record>& rounds) {
  if (rounds.empty())
    return;
  if (rounds.front().round <= last_)
    cut_back(rounds.front().round - 1);
  std::ofstream file{path_, std::ios::binary | std::ios::app};
  for (const auto& round : rounds)
    file << line_of_round(round);
  file << std::flush;
  if (!file)
    throw failure(failure_code::io_error, "cannot add a round", path_, "is the disk full?");
  last_ = rounds.back().round;
}

} // namespace troupe
