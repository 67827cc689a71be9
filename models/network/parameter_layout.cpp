#include "models/network/parameter_layout.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

/// Elements that can be addressed as bytes.
constexpr size_t elements_max = std::numeric_limits<size_t>::max() / sizeof(float);

[[noreturn]] void refuse_size(const std::string& name) {
  throw std::length_error("parameter layout: with tensor '" + name + "' there are more than " +
                          std::to_string(elements_max) + " elements");
}

bool matches(std::string_view name, std::string_view pattern) {
  const auto star = pattern.find('*');
  if (star == pattern.npos)
    return name == pattern;
  if (!name.starts_with(pattern.substr(0, star)))
    return false;
  // What stands for the star: nothing, or one letter more each time.
  for (auto rest = name.substr(star);; rest.remove_prefix(1))
    if (matches(rest, pattern.substr(star + 1)))
      return true;
    else if (rest.empty())
      return false;
}

} // namespace

size_t parameter_layout::add(std::string name, std::vector<size_t> shape) {
  if (find(name))
    throw std::invalid_argument("parameter layout: two tensors are called '" + name + "'");
  if (shape.empty())
    throw std::invalid_argument("parameter layout: tensor '" + name + "' has no shape");
  size_t size = 1;
  for (auto extent : shape) {
    if (extent == 0)
      throw std::invalid_argument("parameter layout: tensor '" + name + "' has an extent of 0");
    if (size > elements_max / extent)
      refuse_size(name);
    size *= extent;
  }
  if (size > elements_max - size_)
    refuse_size(name);
  tensors_.push_back({std::move(name), std::move(shape), size_, size});
  size_ += size;
  return tensors_.size() - 1;
}

const tensor_info* parameter_layout::find(std::string_view name) const noexcept {
  for (const auto& tensor : tensors_)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

void parameter_layout::set_pieces(std::vector<layout_piece> pieces) {
  size_t next = 0;
  std::vector<size_t> left; // of each tensor
  for (const auto& tensor : tensors_)
    left.push_back(tensor.size);
  for (const auto& piece : pieces) {
    const auto& tensor = tensors_.at(piece.tensor);
    const auto columns = tensor.shape.size() > 1 ? tensor.shape.back() : 1;
    if (piece.offset != next || piece.columns.end > columns ||
        piece.rows.end > tensor.size / columns || piece.size() > left[piece.tensor])
      throw std::invalid_argument("parameter layout: a piece of '" + tensor.name + "' at " +
                                  std::to_string(piece.offset) + " does not fit");
    next += piece.size();
    left[piece.tensor] -= piece.size();
  }
  if (next != size_ && !pieces.empty())
    throw std::invalid_argument("parameter layout: pieces of " + std::to_string(next) +
                                " elements for " + std::to_string(size_));
  pieces_ = std::move(pieces);
}

void parameter_layout::to_logical(std::span<const float> working, std::span<float> logical) const {
  require_sizes(working.size(), logical.size());
  for (const auto& tensor : tensors_)
    for_each_run(tensor, [&](size_t element, size_t place, size_t count) {
      copy_values(working.subspan(place, count),
                  logical.begin() + static_cast<std::ptrdiff_t>(tensor.offset + element));
    });
}

void parameter_layout::to_working(std::span<const float> logical, std::span<float> working) const {
  require_sizes(logical.size(), working.size());
  for (const auto& tensor : tensors_)
    for_each_run(tensor, [&](size_t element, size_t place, size_t count) {
      copy_values(logical.subspan(tensor.offset + element, count),
                  working.begin() + static_cast<std::ptrdiff_t>(place));
    });
}

std::span<const float> parameter_layout::in_logical_order(std::span<const float> working,
                                                          std::vector<float>& storage) const {
  if (pieces_.empty())
    return working;
  storage.resize(size_);
  to_logical(working, storage);
  return storage;
}

void parameter_layout::require_sizes(size_t from, size_t to) const {
  if (from != size_ || to != size_)
    throw std::invalid_argument("parameter layout: " + std::to_string(from) + " and " +
                                std::to_string(to) + " values for " + std::to_string(size_));
}

std::vector<size_t> elements_of(const axis_order& x) {
  const auto axes = x.extents.size();
  std::vector<size_t> strides(axes); // of our axes, in their elements
  size_t size = 1;
  for (size_t i = axes; i-- > 0;) {
    strides[x.order[i]] = size;
    size *= x.extents[x.order[i]];
  }
  std::vector<size_t> result(size);
  std::vector<size_t> at(axes);
  for (auto& theirs : result) {
    for (size_t i = 0; i < axes; ++i)
      theirs += at[i] * strides[i];
    for (size_t i = axes; i-- > 0 && ++at[i] == x.extents[i];)
      at[i] = 0;
  }
  return result;
}

bool is_like(const std::string& name, const std::string& pattern) {
  return matches(name, pattern);
}

std::vector<index_range> ranges_of(const parameter_layout& layout,
                                   const std::function<bool(const tensor_info&)>& takes) {
  std::vector<index_range> result;
  const auto add = [&](const tensor_info& tensor, size_t offset, size_t size) {
    if (!takes(tensor))
      return;
    if (!result.empty() && result.back().end == offset)
      result.back().end += size;
    else
      result.push_back({offset, offset + size});
  };
  if (layout.pieces().empty())
    for (const auto& tensor : layout.tensors())
      add(tensor, tensor.offset, tensor.size);
  for (const auto& piece : layout.pieces())
    add(layout.tensors()[piece.tensor], piece.offset, piece.size());
  return result;
}

} // namespace troupe
