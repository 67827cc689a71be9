#include "troupe/data/formats/libsvm/libsvm_reader.hpp"

#include <limits>
#include <utility>

namespace troupe {

libsvm_reader::libsvm_reader(const std::string& path, size_t index_base, size_t feature_count)
  : row_reader(path, path),
    rows_(path, {index_base, feature_count}),
    feature_count_(feature_count) {
  std::vector<std::string> names;
  for (size_t feature = 0; feature < feature_count; ++feature)
    names.push_back(std::to_string(feature + index_base));
  names.emplace_back("label");
  set_columns(std::move(names), false);
  set_targets({feature_count});
}

bool libsvm_reader::read_rows(table_chunk& out, size_t rows_max) {
  out.clear();
  while (out.row_count < rows_max && rows_.next(row_))
    keep(out);
  return out.row_count > 0;
}

void libsvm_reader::keep(table_chunk& out) const {
  const auto begin = out.features.size();
  out.features.resize(begin + feature_count_);
  for (const auto& entry : row_.entries)
    out.features[begin + entry.feature] = entry.value;
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
