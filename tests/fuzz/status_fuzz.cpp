// What `troupe status` shows of an object that came over a wire.

#include "troupe/app/status_report.hpp"
#include "troupe/tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::expect_result_or_failure([&] {
    const auto report = status_report(fuzz::text_of(bytes, size));
    for (const unsigned char c : report)
      fuzz::require(c == '\n' || (c >= 0x20 && c != 0x7f), "nothing moves the terminal");
  });
  return 0;
}
