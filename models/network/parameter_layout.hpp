// Where each tensor of a model lives inside its one flat parameter buffer.
//
// Tensors are packed in the order they were added, without padding: the order of wire and files.
// Gradients have the layout of their parameters.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct tensor_info {
  std::string name;          ///< "layers.0.weight"
  std::vector<size_t> shape; ///< row-major; every extent >= 1
  size_t offset = 0;         ///< of the first element, in elements
  size_t size = 0;           ///< elements: the product of the shape

  friend bool operator==(const tensor_info&, const tensor_info&) = default;
};

class parameter_layout {
public:
  /// Appends a tensor and returns its index. Throws std::invalid_argument for a name in use, an
  /// empty shape or an extent of 0, std::length_error when its elements, or those of the whole
  /// buffer, cannot be addressed.
  size_t add(std::string name, std::vector<size_t> shape);

  const std::vector<tensor_info>& tensors() const noexcept { return tensors_; }

  /// Elements of the whole buffer.
  size_t size() const noexcept { return size_; }

  /// The tensor called `name`; null when there is none.
  const tensor_info* find(std::string_view name) const noexcept;

  friend bool operator==(const parameter_layout&, const parameter_layout&) = default;

private:
  std::vector<tensor_info> tensors_;
  size_t size_ = 0;
};

} // namespace troupe
