// What `troupe trace show` makes of a file that a flight recorder is said to have left.

#include "app/run/flight_report.hpp"
#include "data/text/shown_text.hpp"
#include "tests/fuzz/hostile.hpp"

#include <algorithm>
#include <span>

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto all = std::as_bytes(std::span{bytes, size});
  fuzz::expect_result_or_failure([&] {
    const auto log = read_flight(all, "here");
    fuzz::require(log.used_bytes <= size, "what is used is there");
    size_t records = 0;
    for (const auto& track : log.tracks)
      records += track.records.size();
    fuzz::require(records <= size / 16, "a record takes 16 bytes");
    auto report = flight_report(log, 20);
    std::ranges::replace(report, '\n', ' ');
    fuzz::require(printable_text(report) == report, "nothing moves the terminal");
    flight_json(log);
  });
  return 0;
}
