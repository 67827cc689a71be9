// Files of rows for training: safetensors with conventions of their own (data/rows_file).

#include "data/rows_file/rows_file.hpp"
#include "tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  const auto& path = file.holding(fuzz::text_of(bytes, size));
  fuzz::expect_result_or_failure([&] {
    const rows_file opened{path};
    const auto& header = opened.header();
    fuzz::require(header.row_count * header.feature_bytes() <= size, "no row is made up");
    fuzz::require(header.checksums.size() == header.chunk_count(), "each chunk has checksums");
    const auto rows = read_rows(opened, fuzz::table_bytes_max);
    fuzz::require(rows.features.size() == rows.row_count * rows.feature_count, "rows are whole");
    for (const auto label : rows.labels)
      fuzz::require(label >= 0 && static_cast<size_t>(label) < rows.classes.size(),
                    "each label is a class");
  });
  fuzz::expect_result_or_failure([&] {
    rows_reader reader{path};
    reader.set_targets({reader.column_count() - 1});
    for (table_chunk rows; reader.next(rows, 16);)
      fuzz::require(rows.target_cells.size() == rows.row_count, "each row has a target");
  });
  return 0;
}
