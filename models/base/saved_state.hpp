// Saved state: what an object remembers from one version to the next. It has the two forms of a
// checkpoint: vectors of the model's size and a few numbers. An object that goes on from it gives
// the bits of one that never stopped.
//
//   object --save--> state_saver --> saved_state --> state_loader --load--> another object
//
// Each such class says its shape, saves and loads in the same order, and knows nothing of the
// others: the owner of several lets one after the other take its part. Doubles travel as two
// vectors, of their lower and their upper words: their bits as floats, which are never computed
// with.

#pragma once

#include "models/base/buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// How much an object saves, always the same for its options.
struct state_shape {
  size_t vector_count = 0; ///< of P values each
  size_t number_count = 0;

  friend bool operator==(const state_shape&, const state_shape&) = default;
  friend state_shape operator+(const state_shape& a, const state_shape& b) {
    return {a.vector_count + b.vector_count, a.number_count + b.number_count};
  }
  friend state_shape operator*(size_t count, const state_shape& x) {
    return {count * x.vector_count, count * x.number_count};
  }
};

/// Vectors that take one vector of doubles.
inline constexpr size_t vectors_of_doubles = 2;

struct saved_state {
  std::vector<const_buffer> vectors; ///< P each; not written any more
  std::vector<double> numbers;       ///< finite

  state_shape shape() const { return {vectors.size(), numbers.size()}; }
};

class state_saver {
public:
  /// For vectors of P values.
  explicit state_saver(size_t size) : size_(size) {}

  /// A vector that is not written any more: shared.
  void share(const const_buffer& values) { result_.vectors.push_back(values); }
  /// P values, or none: zeros are saved in their place.
  void copy(std::span<const float> values);
  void copy(std::span<const double> values);
  void number(double value) { result_.numbers.push_back(value); }
  /// At most 2^53.
  void count(uint64_t value) { number(static_cast<double>(value)); }

  saved_state take() { return std::move(result_); }

private:
  size_t size_;
  saved_state result_;
};

class state_loader {
public:
  /// Of a shape that its reader knows: see state_shape. It must outlive the loader.
  /// `first_number`: where its reader's numbers begin.
  explicit state_loader(const saved_state& from, size_t first_number = 0)
    : from_(from), next_number_(first_number) {}

  /// The next one. Throws std::invalid_argument when there is none, std::out_of_range for a number
  /// that is none of a count.
  const_buffer vector();
  std::vector<double> doubles();
  double number();
  uint64_t count();

private:
  const saved_state& from_;
  size_t next_vector_ = 0;
  size_t next_number_;
};

} // namespace troupe
