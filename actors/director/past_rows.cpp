#include "actors/director/past_rows.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace troupe {

bool past_rows::add(const past_row& newest, uint64_t row_version, uint64_t reach) {
  const auto row = plan_.last_row(row_version);
  if (rows_.contains(row))
    return false;
  if (row > 0 && !rows_.contains(plan_.last_row(row - 1)))
    rows_.clear();
  rows_[row] = newest;
  rows_.erase(rows_.begin(), rows_.lower_bound(plan_.last_row(row - std::min(row, reach))));
  while (best_count() > bests_max)
    rows_.erase(rows_.begin());
  return true;
}

index_range past_rows::versions() const {
  return rows_.empty() ? index_range{}
                       : index_range{rows_.begin()->first, plan_.next_row(rows_.rbegin()->first)};
}

past_row past_rows::return_to(uint64_t version) {
  rows_.erase(rows_.upper_bound(version), rows_.end());
  auto result = rows_.at(plan_.last_row(version));
  if (std::exchange(result.memory.version, version) != version)
    result.memory.last_loss.reset();
  result.memory.is_saved = false;
  return result;
}

size_t past_rows::best_count() const {
  std::set<uint64_t> versions;
  for (const auto& [version, row] : rows_)
    if (row.memory.best)
      versions.insert(row.memory.best->version);
  return versions.size();
}

} // namespace troupe
