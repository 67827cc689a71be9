// Expected tensor: what a process needs from others, until it has it. Which pieces count, what is
// missing, and which peer to ask for it.
//
//   piece                                                        verdict      what happens
//   ------------------------------------------------------------------------------------------
//   of a kind, part or elements that are not expected, or made in
//     this process                                               unexpected   nothing
//   of a later key (of a later term)                             early        nothing
//   of an earlier key (of an earlier term), or older than the
//     newest three keys that are gathered                        stale        nothing
//   without values; of a node there is not; of a key beyond the
//     last; elements that no number can count                    malformed    nothing
//   its values do not have their checksum                        damaged      nothing: asked again
//   every element is here, or a sum that it is in                known        nothing
//   the same elements, or facts, with other bits                 conflict     a machine computes
//                                                                             wrongly: its owner's
//   otherwise                                                    accepted     kept; maybe whole
//
// Nothing that is refused takes memory or time off the repair clock. Rules of the three forms:
//
// - Plain (state, orders, results): one key, some parts, each of one leaf. Complete when every part
//   is whole.
// - Sums (gradients): one key; every node of the tree may come, each is whole by itself. A leaf is
//   missing while no whole node covers it. Of nodes that came in part the process asks for the rest alone.
// - Newest (parameters): a key that becomes whole replaces all before it, and the next is expected.
//   Usually keys become whole one by one. A process that was away finds that the others have gone
//   on: it asks for what it misses *or newer*, and takes the highest key that becomes whole, a
//   *jump*. All owners are at v or v + 1 and keep both, so v can be had whole. The process gathers
//   three keys: the one that it wants, and the two that an owner may have.

#pragma once

#include "coordinators/exchange/arriving_tensor.hpp"
#include "coordinators/exchange/repair_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// Keys gathered at a time where the newest counts.
inline constexpr size_t gathered_keys_max = 3;

/// Elements of a piece end below this: sums of counts stay far from the end of their type.
inline constexpr uint64_t element_count_max = uint64_t{1} << 48;

/// A peer that has, or will have, the sums over these leaves of these elements. No source names
/// leaves that do not exist (a slice without rows).
struct tensor_source {
  peer_id peer = peer_id::director;
  index_range elements;
  index_range leaves = only_leaf;

  friend bool operator==(const tensor_source&, const tensor_source&) = default;
};

struct expectation {
  tensor_kind kind = tensor_kind::state;
  uint64_t key = 0;
  index_range elements{};
  index_range parts{0, 1};
  size_t leaf_count = 1; ///< more than one: sums
  bool newest = false;   ///< later keys are as good, up to `last_key`
  uint64_t last_key = 0;
  std::shared_ptr<const element_window> needed{}; ///< of the elements; null: all of them
  std::vector<tensor_source> sources{};
  std::vector<index_range> made_here{}; ///< elements that are offered, and taken from no wire
  tensor_memory memory{};
  tensor_sink sink{};        ///< instead of memory: of plain ones
  bool may_share = false;    ///< a buffer that holds all of it need not be copied
  bool comes_unasked = true; ///< false: asked for at once
  bool is_fetched = false;   ///< no peer sends it unasked: to ask once is no repair
  bool tells = false;        ///< the sender of its last piece is to know when it is whole

  bool is_plain() const { return leaf_count == 1 && !newest; }
};

class expected_tensor {
public:
  /// Throws std::invalid_argument for the newest of several parts or leaves.
  expected_tensor(expectation what, moment now);

  /// A piece of this kind has come. `is_own`: it was made in this process.
  piece_verdict offer(const tensor_piece& news, moment now, bool is_own = false);

  /// Tensors that became whole since the last call go to the end of `out`.
  void take_arrived(std::vector<exchange_effect>& out);

  /// Other peers have it now; what is here stays.
  void set_sources(std::vector<tensor_source> sources) { what_.sources = std::move(sources); }

  /// True when it is time to ask, and something is missing.
  bool due(moment now);
  /// Calls `ask(peer, tensor_want)` for all that is missing.
  template <class Function>
  void ask(uint64_t term, const Function& ask_peer) const {
    for (const auto key : asked_keys())
      for (uint64_t part = what_.parts.begin; part < what_.parts.end; ++part)
        for (const auto& source : what_.sources)
          for (const auto& leaves : missing_leaves(key, part, source.leaves)) {
            tensor_want question{{what_.kind, term, key, leaves, part}, {}, false};
            question.or_newer = what_.newest && key == what_.key;
            for (const auto& range : missing_elements(question.of))
              if (const auto own = shared_part(range, source.elements); !own.empty())
                question.elements.push_back(own);
            if (!question.elements.empty())
              ask_peer(source.peer, std::move(question));
          }
  }

  tensor_kind kind() const { return what_.kind; }
  /// The key that is expected; of the newest the next.
  uint64_t key() const { return what_.key; }
  const index_range& elements() const { return what_.elements; }
  const index_range& parts() const { return what_.parts; }
  bool tells() const { return what_.tells; }
  /// It was asked for as it is every time, and that did not suffice.
  bool is_asked_again() const { return what_.is_fetched && times_asked_ > 1; }
  size_t arriving_count() const { return here_.size(); }

  friend bool operator==(const expected_tensor& a, const expected_tensor& b) {
    return a.what_.kind == b.what_.kind && a.what_.key == b.what_.key &&
           a.what_.elements == b.what_.elements && a.what_.parts == b.what_.parts &&
           a.what_.sources == b.what_.sources && a.here_ == b.here_ && a.clock_ == b.clock_;
  }

private:
  piece_verdict judge_name(const tensor_name& name) const;
  bool has_room_for(uint64_t key) const;
  void make_room_for(uint64_t key);
  /// The place of a tensor; null when nothing of it is here.
  const arriving_tensor* find(const tensor_name& name) const;
  arriving_tensor& place_for(const tensor_name& name);
  bool is_within_a_whole_sum(const tensor_name& name) const;
  bool is_complete() const;
  void tell_whole(const arriving_tensor& x);
  std::vector<uint64_t> asked_keys() const;
  std::vector<index_range> missing_leaves(uint64_t key, uint64_t part,
                                          const index_range& leaves) const;
  /// Of the tensors with a leaf in common with `name`; all, when those that are here do not cover
  /// its leaves.
  std::vector<index_range> missing_elements(const tensor_name& name) const;

  expectation what_;
  std::vector<arriving_tensor> here_;
  std::vector<tensor_arrived> news_;
  repair_clock clock_;
  size_t times_asked_ = 0;
};

} // namespace troupe
