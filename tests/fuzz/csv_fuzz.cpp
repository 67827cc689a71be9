// CSV, plain or gzip, whole and part by part.

#include "troupe/data/formats/csv/csv.hpp"
#include "troupe/tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  if (size == 0)
    return 0;
  csv_options options;
  options.header = static_cast<csv_header>(bytes[0] % 3);
  options.target = bytes[0] & 4 ? "0" : "last";
  options.line_bytes_max = size_t{1} << 20;
  options.table_bytes_max = fuzz::table_bytes_max;
  fuzz::expect_result_or_failure(
    [&] { read_csv(file.holding(fuzz::text_of(bytes + 1, size - 1)), options); });
  return 0;
}
