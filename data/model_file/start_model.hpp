// A model that training begins from: the tensors of a safetensors file, and, where Troupe wrote it, how it reads rows.
//
// What its first layer learned to read stays as it is: the plan of its columns and the map of its features, unless the
// first tensor begins fresh. So do the classes and the scale of targets that its last layer learned to tell.

#pragma once

#include "data/model_file/known_reading.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/network/start_values.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class start_model {
public:
  /// Reads the file `options.start_from`: values of 16, 32 or 64 bits. Throws failure: bad_data, naming the path and the
  /// tensor, for values that are no such numbers or not finite, or a model file that is damaged; what tensor_file throws.
  explicit start_model(const start_options& options);

  /// A model in memory, which is copied. Of `options`, the path does not count.
  start_model(const saved_model& source, const start_options& options);

  /// How its rows are read.
  const known_reading& reading() const noexcept { return reading_; }

  /// What training begins from. `data`: prepared as its reading says. Throws failure(bad_job), naming the key, with a table to
  /// paste, where tensors do not match.
  std::shared_ptr<const start_values> values_for(const model& network, const prepared_data& data,
                                                 uint64_t seed) const;

private:
  void learn_from(const saved_model& source);

  start_options options_;
  parameter_layout layout_;
  std::vector<float> values_; ///< of all tensors, as they lie in the file
  bool is_torch_ = false;
  known_reading reading_;
};

} // namespace troupe
