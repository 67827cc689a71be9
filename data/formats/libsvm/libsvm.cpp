#include "troupe/data/formats/libsvm/libsvm.hpp"

#include "troupe/data/formats/libsvm/libsvm_rows.hpp"
#include "troupe/data/table/table_limit.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/models/base/large_pages.hpp"

#include <algorithm>
#include <deque>
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
      rows_(path, {options.index_base, options.features_max, options.line_bytes_max}) {
    result_.source = path;
  }

  table read() &&;

private:
  void keep(const libsvm_row& row);
  void keep_label(const libsvm_row& row);
  void check_size() const;
  uint64_t table_bytes() const;
  void fill_table();

  const libsvm_options& options_;
  table_limit limit_;
  libsvm_rows rows_;
  size_t feature_count_ = 0;
  bool target_has_text_ = false;
  std::deque<libsvm_entry> entries_; ///< of all rows: grows without moving what it holds
  std::vector<uint32_t> entry_counts_;
  table result_;
};

table libsvm_table_reader::read() && {
  for (libsvm_row row; rows_.next(row);)
    keep(row);
  if (feature_count_ == 0)
    throw failure(failure_code::bad_data, "no row has a feature", result_.source + ":1:1",
                  "rows look like: label index:value ..");
  fill_table();
  return std::move(result_);
}

void libsvm_table_reader::keep(const libsvm_row& row) {
  keep_label(row);
  for (const auto& entry : row.entries) // a range's insertion into a deque is slower
    entries_.push_back(entry);
  entry_counts_.push_back(static_cast<uint32_t>(row.entries.size()));
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

void libsvm_table_reader::check_size() const {
  const auto values_max = values_max_always + options_.values_per_byte_max * rows_.text_bytes();
  if (feature_count_ > values_max / entry_counts_.size())
    rows_.fail("the table would have " + std::to_string(entry_counts_.size()) + " rows of " +
                 std::to_string(feature_count_) + " features, more than " +
                 std::to_string(values_max) + " values for " + std::to_string(rows_.text_bytes()) +
                 " bytes of text",
               "an index may be wrong, or the data are too sparse to be made dense");
}

/// What is kept now and what is to come: entries, labels, and the dense table.
uint64_t libsvm_table_reader::table_bytes() const {
  return entries_.size() * sizeof(libsvm_entry) + entry_counts_.size() * sizeof(std::string) +
         entry_counts_.size() * feature_count_ * sizeof(float);
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
  return libsvm_table_reader(path, options).read();
}

} // namespace troupe
