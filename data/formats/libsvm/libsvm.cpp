#include "data/formats/libsvm/libsvm.hpp"

#include "data/formats/libsvm/libsvm_rows.hpp"
#include "data/table/dataset.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "models/base/large_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// Entries of rows whose number nobody knows yet. The list grows without moving what it holds, and lets go
/// of it bit by bit when it becomes a matrix: 8 bytes an entry at any time, and 2 MB besides.
class entry_list {
public:
  size_t size() const { return size_; }

  void add(std::span<const libsvm_entry> row);

  /// Calls visit(entry) for each, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& block : blocks_)
      for (const auto& entry : block)
        visit(entry);
  }

  /// The entries as rows that begin at `starts`, which ends with their number; the list is empty then.
  sparse_matrix take(std::vector<uint64_t> starts);

private:
  std::vector<std::vector<libsvm_entry>> blocks_;
  size_t size_ = 0;
};

/// 2 MB: large enough to be given back to the system at once.
constexpr size_t block_entries = size_t{1} << 18;

void entry_list::add(std::span<const libsvm_entry> row) {
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

sparse_matrix entry_list::take(std::vector<uint64_t> starts) {
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

namespace {

libsvm_row_options options_of(size_t index_base, size_t feature_count, const libsvm_form& form) {
  libsvm_row_options result;
  result.index_base = index_base;
  result.hash_bits = form.hash_bits;
  if (form.hash_bits == 0)
    result.features_max = feature_count;
  return result;
}

} // namespace

libsvm_reader::libsvm_reader(const std::string& path, size_t index_base, size_t feature_count,
                             const libsvm_form& form)
  : row_reader(path, path),
    rows_(path, options_of(index_base, feature_count, form)),
    feature_count_(feature_count),
    sparse_(form.sparse) {
  std::vector<std::string> names;
  const auto first = form.hash_bits == 0 ? index_base : 0;
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

void libsvm_reader::fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const {
  fail_at_line(rows, i, reason, hint);
}

} // namespace troupe
