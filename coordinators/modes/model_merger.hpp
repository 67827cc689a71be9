// The model merger: one model from several that children trained on their own.
//
//   merge_options options;
//   options.rule = merge_rule::weighted;
//   options.weighting = merge_weighting::samples;        // federated averaging
//   auto merged = merge(options, {{.child = 3, .values = .., .sample_count = 120}, ..});
//
// Entries are sorted by child first; several of one child stay in their order. So the result's bits
// do not depend on the order of arrival. Models may have different tensors if each says its layout:
// they are merged over the union of their names, and what a model lacks counts as 0.
//
// The rules: models/merging/merge_rule.hpp.

#pragma once

#include "models/base/buffer.hpp"
#include "models/kinds/option.hpp"
#include "models/merging/merge_rule.hpp"
#include "models/merging/merge_weights.hpp"
#include "models/merging/robust.hpp"
#include "models/network/parameter_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct merge_options {
  merge_rule rule = merge_rule::average;
  merge_weighting weighting = merge_weighting::equal; ///< of `weighted` and `geometric_median`
  std::map<uint64_t, double> custom_weights = {};     ///< by child, >= 0; for weighting `custom`
  merge_rounding rounding = merge_rounding::none;
  size_t trimmed_count = 1; ///< trimmed_mean: values left out at each end
  size_t faulty_count = 0;  ///< krum, multi_krum: models that may be anything
  size_t kept_count = 0;    ///< multi_krum: models averaged; 0: n - faulty_count - 2
  geometric_median_options geometric = {};
  size_t target_count = 1; ///< regression_mean: T
  bool bias = true;        ///< regression_mean: the models have one
  component
    own{}; ///< of a rule that is added: its options, until `resolve` makes them one value with `rule`

  friend bool operator==(const merge_options&, const merge_options&) = default;
};

/// A child's model and what is known of it.
struct merge_entry {
  uint64_t child = 0;
  const_buffer values;                              ///< P
  uint64_t sample_count = 1;                        ///< rows it was trained on
  std::optional<judgement> judged = std::nullopt;   ///< for weightings `ratio` and `best`
  std::vector<double> gram = {};                    ///< for regression_mean (gram_matrix)
  std::shared_ptr<const parameter_layout> layout{}; ///< absent: all models have one layout
};

struct merged_model {
  std::vector<float> values;
  std::shared_ptr<const parameter_layout> layout; ///< absent if the entries had none
  std::vector<uint64_t> children;                 ///< of each entry, in the order they were merged
  std::vector<double> weights;                    ///< of each, where the rule has any
  bool converged = true; ///< false: geometric_median reached its limit of steps
};

/// The merged model. Throws std::invalid_argument for no entries, or for what does not fit the
/// rule: sizes, layouts (some with and some without one), weights, missing judgements or Gram
/// matrices, values that are not finite, too few models to outvote the faulty ones. `main`: what the entries began from,
/// for rules that are added.
merged_model merge(const merge_options& options, std::vector<merge_entry> entries,
                   std::span<const float> main = {});

/// What the rule would miss in this entry whatever came beside it: a judgement, a weight, a Gram
/// matrix. Nothing when it can be merged.
std::optional<std::string> misfit_of(const merge_options& options, const merge_entry& entry);

/// The least number of entries the rule can merge.
size_t entry_count_min(const merge_options& options);

} // namespace troupe
