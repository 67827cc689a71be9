#include "coordinators/step/timeline.hpp"

#include "models/base/saturating.hpp"

#include <algorithm>

namespace troupe {

uint64_t timeline::steps_in_epoch() const {
  return (row_count + batch_size - 1) / batch_size;
}

uint64_t timeline::version_after_epochs() const {
  return saturated_product(epoch_count, steps_in_epoch());
}

uint64_t timeline::last_version() const {
  const auto by_epochs = version_after_epochs();
  return step_limit ? std::min(by_epochs, *step_limit) : by_epochs;
}

index_range timeline::rows_of(uint64_t step) const {
  const size_t begin = static_cast<size_t>(step % steps_in_epoch()) * batch_size;
  return {begin, std::min(begin + batch_size, row_count)};
}

uint64_t timeline::rows_before(uint64_t version) const {
  const auto steps = steps_in_epoch();
  const auto whole = saturated_product(version / steps, row_count);
  const auto rest = version % steps * batch_size; // less than an epoch's rows
  return whole > std::numeric_limits<uint64_t>::max() - rest ? whole : whole + rest;
}

index_range timeline::rows_of_slice(uint64_t step, size_t slice) const {
  const auto rows = rows_of(step);
  return {rows.begin + slice * rows.size() / slice_count,
          rows.begin + (slice + 1) * rows.size() / slice_count};
}

bool timeline::is_row(uint64_t version) const {
  return version > 0 && last_row(version) == version;
}

uint64_t timeline::next_row(uint64_t version) const {
  const auto period = saturated_product(history_every, steps_in_epoch());
  const auto rest = period - version % period;
  const auto max = std::numeric_limits<uint64_t>::max();
  const auto next = version > max - rest ? max : version + rest;
  const auto evaluated = next_evaluation(version);
  return evaluated > version ? std::min(next, evaluated) : next;
}

uint64_t timeline::last_row(uint64_t version) const {
  const auto at_or_below = [&](size_t epochs) {
    return version - version % saturated_product(epochs, steps_in_epoch());
  };
  if (version == last_version())
    return version;
  return std::max(at_or_below(history_every), evaluate_every > 0 ? at_or_below(evaluate_every) : 0);
}

bool timeline::evaluates(uint64_t version) const {
  return version == last_version() || schedules_evaluation(version);
}

bool timeline::schedules_evaluation(uint64_t version) const {
  return evaluate_every > 0 && version > 0 &&
         version % saturated_product(evaluate_every, steps_in_epoch()) == 0;
}

uint64_t timeline::next_evaluation(uint64_t version) const {
  if (evaluate_every == 0)
    return last_version();
  const auto period = saturated_product(evaluate_every, steps_in_epoch());
  return std::min((version / period + 1) * period, last_version());
}

size_t evaluation_chunk_count(size_t row_count) {
  return (row_count + evaluation_chunk_rows - 1) / evaluation_chunk_rows;
}

index_range evaluation_chunk(size_t row_count, size_t chunk) {
  const auto begin = chunk * evaluation_chunk_rows;
  return {begin, std::min(begin + evaluation_chunk_rows, row_count)};
}

} // namespace troupe
