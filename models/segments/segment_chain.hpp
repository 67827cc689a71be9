// A chain of segments: a model as the parts that actors carry, and how they are computed.
//
//   x_0 --> [segment 0] -- boundary 0 --> [segment 1] -- boundary 1 --> ... [segment n-1] --> scores
//             parts t                    parts t
//
// At a boundary activations are whole. Their reader *enters* the next segment: it makes the segment's input
// of them. On the way back it *derives*: it turns the derivative by that input into the derivative behind
// the segment before. Parts without units do not exist; a segment that is not cut is a single part, 0.
// dense_chain.hpp has networks of dense layers, models/network/layer_chain.hpp chains of layers.
//
// Parameters lie in *working order*: part by part, in each segment by segment, so that what one actor
// carries is contiguous and products need no strides; behind them what segments have but once, such as
// the biases of layers cut by inputs. With one part that is the logical order of files. A *tile* is what a
// part of a segment has, or what all its parts have in common.
//
// Shapes: R rows, I and O a segment's inputs and outputs.
//
// Everything here is a pure function of what lies in `memory`, one batch's: several batches may be
// under way in as many workspaces. Equal rows give equal bits, on any actor.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/buffer.hpp"
#include "models/base/element_window.hpp"
#include "models/base/index_range.hpp"
#include "models/math/reduction.hpp"
#include "models/math/tree_accumulator.hpp"
#include "models/segments/layer_cuts.hpp"

#include <bit>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

struct chain_segment {
  layer_segment layers;
  size_t in_width = 0;                           ///< I
  size_t out_width = 0;                          ///< O
  std::vector<std::optional<size_t>> part_sizes; ///< parameters of each part that exists
  size_t common_size = 0;                        ///< of what all parts have in common
};

/// What is known of a chain's segments and parts, and where the parameters of each lie.
class chain_facts {
public:
  chain_facts(std::vector<chain_segment> segments, size_t part_count)
    : segments_(std::move(segments)),
      part_count_(part_count),
      tiles_(segments_.size(), std::vector<index_range>(part_count + 1)) {
    for (const auto& x : segments_)
      layers_.push_back(x.layers);
    size_t next = 0;
    for (size_t t = 0; t <= part_count_; ++t)
      for (size_t k = 0; k < size(); ++k) {
        const auto size =
          t < part_count_ ? segments_[k].part_sizes[t].value_or(0) : segments_[k].common_size;
        tiles_[k][t] = {next, next + size};
        next += size;
      }
  }

  size_t size() const { return segments_.size(); }
  size_t part_count() const { return part_count_; }
  const layer_segment& segment(size_t k) const { return layers_[k]; }
  const std::vector<layer_segment>& segments() const { return layers_; }
  size_t in_width(size_t k) const { return segments_[k].in_width; }
  size_t out_width(size_t k) const { return segments_[k].out_width; }
  bool exists(size_t k, size_t t) const { return segments_[k].part_sizes[t].has_value(); }
  /// Whether what is behind the segment is a sum over its parts. Else it is one part's alone, or lies
  /// packed by part: the scores of a last layer cut by outputs.
  bool adds_parts(size_t k) const { return layers_[k].cut == layer_cut::inputs; }
  bool splits_scores() const { return layers_.back().cut == layer_cut::outputs; }

  /// Of a part that exists, or what all have in common (t = part_count()), in working order.
  index_range tile(size_t k, size_t t) const { return tiles_[k][t]; }
  /// Calls visit(k, t, elements) for each tile, segment by segment.
  template <class Visit>
  void for_each_tile(const Visit& visit) const {
    for (size_t k = 0; k < size(); ++k)
      for (size_t t = 0; t <= part_count_; ++t)
        if (!tiles_[k][t].empty())
          visit(k, t, tiles_[k][t]);
  }

private:
  std::vector<chain_segment> segments_;
  std::vector<layer_segment> layers_;
  size_t part_count_;
  std::vector<std::vector<index_range>> tiles_; ///< by segment and part, the common one last
};

class segment_chain : public chain_facts {
public:
  virtual ~segment_chain() = default;

  // ---- For plans ----

  /// Whether batches have sparse rows.
  virtual bool reads_sparse() const { return false; }
  /// Whether `memory`, rows and parameters may be a device's (models/device/device_memory.hpp).
  virtual bool runs_on_devices() const { return false; }
  /// Floats of a device beside memory_floats, of so many rows.
  virtual uint64_t device_scratch(size_t) const { return 0; }
  /// Values behind each layer, for people.
  virtual std::vector<size_t> layer_widths() const = 0;
  /// How the layers of segment k are cut.
  virtual std::vector<layer_cut> cuts_of(size_t k) const = 0;
  /// Multiply-adds of a row in some parts of segment k: forward, the derivative by what is read unless
  /// that is data, and the gradient, which for a segment that is not cut counts with part 0.
  virtual uint64_t multiply_adds(size_t k, const index_range& parts) const = 0;
  /// Floats of `memory` for some segments: of `rows` rows going forward, `derived` on the way back.
  virtual uint64_t memory_floats(const index_range& segments, size_t rows,
                                 size_t derived) const = 0;
  /// Units of the smallest part of a layer that is cut; nothing when none is, or it does not say.
  virtual std::optional<size_t> smallest_part() const { return std::nullopt; }

  // ---- Rows in memory ----

  /// The rows behind segment k as its derivative needs them (R x O); scores behind the last.
  virtual std::span<float> output(size_t k, const batch& rows, workspace& memory) const = 0;
  /// Those of them that part `t` alone makes.
  virtual std::span<float> output(size_t k, size_t t, const batch& rows,
                                  workspace& memory) const = 0;
  /// The derivative behind segment k, before its activation (R x O).
  virtual std::span<float> delta(size_t k, const batch& rows, workspace& memory) const = 0;
  virtual std::span<float> delta(size_t k, size_t t, const batch& rows,
                                 workspace& memory) const = 0;
  /// Scores of a part, of C, where they are split.
  virtual index_range score_units(size_t t) const = 0;
  /// Scores in order of their units (R x C).
  virtual std::span<const float> whole_scores(const batch& rows, workspace& memory) const = 0;
  /// Slots of `memory` from this one on are free.
  size_t slot_count() const { return own_slot_count() + sum_slots; }

  // ---- Forward ----

  /// Makes what segment k reads from what is behind the one before. `drops`: as training does.
  virtual void enter(size_t k, const batch& rows, bool drops, workspace& memory) const = 0;
  /// `out`: the part's product (R x O) where parts are added, else its rows of output(k).
  virtual void forward(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
                       bool drops, workspace& memory, std::span<float> out) const = 0;
  /// Makes some rows of output(k), from `first_row` on, in place, from the sum over the parts.
  virtual void finish(size_t k, size_t first_row, const windowed_values& parameters,
                      const batch& rows, workspace& memory, std::span<float> values) const = 0;

  // ---- Backward ----

  /// From delta(k): the part's share of the derivative by what segment k reads (R x I) to `out`; for
  /// segment 0 there is none, `out` is empty.
  virtual void backward(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
                        workspace& memory, std::span<float> out) const = 0;
  /// Takes rows of the derivative by what segment k > 0 reads, from `first_row` on, in place to those
  /// behind the segment before.
  virtual void derive(size_t k, size_t first_row, const batch& rows, workspace& memory,
                      std::span<float> values) const = 0;
  /// The gradient of tile(k, t), to `out` (its size).
  virtual void gradient(size_t k, size_t t, const batch& rows, workspace& memory,
                        std::span<float> out) const = 0;

  /// Adds what compute(part, out) writes for each existing part of [begin, end), a node of the tree over
  /// all, along that tree. False when no part exists; then `out` is not written.
  template <class Compute>
  bool add_parts(size_t k, size_t begin, size_t end, std::span<float> out, workspace& memory,
                 const Compute& compute) const {
    if (end - begin == 1) {
      if (exists(k, begin))
        compute(begin, out);
      return exists(k, begin);
    }
    const auto middle = begin + left_size(end - begin);
    const bool left = add_parts(k, begin, middle, out, memory, compute);
    // For the right child; what lies below it needs scratch for fewer parts.
    const auto sums = own_slot_count() + static_cast<size_t>(std::bit_width(end - begin));
    const auto other = left ? memory.slot(sums, out.size()) : out;
    const bool right = add_parts(k, middle, end, other, memory, compute);
    if (left && right)
      add_into(out, other);
    return left || right;
  }

protected:
  using chain_facts::chain_facts;

private:
  static constexpr size_t sum_slots = 65; ///< by the size of a node of the tree over parts
  virtual size_t own_slot_count() const = 0;
};

} // namespace troupe
