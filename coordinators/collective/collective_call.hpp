// The messages of a collective's members: the call of a round, its parts on their way, its end.
// Plain structs: actors give them a form on a wire.

#pragma once

#include "models/base/buffer.hpp"
#include "models/base/names.hpp"

#include <cstdint>
#include <string>

namespace troupe {

enum class collective_kind : uint8_t {
  all_reduce,     ///< every member has N values and gets their sum over members
  reduce_scatter, ///< the same, but member k gets the k-th part of the sum
  all_gather,     ///< all get all members' values in member order, each as many as it likes
  broadcast,      ///< every member gets the root's N values
  scatter,        ///< member k gets the k-th part of the root's N values
  barrier         ///< no member goes on before all have come
};

template <>
struct name_table<collective_kind> {
  static constexpr std::array entries{named(collective_kind::all_reduce, "all-reduce"),
                                      named(collective_kind::reduce_scatter, "reduce-scatter"),
                                      named(collective_kind::all_gather, "all-gather"),
                                      named(collective_kind::broadcast, "broadcast"),
                                      named(collective_kind::scatter, "scatter"),
                                      named(collective_kind::barrier, "barrier")};
};

/// What a part is for: `scatter` brings an owner what it is to own (a sum's summands, the root's
/// values), `gather` brings an owner's values to the members that want all.
enum class collective_stage : uint8_t { scatter, gather };

/// What an application asks of its member. The k-th part of N values for n members is
/// [floor(k N / n), floor((k + 1) N / n)).
struct collective_call {
  uint64_t round = 0; ///< the same for all members; rises from call to call
  collective_kind kind = collective_kind::barrier;
  uint64_t root = 0; ///< of broadcast and scatter; else 0
  float_view values; ///< N, or own ones; of broadcast and scatter only the root's count
};

/// member -> member: a part, or a piece of one to a member of another process. Its fields describe
/// the round as its sender sees it.
struct collective_part {
  uint64_t round = 0;
  uint64_t from = 0;
  collective_kind kind = collective_kind::barrier;
  uint64_t root = 0;
  collective_stage stage = collective_stage::gather;
  uint64_t count = 0; ///< N; of an all-gather the sender's own
  float_view values;
  uint64_t first = 0; ///< values of the part before these
  uint64_t rest = 0;  ///< and behind them

  bool is_whole() const { return first == 0 && rest == 0; }
  /// Values of the whole part.
  uint64_t size() const { return first + values.size() + rest; }

  friend bool operator==(const collective_part&, const collective_part&) = default;
};

/// member -> the sender of a part in pieces: pieces up to this element may come. Idempotent.
struct collective_grant {
  uint64_t round = 0;
  uint64_t from = 0;
  collective_stage stage = collective_stage::gather;
  uint64_t until = 0;

  friend bool operator==(const collective_grant&, const collective_grant&) = default;
};

/// member -> all others: the round has failed there, and so it has for all.
struct collective_failure {
  uint64_t round = 0;
  uint64_t from = 0;
  std::string why; ///< names the member that is to blame

  friend bool operator==(const collective_failure&, const collective_failure&) = default;
};

/// member -> its application.
struct collective_end {
  uint64_t round = 0;
  float_view values;
  std::string problem; ///< empty: it went well

  friend bool operator==(const collective_end&, const collective_end&) = default;
};

} // namespace troupe
