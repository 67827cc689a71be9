// CSV, plain or gzip: as a table, some with a column that is ignored, with categories and gaps, or by other letters; and
// as `troupe init` looks at it.

#include "data/formats/csv/csv.hpp"
#include "data/formats/csv/csv_columns.hpp"
#include "tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  if (size == 0)
    return 0;
  csv_options options;
  options.header = static_cast<csv_header>(bytes[0] % 3);
  options.target = bytes[0] & 4 ? "0" : "last";
  if (bytes[0] & 8)
    options.ignore = {"1"};
  if (bytes[0] & 16) {
    options.categorical = {"0"};
    options.date = {"2"};
    options.categories_max = 20;
    options.missing = bytes[0] & 32 ? missing_rule::drop : missing_rule::mean;
  }
  if (bytes[0] & 64)
    options.dialect = {';', '\'', ',', '#', 1};
  options.line_bytes_max = size_t{1} << 20;
  options.table_bytes_max = fuzz::table_bytes_max;
  const auto path = file.holding(fuzz::text_of(bytes + 1, size - 1));
  fuzz::expect_result_or_failure([&] { read_csv(path, options); });
  fuzz::expect_result_or_failure(
    [&] { facts_of_csv(path, options.header, 1000, dialect_by_content(path)); });
  return 0;
}
