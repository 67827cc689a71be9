#include "troupe/data/records/history_file.hpp"

#include "troupe/data/disk/atomic_file.hpp"
#include "troupe/data/records/history_figures.hpp"
#include "troupe/data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
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

using columns = std::span<const history_figure>;

std::string header(columns figures) {
  std::string result = "epoch,steps";
  for (const auto& figure : figures)
    result += ',' + figure.name;
  return result;
}

std::string line_of(const history_row& row, columns figures) {
  auto result = std::to_string(row.epoch) + ',' + std::to_string(row.steps);
  for (const auto& figure : figures)
    result += ',' + cell(figure.in(row));
  return result + '\n';
}

/// By a header that begins with the columns of every history.
std::vector<history_figure> figures_of(std::string_view header) {
  std::vector<history_figure> result{common_figures().begin(), common_figures().end()};
  while (!header.empty()) {
    header.remove_prefix(1); // the comma
    const auto end = std::min(header.find(','), header.size());
    result.push_back(metric_figure(std::string{header.substr(0, end)}));
    header.remove_prefix(end);
  }
  return result;
}

/// The cells of a line, one after the other.
class cell_reader {
public:
  cell_reader(std::string_view line, const std::string& where) : rest_(line), where_(where) {}

  template <class Value>
  Value next() {
    const auto text = next_text();
    Value result{};
    const auto end = text.data() + text.size();
    if (const auto [stop, problem] = std::from_chars(text.data(), end, result);
        problem != std::errc{} || stop != end)
      refuse("'" + std::string{text} + "' is no number");
    return result;
  }
  std::optional<double> next_figure(bool may_be_absent) {
    if (may_be_absent && !is_over_ && (rest_.empty() || rest_.front() == ',')) {
      next_text();
      return std::nullopt;
    }
    return next<double>();
  }
  void expect_end() const {
    if (!is_over_)
      refuse("the line has more cells than the header");
  }

private:
  std::string_view next_text() {
    if (is_over_)
      refuse("the line has fewer cells than the header");
    const auto comma = rest_.find(',');
    const auto result = rest_.substr(0, comma);
    is_over_ = comma == std::string_view::npos;
    rest_.remove_prefix(is_over_ ? rest_.size() : comma + 1);
    return result;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw failure(failure_code::bad_data, why, where_, "was the file changed by hand?");
  }

  std::string_view rest_;
  const std::string& where_;
  bool is_over_ = false;
};

history_row read_row(std::string_view line, columns figures, const std::string& where) {
  cell_reader cells{line, where};
  history_row row;
  row.epoch = cells.next<size_t>();
  row.steps = cells.next<uint64_t>();
  for (const auto& figure : figures)
    figure.set(row, cells.next_figure(figure.may_be_absent()));
  cells.expect_end();
  return row;
}

} // namespace

std::vector<history_row> read_history(std::string_view text, const std::string& path) {
  const auto common = header(common_figures());
  const auto titles = text.substr(0, text.find('\n'));
  const bool is_whole = titles.size() < text.size() && titles.starts_with(common);
  if (!is_whole || (titles.size() > common.size() && titles[common.size()] != ','))
    throw failure(failure_code::bad_data, "this is no history of a run", path + ":1");
  const auto figures = figures_of(titles.substr(common.size()));
  text.remove_prefix(titles.size() + 1);
  std::vector<history_row> result;
  for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    result.push_back(
      read_row(text.substr(0, end), figures, path + ":" + std::to_string(result.size() + 2)));
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string history_text(const std::vector<history_row>& rows) {
  const auto figures = history_figures(rows);
  auto result = header(figures) + '\n';
  for (const auto& row : rows)
    result += line_of(row, figures);
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
  const bool has_new = std::ranges::any_of(row.metrics, [&](const auto& metric) {
    return std::ranges::find(figures_, metric.first, &history_figure::name) == figures_.end();
  });
  if (precedes || has_new)
    rewrite();
  else
    append(row);
}

void history_writer::rewrite() {
  figures_ = history_figures(rows_);
  write_file_atomically(path_, history_text(rows_));
}

// Opened anew for each row: whoever takes the file away in between gets a new one.
void history_writer::append(const history_row& row) const {
  std::ofstream file{path_, std::ios::binary | std::ios::app};
  file << line_of(row, figures_) << std::flush;
  if (!file)
    throw failure(failure_code::io_error, "cannot add a row", path_,
                  "is the disk full? the whole file is written at the end of the run");
}

} // namespace troupe
