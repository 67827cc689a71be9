// LIBSVM's sparse text, plain or gzip.

#include "data/formats/libsvm/libsvm.hpp"
#include "tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  if (size == 0)
    return 0;
  libsvm_options options;
  options.index_base = bytes[0] & 1;
  options.form = static_cast<row_form>((bytes[0] >> 1 & 3) % 3);
  options.hash_bits = bytes[0] & 8 ? 10 : 0;
  options.line_bytes_max = size_t{1} << 20;
  options.table_bytes_max = fuzz::table_bytes_max;
  fuzz::expect_result_or_failure(
    [&] { read_libsvm(file.holding(fuzz::text_of(bytes + 1, size - 1)), options); });
  return 0;
}
