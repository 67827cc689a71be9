#include "troupe/data/formats/libsvm/libsvm.hpp"

#include "troupe/data/formats/libsvm/entry_list.hpp"
#include "troupe/data/table/table_limit.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/models/base/large_pages.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe {

namespace {

constexpr size_t values_max_always = size_t{4} << 20;

/// One file on its way into a table.
class libsvm_table_reader {
public:
  libsvm_table_reader(const std::string& path, const libsvm_options& options)
    : options_(options),
      limit_(path, options.table_bytes_max),
      rows_(path, {options.index_base, options.features_max, options.line_bytes_max,
                   options.hash_bits, &digits_}),
      feature_count_(rows_.hashed_count()) {
    result_.source = path;
  }

  table read() &&;

private:
  void keep(const libsvm_row& row);
  void keep_label(const libsvm_row& row);
  size_t row_count() const { return starts_.size() - 1; }
  bool fits_dense() const;
  bool becomes_dense() const;
  void check_size() const;
  uint64_t table_bytes() const;
  void fill_dense();

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

table libsvm_table_reader::read() && {
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

void libsvm_table_reader::keep(const libsvm_row& row) {
  keep_label(row);
  entries_.add(row.entries);
  starts_.push_back(entries_.size());
  if (!row.entries.empty()) // they rise
    feature_count_ = std::max<size_t>(feature_count_, size_t{row.entries.back().feature} + 1);
  check_size();
  limit_.require(table_bytes());
}

void libsvm_table_reader::keep_label(const libsvm_row& row) {
  result_.target_cells.emplace_back(row.label);
  if (row.is_number && !target_has_text_) {
    result_.target_numbers.push_back(row.number);
  } else if (!row.is_number && !std::exchange(target_has_text_, true)) {
    result_.target_numbers = {};
    result_.first_text_line = row.line;
    result_.first_text_cell = row.label;
  }
}

bool libsvm_table_reader::fits_dense() const {
  const auto values_max = values_max_always + options_.values_per_byte_max * rows_.text_bytes();
  return feature_count_ <= values_max / row_count();
}

bool libsvm_table_reader::becomes_dense() const {
  if (options_.form != row_form::by_content)
    return options_.form == row_form::dense;
  return fits_dense() && (feature_count_ <= dense_features_always ||
                          entries_.size() >= row_count() * feature_count_ / values_an_entry_max);
}

void libsvm_table_reader::check_size() const {
  if (options_.form == row_form::dense && !fits_dense())
    rows_.fail("the table would have " + std::to_string(row_count()) + " dense rows of " +
                 std::to_string(feature_count_) + " features, too many values for " +
                 std::to_string(rows_.text_bytes()) + " bytes of text",
               "an index may be wrong, or the data are too sparse to be made dense");
}

/// What is kept now and what is to come: entries, labels, and the table.
uint64_t libsvm_table_reader::table_bytes() const {
  const auto dense = // features have names then
    becomes_dense() ? (row_count() * sizeof(float) + sizeof(std::string)) * feature_count_ : 0;
  return entries_.size() * sizeof(libsvm_entry) +
         row_count() * (target_bytes_max + sizeof(uint64_t)) + dense;
}

void libsvm_table_reader::fill_dense() {
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

} // namespace

table read_libsvm(const std::string& path, const libsvm_options& options) {
  return libsvm_table_reader(path, options).read();
}

} // namespace troupe
