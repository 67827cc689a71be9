#include "models/kinds/chain_kind.hpp"

#include "models/network/activation.hpp"

#include <string>
#include <vector>

namespace troupe {

namespace {

/// Extents of a layer: their products stay far from what a number can hold.
constexpr double extent_max = 1 << 24;
/// Of factors and the like: as a float it is neither 0 nor infinite.
constexpr double factor_max = 1e30;
constexpr double factor_min = 1e-30;

template <class Enum>
option_range any_of() {
  std::vector<std::string> names;
  for (const auto& [value, name] : name_table<Enum>::entries)
    names.emplace_back(name);
  return one_of(std::move(names));
}

void add_value_layers(layer_table& out) {
  out.add<dense_options>(
    "dense", {1, "f(x W^T + b): by position of rows {positions, width}, else of the whole row"},
    {option("units", &dense_options::units, within(1, extent_max), "values out"),
     option("activation", &dense_options::activation, any_of<activation_kind>(), "f"),
     option("bias", &dense_options::bias, anything(), "adds b"),
     option("flatten", &dense_options::flatten, anything(), "takes the whole row in any case"),
     option("initialization", &dense_options::initialization, any_of<initialization_kind>(),
            "of the weight")},
    &make_dense);
  out.add<activation_options>(
    "activation", {1, "a function of each value"},
    {option("function", &activation_options::function, any_of<activation_kind>(), "which")},
    &make_activation);
  out.add<scale_options>(
    "scale", {1, "factor x + offset, of each value"},
    {option("factor", &scale_options::factor, within(-factor_max, factor_max),
            "1 / 255 for pixels"),
     option("offset", &scale_options::offset, within(-factor_max, factor_max), "what 0 becomes")},
    &make_scale);
  out.add<dropout_options>(
    "dropout", {1, "values dropped in training"},
    {option("rate", &dropout_options::rate, from_to_below(0, 1), "share that is dropped")},
    &make_dropout);
}

void add_image_layers(layer_table& out) {
  out.add<convolution_options>(
    "convolution", {1, "of rows {height, width, channels}"},
    {option("channels", &convolution_options::channels, within(1, extent_max), "channels out"),
     option("kernel", &convolution_options::kernel, within(1, 4096), "height and width"),
     option("stride", &convolution_options::stride, within(1, 4096), "places from one to the next"),
     option("padding", &convolution_options::padding, one_of({"valid", "same"}),
            "same: zeros around, as many places out as in at stride 1"),
     option("activation", &convolution_options::activation, any_of<activation_kind>(),
            "a function of each value"),
     option("bias", &convolution_options::bias, anything(), "adds one to each channel"),
     option("initialization", &convolution_options::initialization, any_of<initialization_kind>(),
            "of the weight")},
    &make_convolution);
  out.add<pool_options>(
    "pool", {1, "a value for each window, channel by channel"},
    {option("over", &pool_options::over, one_of({"max", "mean", "last"}), "what is taken"),
     option("size", &pool_options::size, within(0, extent_max), "of a window; 0: all positions"),
     option("stride", &pool_options::stride, within(0, extent_max),
            "places from one to the next; 0: the size")},
    &make_pool);
}

void add_sequence_layers(layer_table& out) {
  out.add<embedding_options>(
    "embedding", {1, "codes 0, 1, .. to vectors of a table; other codes to its last row"},
    {option("categories", &embedding_options::categories, within(1, extent_max), "codes"),
     option("width", &embedding_options::width, within(1, extent_max), "of a vector"),
     option("scale", &embedding_options::scale, within(factor_min, factor_max),
            "deviation of the initial values")},
    &make_embedding);
  out.add<positions_options>(
    "positions", {1, "adds a learned vector to each position"},
    {option("scale", &positions_options::scale, within(factor_min, factor_max),
            "deviation of the initial values")},
    &make_positions);
  out.add<layer_norm_options>(
    "layer-norm", {1, "mean 0 and deviation 1 over the last extent, then weight and bias"},
    {option("epsilon", &layer_norm_options::epsilon, within(factor_min, factor_max),
            "added to the variance")},
    &make_layer_norm);
  out.add<attention_options>(
    "attention", {1, "each position sees others, by heads"},
    {option("heads", &attention_options::heads, within(1, 4096), "H, which divides the width"),
     option("causal", &attention_options::causal, anything(), "sees itself and those before"),
     option("initialization", &attention_options::initialization, any_of<initialization_kind>(),
            "of the weights")},
    &make_attention);
}

} // namespace

layer_table& layers() {
  static layer_table table{"layer", {"residual", "block"}}; // chain_kind.cpp has these
  static const bool is_filled =
    (add_value_layers(table), add_image_layers(table), add_sequence_layers(table), true);
  static_cast<void>(is_filled);
  return table;
}

} // namespace troupe
