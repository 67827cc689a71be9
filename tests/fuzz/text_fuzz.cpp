// A text as rows of characters, plain or gzip.

#include "data/formats/text/read_text.hpp"
#include "tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  if (size == 0)
    return 0;
  text_options options;
  options.window = 1 + (bytes[0] & 7);
  options.stride = 1 + (bytes[0] >> 3 & 3);
  if (bytes[0] & 32)
    options.vocabulary = {"a", "\n", "\xe2\x82\xac"};
  options.table_bytes_max = fuzz::table_bytes_max;
  fuzz::expect_result_or_failure([&] {
    const auto rows = read_text(file.holding(fuzz::text_of(bytes + 1, size - 1)), options);
    fuzz::require(rows.features.size() == rows.row_count * options.window, "rows are windows");
    for (const auto label : rows.labels)
      fuzz::require(label >= 0 && static_cast<size_t>(label) < rows.classes.size(),
                    "a label is a character of the vocabulary");
  });
  return 0;
}
