// Job files, and single values as --set takes them. No key makes reading one open another file.

#include "troupe/app/job_file.hpp"
#include "troupe/app/job_schema.hpp"
#include "troupe/app/toml_value.hpp"
#include "troupe/tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  const auto text = fuzz::text_of(bytes, size);
  parse_toml_value(text);
  fuzz::expect_result_or_failure([&] {
    const auto x = load_job(file.holding(text), {}, {});
    const auto again = load_job(file.holding(job_text(x)), {}, {});
    fuzz::require(job_text(again) == job_text(x), "a job survives being written");
  });
  fuzz::expect_result_or_failure([&] {
    static const fuzz::hostile_file good;
    load_job(good.holding("data.synthetic = \"classification\"\n"), {std::string{text}}, {});
  });
  return 0;
}
