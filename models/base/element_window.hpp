// Element window: some elements of a vector, packed in a buffer of their own.
//
// A replica that carries a part of a model has buffers for this part alone. Elements lie in their order,
// without gaps for missing ones:
//
//   elements   0      10     20     30     40
//   window            [10, 15)      [30, 40)         runs
//   buffer            0      5             15        places

#pragma once

#include "models/base/buffer.hpp"
#include "models/base/index_range.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

class element_window {
public:
  /// Elements that lie together, in the vector as in the buffer.
  struct run {
    index_range elements;
    size_t place = 0;

    friend bool operator==(const run&, const run&) = default;
  };

  element_window() = default;
  /// In any order; they may touch and overlap.
  explicit element_window(std::vector<index_range> elements);

  /// Of the buffer.
  size_t size() const {
    return runs_.empty() ? 0 : runs_.back().place + runs_.back().elements.size();
  }
  const std::vector<run>& runs() const { return runs_; }
  bool contains(const index_range& elements) const;
  /// Where these elements lie. Throws std::out_of_range unless all are there.
  size_t place_of(const index_range& elements) const;
  /// What of a range is there, in order.
  std::vector<index_range> shared_with(const index_range& elements) const;

  friend bool operator==(const element_window&, const element_window&) = default;

private:
  const run* run_with(size_t element) const;

  std::vector<run> runs_;
};

/// Values of a vector's elements: all of them, or those in a window.
struct windowed_values {
  std::span<const float> values;
  const element_window* window = nullptr; ///< null: values are all elements

  windowed_values() = default;
  windowed_values(std::span<const float> all) : values(all) {}
  windowed_values(std::span<const float> some, const element_window* at)
    : values(some), window(at) {}

  /// Throws std::out_of_range where they are not there.
  std::span<const float> at(const index_range& elements) const {
    const auto place = window == nullptr ? elements.begin : window->place_of(elements);
    return values.subspan(place, elements.size());
  }
};

/// The same, and the memory they lie in.
struct windowed_buffer {
  const_buffer storage;
  std::shared_ptr<const element_window> window; ///< null: all elements

  windowed_buffer() = default;
  windowed_buffer(const_buffer all, std::shared_ptr<const element_window> at = {})
    : storage(std::move(all)), window(std::move(at)) {}

  windowed_values values() const { return {storage.values(), window.get()}; }
};

} // namespace troupe
