// Parameters that training begins from in place of values by the seed: which tensor of a file each tensor of the model is.
//
// Strict: each tensor of both is used once, and its shape is the same. Who is who: as `names` says; else by equal names;
// else where one tensor of the model and one of the file have this shape. Order says nothing.

#pragma once

#include "models/base/buffer.hpp"
#include "models/losses/target_scale.hpp"
#include "models/network/model.hpp"
#include "models/network/parameter_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Names of the model's tensors, each with a name of the file's.
using tensor_names = std::vector<std::pair<std::string, std::string>>;

/// What a job says of the file. In patterns * stands for any letters.
struct start_options {
  std::string start_from{}; ///< path of a safetensors file; empty: none
  std::vector<std::string>
    start_fresh{}; ///< tensors of the model that begin by the seed all the same
  std::vector<std::string> start_ignore{}; ///< tensors of the file that are not used
  tensor_names start_names{};              ///< which are which

  friend bool operator==(const start_options&, const start_options&) = default;
};

/// Parameters that training begins from.
struct start_values {
  const_buffer parameters; ///< in working order
  target_scale scale{};    ///< of a regression's targets, as these values learned them
  std::string
    sha256; ///< of the values in logical order, the scale and how rows are read, hexadecimal
};

/// Numbers of tensors that are each other's.
struct tensor_pair {
  size_t own = 0;   ///< in the model's layout
  size_t other = 0; ///< in the file's
};

struct tensor_match {
  std::vector<tensor_pair> pairs; ///< by rising `own`; of tensors that begin fresh there is none
  std::string problem{};          ///< empty: every tensor has its other one
  std::string hint{};             ///< then: what to write, as TOML
};

/// `is_torch`: the file orders its values as PyTorch does (model::torch_order).
tensor_match match_tensors(const model& network, const parameter_layout& file,
                           const start_options& options, bool is_torch);

/// Copies a tensor's values from the order of PyTorch to the model's, or back.
void from_torch(const model& network, size_t tensor, std::span<const float> theirs,
                std::span<float> own);
void to_torch(const model& network, size_t tensor, std::span<const float> own,
              std::span<float> theirs);

/// The extents that PyTorch gives a tensor of the model.
std::vector<size_t> torch_shape(const model& network, size_t tensor);

/// The model's parameters, in logical order: by the seed, and those of pairs from the file's values.
std::vector<float> started_values(const model& network, const tensor_match& match,
                                  const parameter_layout& file, std::span<const float> values,
                                  bool is_torch, uint64_t seed);

} // namespace troupe
