#include "data/formats/csv/csv_columns.hpp"

#include "data/formats/csv/csv_reader.hpp"
#include "data/formats/csv/csv_records.hpp"
#include "data/table/cell_text.hpp"
#include "data/table/table.hpp"
#include "data/text/failure.hpp"
#include "data/text/number_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

namespace troupe {

namespace {

/// Of a value's text: more makes no two of them different.
constexpr size_t value_bytes_kept = 200;

/// A text that hardly says anything else: one without letters, such as "-", or one of a few words, in capitals or not.
bool says_no_value(const std::pair<const std::string, uint64_t>& word) {
  constexpr std::array known{"na",   "n/a", "n.a.", "nd",      "n.d.",    "n/d",
                             "none", "nil", "null", "unknown", "missing", "not available"};
  std::string lower = word.first;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(known, lower) != known.end() ||
         std::ranges::none_of(lower, [](unsigned char c) { return std::isalpha(c) || c >= 128; });
}

constexpr std::array date_forms{date_form::year_first, date_form::day_first,
                                date_form::month_first};

/// A column, and what is to be known of its further cells.
struct seen_column {
  csv_column facts;
  std::optional<double> before{};                ///< the number that it had last
  unit_rule unit{};                              ///< of amounts
  bool has_one_unit = true;                      ///< they do not break the rule
  std::map<std::string, uint64_t> other_words{}; ///< texts that may say that there is no value

  /// `pointed`: the cell as it is read where numbers are, with a decimal point.
  void add(std::string_view cell, std::string_view pointed) {
    const bool is_word = std::ranges::find(missing_words, cell) != missing_words.end();
    if (cell.empty() || is_word) {
      ++facts.empty_count;
      if (is_word)
        ++facts.missing_words[std::string{cell}];
      return;
    }
    if (!facts.has_many_values())
      ++facts.values[std::string{cell.substr(0, value_bytes_kept)}];
    float number = 0;
    const bool is_number = read_number(pointed, number) == number_status::number;
    if (!is_number)
      add_text(cell);
    if (const auto amount = read_amount(pointed);
        amount && std::isfinite(static_cast<float>(amount->value)))
      add_amount(cell, *amount, is_number);
    facts.number_count += is_number;
    facts.has_leading_zeros =
      facts.has_leading_zeros ||
      (cell.size() > 1 && cell.find_first_not_of("0123456789") == cell.npos && cell.front() == '0');
  }

  /// What is known after the last cell.
  csv_column finish() && {
    if (!has_one_unit)
      facts.amount_count = 0;
    uint64_t count = 0;
    for (const auto& [word, cells] : other_words)
      count += cells;
    const auto others = facts.text_count - count;
    const bool are_read = facts.amount_count == others ||
                          (facts.number_count == 0 &&
                           std::ranges::find(facts.date_counts, others) != facts.date_counts.end());
    const bool are_words = facts.values.size() > other_words_max + class_count_max_by_content ||
                           std::ranges::all_of(other_words, says_no_value);
    if (count > 0 && other_words.size() <= other_words_max && are_read && are_words &&
        facts.number_count + others > count)
      take_for_gaps(count);
    return std::move(facts);
  }

private:
  void add_text(std::string_view cell) {
    float ignored = 0;
    if (facts.text_count++ == 0)
      facts.first_text = cell.substr(0, value_bytes_kept);
    facts.boolean_count += read_boolean(cell, ignored);
    bool has_time = false;
    for (const auto order : date_forms) {
      const auto i = static_cast<size_t>(order);
      facts.date_counts[i] += read_date(cell, order, ignored);
      if (!read_datetime(cell, order, ignored))
        continue;
      ++facts.datetime_counts[i];
      has_time = has_time || std::fmod(ignored, quarters_of_day) != 0;
    }
    facts.time_count += has_time;
    if (cell.find_first_of("0123456789") == cell.npos && !read_boolean(cell, ignored) &&
        other_words.size() <= other_words_max)
      ++other_words[std::string{cell.substr(0, value_bytes_kept)}];
  }

  void add_amount(std::string_view cell, const amount& x, bool is_number) {
    has_one_unit = unit.takes(x.unit) && has_one_unit;
    facts.is_whole = facts.is_whole && x.value == std::floor(x.value);
    facts.counts = facts.counts && (!before || x.value == *before + 1);
    before = x.value;
    if (!is_number && facts.amount_count++ == 0)
      facts.first_amount = cell.substr(0, value_bytes_kept);
  }

  void take_for_gaps(uint64_t count) {
    facts.text_count -= count;
    facts.empty_count += count;
    for (const auto& [word, cells] : other_words)
      facts.values.erase(word);
    if (other_words.contains(facts.first_text))
      facts.first_text = facts.first_amount;
    facts.missing_words.merge(other_words);
  }
};

std::vector<std::string> cells_of(const csv_records& records, const csv_record& record) {
  std::vector<std::string> result;
  csv_cells cells{records, record};
  for (csv_cell cell; cells.next(cell);)
    result.emplace_back(cell.text);
  return result;
}

/// It is an amount by a decimal comma: "1,5", "1.234,5 €"; or by a point alone: "1,234.5", "1,234,567".
bool has_decimal_comma(std::string_view cell) {
  return cell.find(',') != cell.npos && read_amount(with_marks_swapped(cell)).has_value();
}
bool has_thousands_comma(std::string_view cell) {
  return cell.find(',') != cell.npos && read_amount(cell) && !has_decimal_comma(cell);
}

/// A cell as it is read where numbers are: amounts and numbers with a decimal point.
std::string_view pointed(std::string_view cell, char decimal, std::string& out) {
  if (decimal == '.')
    return cell;
  out = with_marks_swapped(cell);
  return read_amount(out) || read_amount(cell) ? out : cell;
}

/// What the first lines are by a dialect.
struct first_lines {
  size_t cell_count = 0; ///< of each of them; 0: they differ, or are no CSV by it
  bool has_decimal_comma = false;
};

first_lines first_lines_by(const csv_dialect& dialect, const std::string& path) {
  constexpr size_t lines_max = 100;
  first_lines result;
  csv_records records{path, csv_options{}.line_bytes_max, quote_rule::csv, dialect};
  csv_record record;
  bool has_comma = false, has_thousands = false;
  try {
    for (size_t line = 0; line < lines_max && records.next(record); ++line) {
      if (record.text.empty())
        continue;
      const auto cells = cells_of(records, record);
      if (line > 0 && cells.size() != result.cell_count)
        return {};
      result.cell_count = cells.size();
      has_comma = has_comma || std::ranges::any_of(cells, has_decimal_comma);
      has_thousands = has_thousands || std::ranges::any_of(cells, has_thousands_comma);
    }
  } catch (
    const failure&) { // a quotation mark within a cell, say, which other separators may not see
    return {};
  }
  result.has_decimal_comma = has_comma && !has_thousands;
  return result;
}

} // namespace

csv_dialect dialect_by_content(const std::string& path) {
  csv_dialect result;
  size_t most = 1;
  for (const char separator : {',', ';', '\t', '|'}) {
    csv_dialect tried;
    tried.separator = separator;
    const auto found = first_lines_by(tried, path);
    if (found.cell_count <= most)
      continue;
    most = found.cell_count;
    result = tried;
    if (separator != ',' && found.has_decimal_comma)
      result.decimal = ',';
  }
  return result;
}

csv_facts facts_of_csv(const std::string& path, csv_header header, uint64_t rows_max,
                       const csv_dialect& dialect) {
  csv_reader file{path, header, dialect};
  csv_facts result;
  result.dialect = dialect;
  result.has_header = file.has_header();
  std::vector<seen_column> columns(file.column_count());
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i].facts.name = file.column_names()[i];
  std::string buffer;
  const auto add = [&](size_t column, std::string_view cell) {
    if (result.row_count < rows_max)
      columns[column].add(cell, pointed(cell, dialect.decimal, buffer));
  };
  while (result.is_whole && file.look_at_row(add)) {
    result.is_whole = result.row_count < rows_max;
    result.row_count += result.is_whole;
  }
  for (auto& one : columns)
    result.columns.push_back(std::move(one).finish());
  return result;
}

} // namespace troupe
