// What a node keeps of others' work, piece by piece: a desk for each local shard, and the state
// that is put together for a term that begins. Plain objects: the node's shell feeds them.

#pragma once

#include "troupe/actors/base/version_buffers.hpp"
#include "troupe/actors/protocol/cluster_messages.hpp"
#include "troupe/coordinators/exchange/gradient_gathering.hpp"
#include "troupe/coordinators/exchange/repair_clock.hpp"
#include "troupe/coordinators/exchange/version_gathering.hpp"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// A contribution that is put together from pieces.
struct assembled_gradient {
  batch_sums sums;
  uint64_t replica = 0;
  std::chrono::nanoseconds computed{0}; ///< as far as anybody said
  payload values;                       ///< the one piece, when it is the whole span
  buffer storage;                       ///< else: of the span's size
};

/// What a node has for one local shard that owns a span.
struct shard_desk {
  size_t shard = 0; ///< index in the view
  size_t local = 0; ///< index in the process
  gradient_gathering gathering;
  std::map<tree_node, assembled_gradient> gradients; ///< of the shard's step
  std::map<uint64_t, payload> versions;              ///< the last two it announced
  std::map<uint64_t, shard_copy> copies;             ///< for checkpoints, the last two
  repair_clock gradients_clock;
  repair_clock norms_clock;
  std::shared_ptr<buffer_pool> storages; ///< of the span's size, made when the first is needed

  uint64_t version() const { return gathering.version(); }
  const index_range& span() const { return gathering.span(); }

  enum class piece_verdict : uint8_t { ignored, accepted, conflict };
  struct accepted_piece {
    piece_verdict verdict = piece_verdict::ignored;
    std::optional<contribution> whole; ///< to be handed to the shard
  };
  /// A piece of a gradient for this shard.
  accepted_piece offer(const gradient_piece& news);

  /// The shard owns this version now.
  void advance(uint64_t version, const payload& parameters);

  void keep_copy(const shard_copy& copy);
};

/// The state of a checkpoint for the shards of this process, while it comes from the director.
class restoring_state {
public:
  /// `spans`: of local shards. Slot 0 are the parameters.
  restoring_state(uint64_t version, std::vector<index_range> spans, size_t slot_count);

  uint64_t version() const { return version_; }
  /// True when it told something new.
  bool offer(const state_piece& news, buffer& parameters);
  bool offer(const shard_numbers& news);
  bool is_whole() const;
  /// Elements that are missing in some slot, or whose numbers are.
  std::vector<index_range> missing() const;

  /// What the shard of span `index` starts from, beside the parameters.
  std::vector<payload> slots_of(size_t index) const;
  const shard_numbers& numbers_of(size_t index) const { return *numbers_.at(index); }

private:
  uint64_t version_;
  std::vector<index_range> spans_;
  std::vector<span_set> here_;                        ///< by slot
  std::vector<std::vector<buffer>> slots_;            ///< by span and slot, from slot 1 on
  std::vector<std::optional<shard_numbers>> numbers_; ///< by span
};

/// Elements that both ranges have; empty when there are none.
index_range common_part(const index_range& a, const index_range& b);

/// The part of `values`, which begin at element `first_element` of the model, on `elements`.
payload part_of(const payload& values, uint64_t first_element, const index_range& elements);

/// Cuts a range of elements into pieces of at most `size`.
std::vector<index_range> cut(const index_range& elements, size_t size);

} // namespace troupe
