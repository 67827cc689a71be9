// A layer of a chain (models/network/layer_chain.hpp): a description of shapes and constants.
//
//   forward    y from x; what backward needs beside x and y goes to `kept`
//   backward   dx from dy, after forward of the same rows; may overwrite dy and kept
//   gradient   the layer's own gradient from x and dy, after backward has made of dy what it likes
//
// Parameters, values and derivatives are the caller's memory; a layer keeps nothing between calls and
// is called by several threads at once. A row's result depends on that row alone: no layer reads
// statistics of a batch. Sums over rows run in row order, in pieces that follow from shapes alone.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/buffer.hpp"
#include "models/base/index_range.hpp"
#include "models/network/initialization.hpp"
#include "models/network/parameter_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// How the values of a row lie: {width}, {positions, width}, or {height, width, channels}; row-major.
using row_shape = std::vector<size_t>;

/// The product of the extents.
size_t size_of(const row_shape& x);

/// Values of a row, of a tensor, or kept: more than any machine has, and far from what a number can hold.
inline constexpr size_t layer_values_max = size_t{1} << 40;

/// Throws std::invalid_argument when the product is above `layer_values_max`, or an extent is 0.
void require_bounded(const row_shape& x);

/// "28 x 28 x 1".
std::string text_of(const row_shape& x);
/// Throws std::invalid_argument for what is not {positions, width}.
void require_sequence(const row_shape& x);

/// The value of this name. Throws std::invalid_argument when there is none.
template <class Enum>
Enum named_value(const std::string& name) {
  if (const auto value = from_name<Enum>(name))
    return *value;
  throw std::invalid_argument("'" + name + "' is none of " + all_names<Enum>());
}

/// A tensor of a layer's parameters, and how it begins.
struct layer_tensor {
  std::string name; ///< "weight"
  std::vector<size_t> shape;
  initialization_kind initial = initialization_kind::zero;
  size_t inputs = 1;  ///< fan-in of `initial`
  size_t outputs = 1; ///< fan-out
  double scale = default_initialization_scale;
  float constant = 0; ///< of `zero`: what all begin with
  axis_order torch{}; ///< how PyTorch orders it
};

class layer;

/// How a layer is computed in parts, each by another actor.
enum class part_way : uint8_t {
  outputs, ///< a part of what it gives
  inputs,  ///< from a part of what it reads; what parts give is added
  alone    ///< as a part of what is inside; what parts give is added
};

/// A part of a layer, which is a layer. Where what parts give is added, the bias is none of them's.
struct layer_part {
  struct piece {
    size_t tensor = 0; ///< of the whole layer
    index_range rows;  ///< of the tensor seen as rows of its last extent; a vector is a column
    index_range columns;
  };
  std::unique_ptr<layer> does; ///< null: there is no such part
  std::vector<piece> pieces;   ///< its parameters, in their order
};

/// Slots that a layer may use while it is called.
inline constexpr size_t scratch_slots = 32;

/// What a layer gets beside its values.
struct layer_call {
  std::span<const float> parameters; ///< its tensors, one behind the other
  std::span<float> kept;             ///< rows x kept_size
  const batch& rows;                 ///< R rows: their numbers, seed and step
  bool trains = false;               ///< a gradient follows: what is random in training is so here
  uint32_t number = 0;               ///< of the layer in its chain
  workspace& memory;
  size_t first_slot = 0; ///< of `memory`

  /// Throws std::out_of_range for an index that is not below `scratch_slots`.
  std::span<float> scratch(size_t index, size_t size) const {
    if (index >= scratch_slots)
      throw std::out_of_range("a layer has so many slots: " + std::to_string(scratch_slots));
    return memory.slot(first_slot + index, size);
  }
};

/// Shapes: R rows, I values of a row in, O out.
class layer {
public:
  virtual ~layer() = default;

  const row_shape& input() const noexcept { return input_; }
  const row_shape& output() const noexcept { return output_; }
  size_t input_size() const { return size_of(input_); }
  size_t output_size() const { return size_of(output_); }
  const std::vector<layer_tensor>& tensors() const noexcept { return tensors_; }
  /// Of all tensors, in elements.
  size_t parameter_count() const;
  /// Floats a row that are kept from forward to gradient.
  size_t kept_size() const noexcept { return kept_size_; }
  /// Whether `trains` changes what forward gives.
  virtual bool is_random() const { return false; }
  /// Whether a value in has a derivative at all; a code that is looked up has none.
  virtual bool is_differentiable() const { return true; }
  /// Whether its values may be a device's (models/device/device_memory.hpp).
  virtual bool runs_on_devices() const { return false; }
  /// Floats of scratch there, of so many rows, that count beside what is kept.
  virtual uint64_t device_scratch(size_t) const { return 0; }
  /// Multiply-adds of a row, forward, of matrix products.
  virtual uint64_t multiply_adds() const { return 0; }
  /// Whether it can be computed in parts this way.
  virtual bool has_parts(part_way) const { return false; }
  /// Part `t` of them, of a way that it has.
  virtual layer_part part(part_way way, size_t t, size_t parts) const;

  /// y (R x O) is written, from x (R x I).
  virtual void forward(const layer_call& call, std::span<const float> x,
                       std::span<float> y) const = 0;
  /// dx (R x I) is written, from dy (R x O). An empty dx is not asked for, but dy has to be made ready.
  virtual void backward(const layer_call& call, std::span<const float> x, std::span<const float> y,
                        std::span<float> dy, std::span<float> dx) const = 0;
  /// `out` (parameter_count) is written; not called without parameters.
  virtual void gradient(const layer_call& call, std::span<const float> x, std::span<const float> dy,
                        std::span<float> out) const;

protected:
  layer(row_shape input, row_shape output) : input_(std::move(input)), output_(std::move(output)) {}

  std::vector<layer_tensor> tensors_;
  size_t kept_size_ = 0;

private:
  row_shape input_;
  row_shape output_;
};

} // namespace troupe
