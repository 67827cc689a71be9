#include "data/formats/libsvm/libsvm_rows.hpp"

#include "data/formats/libsvm/feature_hash.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace troupe {

struct libsvm_rows::word {
  std::string_view text;
  size_t offset = 0;
};

libsvm_rows::libsvm_rows(const std::string& path, const libsvm_row_options& options)
  : path_(path), options_(options), records_(path, options.line_bytes_max, quote_rule::plain) {
  if (options.index_base > 1)
    throw std::invalid_argument("libsvm: the index of the first feature is 0 or 1, not " +
                                std::to_string(options.index_base));
  if (options.hash_bits > hash_bits_max)
    throw std::invalid_argument("libsvm: features are hashed to at most " +
                                std::to_string(hash_bits_max) + " bits, not " +
                                std::to_string(options.hash_bits));
}

bool libsvm_rows::next(libsvm_row& out) {
  if (!next_line()) {
    if (!any_row_)
      throw failure(failure_code::bad_data, "the file is empty", path_ + ":1:1",
                    "a file needs rows: label index:value ..");
    return false;
  }
  any_row_ = true;
  out.line = record_.line;
  read_label(next_word(), out);
  out.entries.clear();
  auto least = uint64_t{options_.index_base};
  for (auto text = next_word(); !text.text.empty(); text = next_word())
    out.entries.push_back(read_entry(text, least));
  if (options_.hash_bits > 0)
    hash(out.entries);
  return true;
}

void libsvm_rows::fail(const std::string& reason, std::string hint) const {
  fail(word{}, reason, std::move(hint));
}

void libsvm_rows::fail(const word& at, const std::string& reason, std::string hint) const {
  records_.fail_at(record_, at.offset, reason, std::move(hint));
}

/// Reads the next line that holds a row. Empty lines may only come last.
bool libsvm_rows::next_line() {
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
                    path_ + ":" + std::to_string(empty_line) + ":1",
                    "remove it: empty lines may only stand at the end");
    if (!blank)
      return true;
    if (!empty_line)
      empty_line = record_.line;
  }
  return false;
}

/// The next word of the line; empty at its end.
libsvm_rows::word libsvm_rows::next_word() {
  const auto& text = record_.text;
  while (at_ < text.size() && is_blank(text[at_]))
    ++at_;
  const auto start = at_;
  while (at_ < text.size() && !is_blank(text[at_]))
    ++at_;
  return {text.substr(start, at_ - start), start};
}

void libsvm_rows::read_label(const word& label, libsvm_row& out) const {
  if (label.text.find(':') != label.text.npos)
    fail(label,
         "the row begins with the entry " + shown_text(label.text) + ": its label is missing",
         "a row is: label index:value ..");
  if (!is_utf8(label.text))
    fail(label, "the label " + shown_text(label.text) + " is not UTF-8", "save the file as UTF-8");
  const auto status = read_number(label.text, out.number);
  if (status == number_status::not_finite || status == number_status::out_of_range)
    fail(label,
         "the label " + shown_text(label.text) + " is not a finite number that fits a double",
         "remove the row or fill the value in");
  out.label = label.text;
  out.is_number = status == number_status::number;
}

// Columns in their order; of features that share one the sum, in order of the file.
void libsvm_rows::hash(std::vector<libsvm_entry>& entries) const {
  for (auto& entry : entries) {
    const auto hashed = hash_feature(entry.feature + options_.index_base, options_.hash_bits);
    entry = {hashed.column, hashed.sign * entry.value};
  }
  std::ranges::stable_sort(entries, {}, &libsvm_entry::feature);
  size_t count = 0;
  for (const auto& entry : entries)
    if (count > 0 && entries[count - 1].feature == entry.feature)
      entries[count - 1].value += entry.value;
    else
      entries[count++] = entry;
  entries.resize(count);
  for (const auto& entry : entries)
    if (!std::isfinite(entry.value))
      fail("features that are hashed to one column add up to no finite number",
           "use more data.hash_bits, or another unit");
}

libsvm_entry libsvm_rows::read_entry(const word& text, uint64_t& least) const {
  const auto colon = text.text.find(':');
  if (colon == text.text.npos)
    fail(text, shown_text(text.text) + " is no entry", "an entry is index:value, without blanks");
  const auto index = read_index(text, text.text.substr(0, colon), least);
  least = index + 1;
  if (options_.digits && options_.digits->wants_more())
    options_.digits->add(index, text.text.substr(colon + 1));
  return {static_cast<uint32_t>(index - options_.index_base), read_value(text, colon)};
}

uint64_t libsvm_rows::read_index(const word& text, std::string_view digits, uint64_t least) const {
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

float libsvm_rows::read_value(const word& text, size_t colon) const {
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

} // namespace troupe
