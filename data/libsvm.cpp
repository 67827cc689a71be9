#include "troupe/data/libsvm.hpp"

#include "troupe/data/csv_records.hpp"
#include "troupe/data/failure.hpp"
#include "troupe/data/large_pages.hpp"
#include "troupe/data/number_text.hpp"
#include "troupe/data/shown_text.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

namespace {

constexpr size_t values_max_always = size_t{4} << 20;

struct entry {
  uint32_t feature; ///< counted from 0
  float value;
};

/// A word of a line, and where it stands in it.
struct word {
  std::string_view text;
  size_t offset = 0;
};

/// One file on its way into a table.
class libsvm_table_reader {
public:
  libsvm_table_reader(const std::string& path, const libsvm_options& options)
    : options_(options), records_(path, options.line_bytes_max, quote_rule::plain) {
    result_.source = path;
  }

  table read() &&;

private:
  bool next_row();
  void read_row();
  word next_word();
  void read_label(const word& label);
  void read_entry(const word& text, uint64_t& least);
  uint64_t read_index(const word& text, std::string_view digits, uint64_t least) const;
  float read_value(const word& text, size_t colon) const;
  void check_size() const;
  [[noreturn]] void fail(const word& at, const std::string& reason, std::string hint) const {
    records_.fail_at(record_, at.offset, reason, std::move(hint));
  }
  void fill_table();

  const libsvm_options& options_;
  csv_records records_;
  csv_record record_; ///< its text ends before the comment
  size_t at_ = 0;     ///< in the record
  size_t text_bytes_ = 0;
  size_t feature_count_ = 0;
  bool target_has_text_ = false;
  std::deque<entry> entries_; ///< of all rows: grows without moving what it holds
  std::vector<uint32_t> entry_counts_;
  table result_;
};

table libsvm_table_reader::read() && {
  while (next_row())
    read_row();
  if (entry_counts_.empty())
    throw failure(failure_code::bad_data, "the file is empty", result_.source + ":1:1",
                  "a file needs rows: label index:value ..");
  if (feature_count_ == 0)
    throw failure(failure_code::bad_data, "no row has a feature", result_.source + ":1:1",
                  "rows look like: label index:value ..");
  fill_table();
  return std::move(result_);
}

/// Reads the next line that holds a row. Empty lines may only come last.
bool libsvm_table_reader::next_row() {
  size_t empty_line = 0;
  while (records_.next(record_)) {
    text_bytes_ += record_.text.size() + 1;
    const auto comment = record_.text.find('#');
    record_.text = record_.text.substr(0, comment);
    at_ = 0;
    const bool blank = std::all_of(record_.text.begin(), record_.text.end(), is_blank);
    if (blank && comment != record_.text.npos)
      continue;
    if (!blank && empty_line)
      throw failure(failure_code::bad_data, "the line is empty",
                    result_.source + ":" + std::to_string(empty_line) + ":1",
                    "remove it: empty lines may only stand at the end");
    if (!blank)
      return true;
    if (!empty_line)
      empty_line = record_.line;
  }
  return false;
}

/// The next word of the line; empty at its end.
word libsvm_table_reader::next_word() {
  const auto& text = record_.text;
  while (at_ < text.size() && is_blank(text[at_]))
    ++at_;
  const auto start = at_;
  while (at_ < text.size() && !is_blank(text[at_]))
    ++at_;
  return {text.substr(start, at_ - start), start};
}

void libsvm_table_reader::read_row() {
  read_label(next_word());
  const auto before = entries_.size();
  auto least = uint64_t{options_.index_base};
  for (auto text = next_word(); !text.text.empty(); text = next_word())
    read_entry(text, least);
  entry_counts_.push_back(static_cast<uint32_t>(entries_.size() - before));
  check_size();
}

void libsvm_table_reader::read_label(const word& label) {
  if (label.text.find(':') != label.text.npos)
    fail(label,
         "the row begins with the entry " + shown_text(label.text) + ": its label is missing",
         "a row is: label index:value ..");
  if (!is_utf8(label.text))
    fail(label, "the label " + shown_text(label.text) + " is not UTF-8", "save the file as UTF-8");
  result_.target_cells.emplace_back(label.text);
  double value = 0;
  const auto status = read_number(label.text, value);
  if (status == number_status::not_finite || status == number_status::out_of_range)
    fail(label,
         "the label " + shown_text(label.text) + " is not a finite number that fits a double",
         "remove the row or fill the value in");
  if (status == number_status::number && !target_has_text_) {
    result_.target_numbers.push_back(value);
  } else if (status == number_status::text && !std::exchange(target_has_text_, true)) {
    result_.target_numbers = {};
    result_.first_text_line = record_.line;
    result_.first_text_cell = label.text;
  }
}

void libsvm_table_reader::read_entry(const word& text, uint64_t& least) {
  const auto colon = text.text.find(':');
  if (colon == text.text.npos)
    fail(text, shown_text(text.text) + " is no entry", "an entry is index:value, without blanks");
  const auto index = read_index(text, text.text.substr(0, colon), least);
  const auto feature = index - options_.index_base;
  entries_.push_back({static_cast<uint32_t>(feature), read_value(text, colon)});
  feature_count_ = std::max<size_t>(feature_count_, feature + 1);
  least = index + 1;
}

uint64_t libsvm_table_reader::read_index(const word& text, std::string_view digits,
                                         uint64_t least) const {
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const auto whole = error == std::errc() && end == digits.data() + digits.size();
  if (whole && index >= least && index - options_.index_base < options_.features_max)
    return index;
  const auto shown = "the index " + shown_text(digits);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
    fail(text, shown + " is not a whole number",
         digits == "qid" ? "rows cannot be grouped by query: remove qid"
                         : "an entry is index:value");
  if (error == std::errc::result_out_of_range ||
      index >= options_.index_base + options_.features_max)
    fail(text,
         shown + " is too large: there may be " + std::to_string(options_.features_max) +
           " features",
         "number the features from " + std::to_string(options_.index_base) + " without large gaps");
  if (index < options_.index_base)
    fail(text, shown + " is below the first, 1",
         "where features are counted from 0, say so: index_base = 0");
  fail(text, shown + " does not come after the one before it, " + std::to_string(least - 1),
       "sort the entries of a row by index, and name each once");
}

float libsvm_table_reader::read_value(const word& text, size_t colon) const {
  const word value{text.text.substr(colon + 1), text.offset + colon + 1};
  float result = 0;
  const auto status = read_number(value.text, result);
  if (status == number_status::number)
    return result;
  const auto shown = "the value " + shown_text(value.text) + " of feature " +
                     std::string(text.text.substr(0, colon));
  switch (status) {
  case number_status::text:
    fail(value, shown + " is not a number", "an entry is index:value, without blanks");
  case number_status::not_finite:
    fail(value, shown + " is not a finite number", "remove the row or fill the value in");
  default:
    fail(value, shown + " does not fit a floating-point number",
         "numbers go up to 3.4e38: use another unit");
  }
}

void libsvm_table_reader::check_size() const {
  const auto values_max = values_max_always + options_.values_per_byte_max * text_bytes_;
  if (feature_count_ > values_max / entry_counts_.size())
    fail({},
         "the table would have " + std::to_string(entry_counts_.size()) + " rows of " +
           std::to_string(feature_count_) + " features, more than " + std::to_string(values_max) +
           " values for " + std::to_string(text_bytes_) + " bytes of text",
         "an index may be wrong, or the data are too sparse to be made dense");
}

void libsvm_table_reader::fill_table() {
  result_.row_count = entry_counts_.size();
  result_.feature_count = feature_count_;
  reserve_large(result_.features, result_.row_count * feature_count_);
  result_.features.resize(result_.row_count * feature_count_);
  auto next = entries_.begin();
  for (size_t row = 0; row < result_.row_count; ++row)
    for (uint32_t i = 0; i < entry_counts_[row]; ++i, ++next)
      result_.features[row * feature_count_ + next->feature] = next->value;
  for (size_t feature = 0; feature < feature_count_; ++feature)
    result_.feature_names.push_back(std::to_string(feature + options_.index_base));
  result_.target_name = "label";
}

} // namespace

table read_libsvm(const std::string& path, const libsvm_options& options) {
  if (options.index_base > 1)
    throw std::invalid_argument("libsvm: the index of the first feature is 0 or 1, not " +
                                std::to_string(options.index_base));
  return libsvm_table_reader(path, options).read();
}

} // namespace troupe
