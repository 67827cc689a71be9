#include "coordinators/modes/span_model.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace {

void require_in_order(bool holds, const sequence_entry& entry, const char* what) {
  if (!holds)
    throw std::logic_error("sequence: entry " + std::to_string(entry.position) + ", task " +
                           std::to_string(entry.number) + ": " + what);
}

} // namespace

void sequence_follower::put(uint64_t number, span_vectors update) {
  if (open_.contains(number))
    updates_[number] = std::move(update);
}

sequence_follower::followed sequence_follower::follow(const sequence_entry& entry) {
  require_in_order(entry.position == position_ + 1, entry, "it is not the next one");
  position_ = entry.position;
  followed result;
  if (entry.kind == entry_kind::close) {
    result.is_finite = model_->close(entry);
    ++closed_count_;
    return result;
  }
  if (entry.kind == entry_kind::give) {
    require_in_order(open_.insert(entry.number).second, entry, "it was given before");
    result.given = model_->give(entry);
    return result;
  }
  require_in_order(open_.erase(entry.number) > 0, entry, "it is not open");
  auto update = updates_.extract(entry.number);
  if (entry.kind == entry_kind::drop)
    model_->drop(entry);
  else {
    require_in_order(!update.empty(), entry, "its update is not here");
    model_->take(entry, update.mapped());
  }
  return result;
}

} // namespace troupe
