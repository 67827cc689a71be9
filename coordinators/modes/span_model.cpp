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

bool sequence_follower::follow(const sequence_entry& entry) {
  require_in_order(entry.position == position_ + 1, entry, "it is not the next one");
  position_ = entry.position;
  switch (entry.kind) {
  case entry_kind::give:
    require_in_order(open_.contains(entry.number) || !entry.evaluates || entry.worker.empty(),
                     entry, "its version is gone");
    if (open_.contains(entry.number))
      break;
    if (entry.evaluates) {
      const auto [number, values] = evaluated();
      open_[entry.number] = {{values, {}}, number};
    } else
      open_[entry.number] = {model_->give(entry), model_number()};
    break;
  case entry_kind::take: {
    require_in_order(open_.erase(entry.number) > 0, entry, "it is not open");
    const auto update = updates_.extract(entry.number);
    require_in_order(!update.empty(), entry, "its update is not here");
    model_->take(entry, update.mapped());
    break;
  }
  case entry_kind::drop:
    require_in_order(open_.erase(entry.number) > 0, entry, "it is not open");
    updates_.erase(entry.number);
    if (!entry.evaluates)
      model_->drop(entry);
    break;
  case entry_kind::close:
    ++closed_count_;
    return model_->close(entry);
  case entry_kind::pass:
  case entry_kind::mark:
    break;
  }
  return true;
}

} // namespace troupe
