// What `troupe status` shows of an object that came over a wire.

#include "actors/net/gate/visitor.hpp"
#include "app/terminal/reports.hpp"
#include "data/text/shown_text.hpp"
#include "tests/fuzz/hostile.hpp"

#include <algorithm>

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  for (const auto report_of : {status_report, wait_report})
    fuzz::expect_result_or_failure([&] {
      auto report = report_of(fuzz::text_of(bytes, size));
      std::ranges::replace(report, '\n', ' ');
      fuzz::require(printable_text(report) == report, "nothing moves the terminal");
    });
  fuzz::expect_result_or_failure([&] { read_visit_answer(fuzz::text_of(bytes, size), "here"); });
  return 0;
}
