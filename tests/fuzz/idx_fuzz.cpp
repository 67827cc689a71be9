// Arrays of the format IDX, plain or gzip; the targets are a column of them.

#include "data/formats/arrays/array_header.hpp"
#include "data/formats/arrays/read_array.hpp"
#include "tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  const auto& path = file.holding(fuzz::text_of(bytes, size));
  fuzz::expect_result_or_failure([&] {
    binary_source source{path};
    read_idx_header(source);
  });
  array_options options;
  options.table_bytes_max = fuzz::table_bytes_max;
  fuzz::expect_result_or_failure([&] { read_array(path, options); });
  return 0;
}
