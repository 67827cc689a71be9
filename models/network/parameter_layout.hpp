// Where each tensor of a model lives inside its one flat parameter buffer.
//
// Tensors are packed in the order they were added, without padding: the *logical* order, that of files
// and of users of a model. A model whose layers are cut in parts computes on parameters in *working*
// order, where each part is contiguous (segment_chain.hpp): the same elements in another order,
// described by `pieces`. So does one that reads sparse rows: the weights of a feature lie together
// (models/layers/dense.hpp). Without pieces both are one. Gradients have the layout of their
// parameters.

#pragma once

#include "models/base/index_range.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// How PyTorch orders the elements of a tensor that it orders otherwise: they are seen with `extents`, and its axes
/// are ours in `order`. A convolution's weight: {O, H, W, I} and {0, 3, 1, 2}. Empty: the same order.
struct axis_order {
  std::vector<size_t> extents{};
  std::vector<size_t> order{};

  bool empty() const { return order.empty(); }
};

/// PyTorch's element for each of ours, both counted from 0; `order` is not empty.
std::vector<size_t> elements_of(const axis_order& order);

struct tensor_info {
  std::string name;          ///< "layers.0.weight"
  std::vector<size_t> shape; ///< row-major; every extent >= 1
  size_t offset = 0;         ///< of the first element, in elements
  size_t size = 0;           ///< elements: the product of the shape

  friend bool operator==(const tensor_info&, const tensor_info&) = default;
};

/// A rectangle of a tensor, which is seen as rows of its last extent (a vector as a column), that lies
/// packed in the working order: row by row, or column by column.
struct layout_piece {
  size_t tensor = 0;
  index_range rows;
  index_range columns;
  size_t offset = 0; ///< of its first element in the working order
  bool by_columns = false;

  size_t size() const { return rows.size() * columns.size(); }
  friend bool operator==(const layout_piece&, const layout_piece&) = default;
};

class parameter_layout {
public:
  /// Appends a tensor and returns its index. Throws std::invalid_argument for a name in use, an
  /// empty shape or an extent of 0, std::length_error when its elements, or those of the whole
  /// buffer, cannot be addressed.
  size_t add(std::string name, std::vector<size_t> shape);

  /// Says where the working order has everything. Throws std::invalid_argument when the pieces are
  /// not each element once, one behind the other.
  void set_pieces(std::vector<layout_piece> pieces);

  const std::vector<tensor_info>& tensors() const noexcept { return tensors_; }
  /// Empty: the working order is the logical one.
  const std::vector<layout_piece>& pieces() const noexcept { return pieces_; }

  /// Copies all elements from one order to the other. Throws std::invalid_argument for other sizes.
  void to_logical(std::span<const float> working, std::span<float> logical) const;
  void to_working(std::span<const float> logical, std::span<float> working) const;

  /// Elements of the whole buffer.
  size_t size() const noexcept { return size_; }

  /// Values in logical order: `working` itself without pieces, else a copy in `storage`.
  std::span<const float> in_logical_order(std::span<const float> working,
                                          std::vector<float>& storage) const;

  /// Calls visit(element, place, count) for each run of a tensor's elements that lie together in the
  /// working order, from `place` on.
  template <class Visit>
  void for_each_run(const tensor_info& tensor, const Visit& visit) const {
    const auto columns = tensor.shape.size() > 1 ? tensor.shape.back() : 1;
    if (pieces_.empty())
      visit(size_t{0}, tensor.offset, tensor.size);
    for (const auto& piece : pieces_) {
      if (&tensors_[piece.tensor] != &tensor)
        continue;
      const auto width = piece.columns.size();
      if (piece.by_columns) {
        for (size_t i = 0; i < piece.size(); ++i)
          visit((piece.rows.begin + i % piece.rows.size()) * columns + piece.columns.begin +
                  i / piece.rows.size(),
                piece.offset + i, size_t{1});
        continue;
      }
      const auto rows = width == columns ? piece.rows.size() : 1; // whole rows are one run
      for (auto row = piece.rows.begin; row < piece.rows.end; row += rows)
        visit(row * columns + piece.columns.begin, piece.offset + (row - piece.rows.begin) * width,
              rows * width);
    }
  }

  /// The tensor called `name`; null when there is none.
  const tensor_info* find(std::string_view name) const noexcept;

  friend bool operator==(const parameter_layout&, const parameter_layout&) = default;

private:
  /// Calls visit(logical offset, working offset, count) for each run that both orders have.
  template <class Visit>
  void for_each_run(const Visit& visit) const;

  void require_sizes(size_t from, size_t to) const;

  std::vector<tensor_info> tensors_;
  std::vector<layout_piece> pieces_;
  size_t size_ = 0;
};

/// Whether the pattern matches the name; in a pattern * stands for any letters, as a shell has it.
bool is_like(const std::string& name, const std::string& pattern);

/// The elements, in working order, of the tensors that `takes` wants, neighbours joined.
std::vector<index_range> ranges_of(const parameter_layout& layout,
                                   const std::function<bool(const tensor_info&)>& takes);

} // namespace troupe
