// The collective rule: one member's view of all-reduce, reduce-scatter, all-gather, broadcast,
// scatter and barrier among n members (`collective_route` says which member sends which elements to which).
//
// Sums run along the canonical tree over members (coordinators/base/canonical_tree.hpp) once all
// summands are here: same bits whatever arrives first, in one stage or two.
//
// A round ends once at each member, with values or with a problem that names a member:
//
//   part of a round that is over                    -> ignored
//   part of a round that has not begun here         -> kept, and checked when it begins
//   part that is here already, alike                -> ignored
//   part of another kind, root, count or size, or a
//   piece that was not granted                      -> the round fails
//   a member is lost and has not sent all, or is
//   still to be sent something                      -> the round fails, and later ones do
//   the deadline is over                            -> the round fails
//
// Parts of members in other processes come in pieces (`part_pieces`): an open round grants its senders
// what it still needs, and adds sums piece by piece while they are in the caches.
//
// A member that fails a round sends that to all others, so it fails for all that have not ended it.
// Some may have ended it: a root, which waits for no member, or a member that had all its parts before.

#pragma once

#include "coordinators/base/canonical_tree.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/collective/collective_call.hpp"
#include "coordinators/collective/part_pieces.hpp"
#include "coordinators/exchange/link_limits.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/buffer.hpp"
#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

// Collective route: which member sends which elements to which.
//
// There is one algorithm. The N values of a round have owners, 1/n each. In the first stage members
// bring owners what these are to own; in the second owners bring it to the members that want all.
// Each operation is one stage or both:
//
//                                 scatter stage     gather stage       bytes a member sends
//   reduce-scatter                all to all                           (n-1)/n N
//   all-gather, barrier                             all to all         (n-1) times its own
//   all-reduce                    all to all        all to all         2 (n-1)/n N
//   all-reduce in one stage       all to all                           (n-1) N
//   scatter                       root to others                       root (n-1)/n N
//   broadcast                     root to others    others to others   root N, others (n-2)/(n-1) N
//
// In one stage every member owns everything. In a broadcast the root owns nothing: its part would
// have to go to all others, and the root would send 2 (n-1)/n N. An empty part goes out too, so
// each member knows how many parts to wait for.
struct collective_route {
  collective_kind kind = collective_kind::barrier;
  size_t root = 0; ///< of broadcast and scatter
  size_t member_count = 1;
  bool one_stage = false; ///< of all-reduce

  /// Whether a part of this stage goes from one member to the other.
  bool travels(collective_stage stage, size_t from, size_t to) const;

  /// The elements of N that this member owns; of a broadcast, a member other than the root.
  index_range owned(size_t count, size_t member) const;
};

inline bool has_root(collective_kind kind) {
  return kind == collective_kind::broadcast || kind == collective_kind::scatter;
}

inline bool is_sum(collective_kind kind) {
  return kind == collective_kind::all_reduce || kind == collective_kind::reduce_scatter;
}

inline bool collective_route::travels(collective_stage stage, size_t from, size_t to) const {
  if (from == to)
    return false;
  if (stage == collective_stage::scatter)
    return is_sum(kind) || (has_root(kind) && from == root);
  switch (kind) {
  case collective_kind::all_reduce:
    return !one_stage;
  case collective_kind::broadcast:
    return from != root && to != root;
  default:
    return kind == collective_kind::all_gather || kind == collective_kind::barrier;
  }
}

inline index_range collective_route::owned(size_t count, size_t member) const {
  if (one_stage)
    return {0, count};
  if (kind != collective_kind::broadcast)
    return split_evenly(count, member_count)[member];
  return split_evenly(count, member_count - 1)[member - (member > root ? 1 : 0)];
}

/// The same at all members.
struct collective_options {
  size_t member_count = 1; ///< n >= 1
  /// Of a round, from its call here. As long as Gloo waits; doubled, a member that hangs holds all
  /// others up for twice as long. One that ends is noticed at once.
  milliseconds deadline{30'000};
  /// An all-reduce of so much takes one stage. On a loopback wire 64 KiB cross in 35 us, less than
  /// a stage's wakings take. Doubled, a group of n sends n/2 times the bytes for sums up to there.
  size_t one_stage_bytes_max = size_t{64} << 10;
  piece_limits pieces{}; ///< of parts for members in other processes
};

/// Rounds not begun here of which a member keeps what arrives: pointers in one process, and of a member
/// in another one `eager_pieces` a round. A root waits for no member: one that runs further ahead counts as lost; a
/// barrier now and then keeps it near. Doubled, a member may hold twice the memory for others.
inline constexpr size_t early_rounds_max = 64;

/// What a member is to do now.
struct collective_outcome {
  struct addressed_part {
    size_t to = 0;
    collective_part part;
  };

  struct addressed_grant {
    size_t to = 0;
    collective_grant grant;
  };

  std::vector<addressed_part> parts;
  std::vector<addressed_grant> grants;
  std::vector<collective_failure> failures; ///< each to all others
  std::vector<collective_end> ends;
};

class collective_rule {
public:
  /// Throws std::invalid_argument for a member that is none of `member_count`.
  collective_rule(const collective_options& options, size_t member);

  /// Why this call cannot begin; empty when it can.
  std::string refusal(const collective_call& call) const;

  /// The application calls. Throws std::invalid_argument for what `refusal` refuses.
  collective_outcome begin(const collective_call& call, moment now);

  /// A part arrived. Of no other member: ignored.
  collective_outcome on_part(const collective_part& part);

  /// A round failed for another member.
  collective_outcome on_failure(const collective_failure& news);

  /// A member ended, for this reason. No other takes its place.
  collective_outcome on_lost(size_t member, const std::string& why);

  /// Time passed.
  collective_outcome on_time(moment now);

  bool has_open_rounds() const { return !rounds_.empty(); }

private:
  using slots = std::vector<arriving_part>; ///< by sender

  struct open_round {
    collective_call call;
    collective_route route;
    moment deadline;
    std::optional<uint64_t> count{}; ///< N, once it is known
    std::array<slots, 2> here{};     ///< by stage; its own part of each among them
    std::array<bool, 2> sent{};      ///< by stage
    buffer sum{};                    ///< once there is some of it
    uint64_t summed = 0;             ///< elements of it
  };
  using open_rounds = std::map<uint64_t, open_round>;

  struct early_round {
    std::vector<collective_part> parts; ///< one a sender, stage and first element
    std::string problem;                ///< empty: none so far
  };

  open_round opened(const collective_call& call, moment now) const;
  void keep(const collective_part& part, collective_outcome& result);
  std::string unfit_early(const early_round& early, const collective_part& part) const;
  early_round take_early(uint64_t round);
  /// Null: its sender is too far ahead, and lost.
  early_round* early_at(uint64_t round, size_t from, collective_outcome& result);
  std::string problem_of(open_round& round, const early_round& early) const;
  /// Takes a part in, or says what is wrong with it.
  std::string admit(open_round& round, const collective_part& part) const;
  std::string disagreement(const open_round& round, const collective_part& part) const;
  size_t expected_size(const open_round& round, const collective_part& part) const;

  /// The senders of a stage that are not here yet.
  std::vector<size_t> missing(const open_round& round, collective_stage stage) const;
  bool needs(const open_round& round, size_t member) const;
  std::string overdue(const open_round& round) const;

  void advance(open_rounds::iterator at, collective_outcome& result);
  void grant(open_round& round, collective_outcome& result) const;
  void send(open_round& round, collective_stage stage, collective_outcome& result) const;
  /// What this member owns after the first stage.
  float_view own_part(const open_round& round);
  /// What `member` is to own, of this member's values.
  float_view part_for(const open_round& round, size_t member) const;
  /// The elements that all summands are here of.
  void add_up(open_round& round);
  float_view joined(const slots& parts);
  buffer room_for(size_t size);

  void fail(open_rounds::iterator at, const std::string& why, collective_outcome& result);
  void end(open_rounds::iterator at, collective_end news, collective_outcome& result);

  collective_options options_;
  size_t member_ = 0;
  reduction_plan plan_;
  reducer adder_;
  uint64_t next_round_ = 0; ///< the first that may begin
  open_rounds rounds_;
  std::map<uint64_t, early_round> early_;
  std::map<size_t, std::string> lost_;                   ///< why, by member
  std::map<size_t, std::shared_ptr<buffer_pool>> pools_; ///< of results, by size
};

} // namespace troupe
