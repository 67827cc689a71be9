#include "data/formats/libsvm/libsvm.hpp"

#include "data/table/dataset.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/buffer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace troupe {

struct libsvm_rows::word {
  std::string_view text;
  size_t offset = 0;
};

libsvm_rows::libsvm_rows(const std::string& path, const libsvm_options& options,
                         lost_digits* digits)
  : path_(path),
    options_(options),
    digits_(digits),
    records_(path, options.line_bytes_max, quote_rule::plain) {
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
  if (digits_ && digits_->wants_more())
    digits_->add(index, text.text.substr(colon + 1));
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

namespace {

/// 2 MB: large enough to be given back to the system at once.
constexpr size_t block_entries = size_t{1} << 18;

/// Entries of rows whose number nobody knows yet. The list grows without moving what it holds, and lets go
/// of it bit by bit when it becomes a matrix: 8 bytes an entry at any time, and 2 MB besides.
class entry_list {
public:
  size_t size() const { return size_; }

  void add(std::span<const libsvm_entry> row) {
    size_ += row.size();
    while (!row.empty()) {
      if (blocks_.empty() || blocks_.back().size() == block_entries) {
        blocks_.emplace_back();
        if (blocks_.size() > 1) // small files need little
          blocks_.back().reserve(block_entries);
      }
      auto& block = blocks_.back();
      const auto some = row.first(std::min(row.size(), block_entries - block.size()));
      block.insert(block.end(), some.begin(), some.end());
      row = row.subspan(some.size());
    }
  }

  /// Calls visit(entry) for each, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& block : blocks_)
      for (const auto& entry : block)
        visit(entry);
  }

  /// The entries as rows that begin at `starts`, which ends with their number; the list is empty then.
  sparse_matrix take(std::vector<uint64_t> starts) {
    sparse_matrix result;
    result.starts = std::move(starts);
    reserve_large(result.features, size_);
    reserve_large(result.values, size_);
    for (auto& block : blocks_) {
      for (const auto& entry : block) {
        result.features.push_back(entry.feature);
        result.values.push_back(entry.value);
      }
      block = {};
    }
    blocks_.clear();
    size_ = 0;
    return result;
  }

private:
  std::vector<std::vector<libsvm_entry>> blocks_;
  size_t size_ = 0;
};

constexpr size_t values_max_always = size_t{4} << 20;

/// One file on its way into a table.
class libsvm_table_reader {
public:
  libsvm_table_reader(const std::string& path, const libsvm_options& options)
    : options_(options),
      limit_(path, options.table_bytes_max),
      rows_(path, options, &digits_),
      feature_count_(rows_.hashed_count()) {
    result_.source = path;
  }

  table read() && {
    for (libsvm_row row; rows_.next(row);)
      keep(row);
    if (feature_count_ == 0)
      throw failure(failure_code::bad_data, "no row has a feature", result_.source + ":1:1",
                    "rows look like: label index:value ..");
    result_.row_count = row_count();
    result_.feature_count = feature_count_;
    result_.target_name = "label";
    if (becomes_dense())
      fill_dense();
    else
      result_.sparse = entries_.take(std::move(starts_));
    digits_.add_remarks(
      result_.source, [](size_t index) { return std::to_string(index); }, result_.remarks);
    return std::move(result_);
  }

private:
  void keep(const libsvm_row& row) {
    keep_label(row);
    entries_.add(row.entries);
    starts_.push_back(entries_.size());
    if (!row.entries.empty()) // they rise
      feature_count_ = std::max<size_t>(feature_count_, size_t{row.entries.back().feature} + 1);
    check_size();
    limit_.require(table_bytes());
  }

  void keep_label(const libsvm_row& row) {
    result_.target_cells.emplace_back(row.label);
    if (row.is_number && !target_has_text_) {
      result_.target_numbers.push_back(row.number);
    } else if (!row.is_number && !std::exchange(target_has_text_, true)) {
      result_.target_numbers = {};
      result_.first_text_line = row.line;
      result_.first_text_cell = row.label;
    }
  }

  size_t row_count() const { return starts_.size() - 1; }
  bool fits_dense() const {
    const auto values_max = values_max_always + options_.values_per_byte_max * rows_.text_bytes();
    return feature_count_ <= values_max / row_count();
  }

  bool becomes_dense() const {
    if (options_.form != row_form::by_content)
      return options_.form == row_form::dense;
    return fits_dense() && (feature_count_ <= dense_features_always ||
                            entries_.size() >= row_count() * feature_count_ / values_an_entry_max);
  }

  void check_size() const {
    if (options_.form == row_form::dense && !fits_dense())
      rows_.fail("the table would have " + std::to_string(row_count()) + " dense rows of " +
                   std::to_string(feature_count_) + " features, too many values for " +
                   std::to_string(rows_.text_bytes()) + " bytes of text",
                 "an index may be wrong, or the data are too sparse to be made dense");
  }

  /// What is kept now and what is to come: entries, labels, and the table.
  uint64_t table_bytes() const {
    const auto dense = // features have names then
      becomes_dense() ? (row_count() * sizeof(float) + sizeof(std::string)) * feature_count_ : 0;
    return entries_.size() * sizeof(libsvm_entry) +
           row_count() * (target_bytes_max + sizeof(uint64_t)) + dense;
  }

  void fill_dense() {
    reserve_large(result_.features, result_.row_count * feature_count_);
    result_.features.resize(result_.row_count * feature_count_);
    size_t row = 0, next = 0;
    entries_.for_each([&](const libsvm_entry& entry) {
      while (next == starts_[row + 1])
        ++row;
      result_.features[row * feature_count_ + entry.feature] = entry.value;
      ++next;
    });
    result_.feature_names.reserve(feature_count_);
    for (size_t feature = 0; feature < feature_count_; ++feature)
      result_.feature_names.push_back(
        std::to_string(feature + (options_.hash_bits == 0 ? options_.index_base : 0)));
  }

  const libsvm_options& options_;
  table_limit limit_;
  lost_digits digits_;
  libsvm_rows rows_;
  size_t feature_count_;
  bool target_has_text_ = false;
  entry_list entries_; ///< of all rows
  std::vector<uint64_t> starts_{0};
  table result_;
};

libsvm_options with_features(libsvm_options options, size_t count) {
  if (options.hash_bits == 0)
    options.features_max = count;
  return options;
}

} // namespace

table read_libsvm(const std::string& path, const libsvm_options& options) {
  return libsvm_table_reader(path, options).read();
}

libsvm_reader::libsvm_reader(const std::string& path, size_t feature_count,
                             const libsvm_options& options)
  : row_reader(path, path),
    rows_(path, with_features(options, feature_count)),
    feature_count_(feature_count),
    sparse_(options.form == row_form::sparse) {
  std::vector<std::string> names;
  const auto first = options.hash_bits == 0 ? options.index_base : 0;
  for (size_t feature = 0; feature < feature_count && !sparse_; ++feature)
    names.push_back(std::to_string(feature + first));
  const auto label = names.size();
  names.emplace_back("label");
  set_columns(std::move(names), false);
  set_targets({label});
}

bool libsvm_reader::read_rows(table_chunk& out, size_t rows_max) {
  out.clear();
  if (sparse_)
    out.sparse.starts = {0};
  while (out.row_count < rows_max && rows_.next(row_))
    keep(out);
  return out.row_count > 0;
}

void libsvm_reader::keep(table_chunk& out) const {
  const auto begin = out.features.size();
  out.features.resize(begin + (sparse_ ? 0 : feature_count_));
  for (const auto& entry : row_.entries)
    if (sparse_) {
      out.sparse.features.push_back(entry.feature);
      out.sparse.values.push_back(entry.value);
    } else {
      out.features[begin + entry.feature] = entry.value;
    }
  if (sparse_)
    out.sparse.starts.push_back(out.sparse.features.size());
  out.target_cells.emplace_back(row_.label);
  out.target_numbers.push_back(row_.is_number ? row_.number
                                              : std::numeric_limits<double>::quiet_NaN());
  out.lines.push_back(row_.line);
  ++out.row_count;
}

} // namespace troupe
