// Which trainer may be given which piece of work and which chunks of an evaluation, where rows have holders: those of its own
// process's holding.

#pragma once

#include "coordinators/membership/holders.hpp"
#include "coordinators/step/timeline.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// Chunks that belong together, and whose rows they are; nobody's: all have them.
struct chunk_group {
  index_range chunks;
  std::optional<size_t> holding{};

  friend bool operator==(const chunk_group&, const chunk_group&) = default;
};

struct piece_homes {
  row_holders holders{}; ///< empty: all may be given everything
  timeline plan{};
  bool are_steps = false;            ///< pieces are steps of the plan, else the slices of each
  std::vector<chunk_group> chunks{}; ///< of evaluations, in order

  /// The first piece from `from` on that a process may be given; the largest number where there is none.
  uint64_t next(std::string_view process, uint64_t from) const {
    constexpr auto none = std::numeric_limits<uint64_t>::max();
    if (holders.empty())
      return from;
    const auto own = holders.of(process);
    if (!own)
      return none;
    if (are_steps)
      return plan.has_held_steps() ? plan.next_step_of(*own, from) : from;
    const auto slices =
      plan.holdings.empty() ? index_range{0, plan.slice_count} : plan.holdings[*own].slices;
    const auto piece = std::max<uint64_t>(from, slices.begin);
    return piece < slices.end ? piece : none;
  }
  bool may_take(std::string_view process, uint64_t piece) const {
    return next(process, piece) == piece;
  }
  /// Pieces below it may be begun, where the lowest that is not done is `lowest`. A small holding's steps are not all
  /// trained at once, before the others': they stand over the epoch. Each trainer may be a few ahead, so that those who
  /// are equally fast wait for nobody.
  uint64_t end(uint64_t lowest, size_t trainer_count) const {
    constexpr uint64_t steps_ahead = 4;
    return holders.empty() || !are_steps
             ? std::numeric_limits<uint64_t>::max()
             : lowest + steps_ahead * std::max<size_t>(trainer_count, 1);
  }
  bool may_judge(std::string_view process, const index_range& wanted) const {
    for (const auto& group : chunks)
      if (!wanted.empty() && group.chunks.contains(wanted))
        return !group.holding || holders.of(process) == group.holding;
    return true;
  }

  friend bool operator==(const piece_homes&, const piece_homes&) = default;
};

inline piece_homes homes_of(const row_holders& holders, const timeline& plan, bool are_steps,
                            const evaluation_rows& rows, const std::vector<holding_size>& sizes) {
  piece_homes result{holders, plan, are_steps};
  if (holders.empty())
    return result;
  size_t begin = 0;
  const auto add = [&](const chunked_rows& part, size_t holding_size::*own) {
    const bool are_theirs = std::ranges::any_of(sizes, [&](const auto& x) { return x.*own > 0; });
    if (!are_theirs) // a file that all read
      result.chunks.push_back({{begin, begin + part.chunk_count()}});
    for (size_t i = 0; are_theirs && i < sizes.size(); ++i) {
      const auto chunks = part.is_held() ? part.chunks_of(i) : index_range{0, part.chunk_count()};
      result.chunks.push_back({{begin + chunks.begin, begin + chunks.end}, i});
    }
    begin += part.chunk_count();
  };
  add(rows.test, &holding_size::test);
  add(rows.validation, &holding_size::validation);
  return result;
}

} // namespace troupe
