// Multi-head attention. Of each row of L positions x D and each of H heads of width h = D / H:
//
//   Q, K, V (L x h)    columns of x W_in^T + b_in
//   A = softmax(Q K^T / sqrt(h)) line by line; causal: keys behind the position are exactly 0
//   y                  (A V of all heads, side by side) W_out^T + b_out
//
// There is one product a row and head, on the columns where they lie.

#include "models/base/multiversion.hpp"
#include "models/device/device_queue.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/layer_options.hpp"
#include "models/math/elementary.hpp"
#include "models/math/lanes.hpp"
#include "models/math/moves.hpp"
#include "models/math/products.hpp"
#include "models/segments/layer_cuts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace troupe {

namespace {

using products::matrix_of, products::multiply_each, products::result_of;

/// The softmax of `factor` times the line; factor > 0.
TROUPE_MULTIVERSION void soften(float* __restrict line, size_t count, float factor) {
  float most = line[0];
  for (size_t i = 1; i < count; ++i)
    most = line[i] > most ? line[i] : most;
  for (size_t i = 0; i < count; ++i)
    line[i] = elementary::exp(factor * (line[i] - most));
  const auto share = 1.0f / lane_sum<float>(count, [=](size_t i) { return line[i]; });
  for (size_t i = 0; i < count; ++i)
    line[i] *= share;
}

/// da becomes the derivative before the softmax, by what was multiplied with `factor`.
TROUPE_MULTIVERSION void derive_softmax(const float* __restrict a, float* __restrict da,
                                        size_t count, float factor) {
  const auto sum = lane_sum<float>(count, [=](size_t i) { return a[i] * da[i]; });
  for (size_t i = 0; i < count; ++i)
    da[i] = factor * (a[i] * (da[i] - sum));
}

/// Softens lines of `length` values each, `length` of them a head.
void soften_lines(std::span<float> lines, size_t length, bool is_causal, float factor) {
  const auto count = lines.size() / length;
  if (auto* const device = device_of(lines))
    return device->run("soften", count, {lines, length, uint64_t{is_causal}, factor});
  for (size_t i = 0; i < count; ++i) {
    const auto line = lines.subspan(i * length, length);
    const auto seen = is_causal ? i % length + 1 : length;
    soften(line.data(), seen, factor);
    std::ranges::fill(line.subspan(seen), 0.0f);
  }
}

/// Of all lines: their softmaxes and their derivatives.
void derive_lines(std::span<const float> lines, std::span<float> derivative, size_t length,
                  float factor) {
  const auto count = lines.size() / length;
  if (auto* const device = device_of(derivative))
    return device->run("derive_softmax", count, {lines, derivative, length, factor});
  for (size_t i = 0; i < count; ++i)
    derive_softmax(lines.data() + i * length, derivative.data() + i * length, length, factor);
}

/// Of some heads, in all or as a part of a layer with more.
struct head_layout {
  size_t length = 1;     ///< L
  size_t width = 1;      ///< D
  size_t heads = 1;      ///< here
  size_t head_width = 1; ///< h
  bool is_causal = false;
  bool has_out_bias = true; ///< the sum over parts comes before it

  size_t inner() const { return heads * head_width; }
};

class attention final : public layer {
public:
  attention(const head_layout& x, initialization_kind initial)
    : layer({x.length, x.width}, {x.length, x.width}),
      x_(x),
      initial_(initial),
      length_(x.length),
      head_width_(x.head_width),
      inner_(x.inner()),
      scale_(1.0f / std::sqrt(static_cast<float>(x.head_width))),
      in_{x.width, 3 * x.inner()},
      out_{x.inner(), x.width, activation_kind::identity, x.has_out_bias} {
    tensors_.push_back({"in.weight", {3 * x.inner(), x.width}, initial, x.width, 3 * x.inner()});
    tensors_.push_back({"in.bias", {3 * x.inner()}});
    tensors_.push_back({"out.weight", {x.width, x.inner()}, initial, x.inner(), x.width});
    if (x.has_out_bias)
      tensors_.push_back({"out.bias", {x.width}});
    kept_size_ = length_ * 4 * x.inner() + x.heads * length_ * length_;
  }

  bool runs_on_devices() const override { return true; }
  uint64_t device_scratch(size_t rows) const override {
    return rows * uint64_t{length_} * (x_.heads * length_ + 2 * x_.inner());
  }
  uint64_t multiply_adds() const override {
    return uint64_t{length_} * x_.inner() * (4 * x_.width + 2 * length_);
  }

  bool has_parts(part_way way) const override { return way == part_way::alone; }

  layer_part part(part_way, size_t t, size_t parts) const override {
    const auto begin = part_begin(t, x_.heads, parts), end = part_begin(t + 1, x_.heads, parts);
    if (begin == end)
      return {};
    auto some = x_;
    some.heads = end - begin;
    some.has_out_bias = false;
    layer_part result;
    for (const size_t tensor : {0, 1})
      for (size_t i = 0; i < 3; ++i)
        result.pieces.push_back(
          {tensor,
           {i * x_.inner() + begin * x_.head_width, i * x_.inner() + end * x_.head_width},
           {0, tensor == 0 ? x_.width : 1}});
    result.pieces.push_back({2, {0, x_.width}, {begin * x_.head_width, end * x_.head_width}});
    result.does = std::make_unique<attention>(some, initial_);
    return result;
  }

  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    const auto kept = parts_of(call);
    in_.forward(call.parameters.first(in_.parameter_count()), x, kept.qkv);
    for_each_group(kept, call.rows.row_count, [&](const head_group& at) {
      multiply_each(of_own(at, query), of_own(at, key).transposed(),
                    result_of(at.weights, length_, length_),
                    repeated(at, own_steps(), own_steps(), weight_steps()));
      soften_lines({at.weights, at.count() * length_ * length_}, length_, x_.is_causal, scale_);
      multiply_each(matrix_of(at.weights, length_, length_), of_own(at, value),
                    {at.context, length_, head_width_, inner_},
                    repeated(at, weight_steps(), own_steps(), context_steps()));
    });
    out_.forward(call.parameters.subspan(in_.parameter_count()), kept.context, y);
  }

  /// The derivatives of Q, K and V take their place, each once the old values are not read any more.
  void backward(const layer_call& call, std::span<const float>, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    auto kept = parts_of(call);
    const auto d_context = call.scratch(0, kept.context.size());
    out_.backward(call.parameters.subspan(in_.parameter_count()), dy, d_context);
    kept.context = d_context;
    for_each_group(kept, call.rows.row_count, [&](const head_group& at) {
      const auto width = at.heads * head_width_;
      const auto d_weights = call.scratch(1, at.count() * length_ * length_);
      const auto d_query = call.scratch(2, at.rows * length_ * width);
      const products::matrix_view d_head{at.context, length_, head_width_, inner_};
      multiply_each(d_head, of_own(at, value).transposed(),
                    result_of(d_weights.data(), length_, length_),
                    repeated(at, context_steps(), own_steps(), weight_steps()));
      multiply_each(matrix_of(at.weights, length_, length_).transposed(), d_head, own(at, value),
                    repeated(at, weight_steps(), context_steps(), own_steps()));
      derive_lines({at.weights, d_weights.size()}, d_weights, length_, scale_);
      const auto d_scores = matrix_of(d_weights.data(), length_, length_);
      multiply_each(d_scores, of_own(at, key), {d_query.data(), length_, head_width_, width},
                    repeated(at, weight_steps(), own_steps(), {length_ * width, head_width_}));
      multiply_each(d_scores.transposed(), of_own(at, query), own(at, key),
                    repeated(at, weight_steps(), own_steps(), own_steps()));
      const auto lines = at.rows * length_;
      copy_columns({d_query, width, 0}, {{at.own, (lines - 1) * 3 * inner_ + width}, 3 * inner_, 0},
                   width, lines);
    });
    if (!dx.empty())
      in_.backward(call.parameters.first(in_.parameter_count()), kept.qkv, dx);
  }

  void gradient(const layer_call& call, std::span<const float> x, std::span<const float> dy,
                std::span<float> out) const override {
    const auto kept = parts_of(call);
    in_.gradient(x, kept.qkv, out.first(in_.parameter_count()));
    out_.gradient(kept.context, dy, out.subspan(in_.parameter_count()));
  }

private:
  struct kept_parts {
    std::span<float> qkv;     ///< R x L x 3 H h
    std::span<float> context; ///< R x L x H h
    std::span<float> weights; ///< R x H x L x L
  };

  /// Heads of some rows; these are places of the first one's.
  struct head_group {
    float* own;     ///< Q of the head within qkv; K and V are H h and 2 H h further
    float* context; ///< L lines, H h apart
    float* weights; ///< L x L
    size_t rows;
    size_t heads;

    size_t count() const { return rows * heads; }
  };

  using steps = std::array<size_t, 2>; ///< from row to row, from head to head

  steps own_steps() const { return {3 * inner_size(), head_width_}; }
  steps context_steps() const { return {inner_size(), head_width_}; }
  steps weight_steps() const { return {x_.heads * length_ * length_, length_ * length_}; }

  static products::repetition repeated(const head_group& at, const steps& a, const steps& b,
                                       const steps& out) {
    return {at.rows, at.heads, a, b, out};
  }

  enum which_part { query, key, value };

  products::result_view own(const head_group& at, which_part which) const {
    return {at.own + which * inner_, length_, head_width_, 3 * inner_};
  }

  products::matrix_view of_own(const head_group& at, which_part which) const {
    return {at.own + which * inner_, length_, head_width_, 3 * inner_};
  }

  kept_parts parts_of(const layer_call& call) const {
    const auto values = call.rows.row_count * inner_size();
    return {call.kept.first(3 * values), call.kept.subspan(3 * values, values),
            call.kept.subspan(4 * values)};
  }

  /// Head by head on a processor, which has each in its cache; on a device all at once.
  template <class Use>
  void for_each_group(const kept_parts& kept, size_t row_count, const Use& use) const {
    if (row_count > 0 && device_of(kept.qkv))
      return use(
        head_group{kept.qkv.data(), kept.context.data(), kept.weights.data(), row_count, x_.heads});
    for (size_t row = 0; row < row_count; ++row)
      for (size_t head = 0; head < x_.heads; ++head)
        use(head_group{kept.qkv.data() + row * 3 * inner_size() + head * head_width_,
                       kept.context.data() + row * inner_size() + head * head_width_,
                       kept.weights.data() + (row * x_.heads + head) * length_ * length_, 1, 1});
  }

  size_t inner_size() const { return length_ * inner_; }

  head_layout x_;
  initialization_kind initial_;
  size_t length_;
  size_t head_width_;
  size_t inner_; ///< H h
  float scale_;
  dense_layer in_;
  dense_layer out_;
};

} // namespace

std::unique_ptr<layer> make_attention(const attention_options& x, const layer_input& input) {
  require_sequence(input.shape);
  if (input.shape[1] % x.heads != 0)
    throw std::invalid_argument("a width of " + std::to_string(input.shape[1]) +
                                " is not divided by " + std::to_string(x.heads) + " heads");
  require_bounded({x.heads, input.shape[0], input.shape[0]});
  require_bounded({input.shape[0], 4 * input.shape[1]});
  require_bounded({3 * input.shape[1], input.shape[1]});
  return std::make_unique<attention>(
    head_layout{input.shape[0], input.shape[1], x.heads, input.shape[1] / x.heads, x.causal},
    named_value<initialization_kind>(x.initialization));
}

} // namespace troupe
