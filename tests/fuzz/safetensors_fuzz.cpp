// Model files: safetensors, and what a model's metadata say of its tensors.

#include "data/model_file/saved_model.hpp"
#include "tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  const auto& path = file.holding(fuzz::text_of(bytes, size));
  fuzz::expect_result_or_failure([&] {
    const auto read = read_safetensors(path);
    fuzz::require(read.values.size() == read.layout.size(), "every value has a tensor");
    fuzz::require(read.values.size() * sizeof(float) <= size, "no value is made up");
  });
  fuzz::expect_result_or_failure([&] { read_model(path); });
  return 0;
}
