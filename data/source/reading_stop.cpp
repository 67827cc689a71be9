#include "troupe/data/source/reading_stop.hpp"

#include "troupe/data/text/failure.hpp"

#include <utility>

namespace troupe {

namespace {

thread_local const reading_stop* current = nullptr;

} // namespace

reading_stop::reading_stop(std::function<bool()> requested)
  : requested_(std::move(requested)), outer_(std::exchange(current, this)) {}

reading_stop::~reading_stop() {
  current = outer_;
}

void reading_stop::check() {
  if (current && current->requested_ && current->requested_())
    throw failure(failure_code::interrupted,
                  "stopped while the data were read: nothing was trained");
}

} // namespace troupe
