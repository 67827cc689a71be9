// Arriving tensor: one tensor while it is put together from pieces, in any order, some twice.
//
// Values are copied to memory that is asked for with the first of them. Pieces may lie in one buffer
// already, each at its place (in one process, or as a single piece). If the owner allows it, that
// buffer is the result and nothing is copied. Or a sink of the owner takes the values as they come:
// then the tensor keeps none.
//
// An owner that needs only some elements gives a window (models/base/element_window.hpp): the tensor
// waits for these alone, and its values are the window's, packed.

#pragma once

#include "coordinators/base/span_set.hpp"
#include "coordinators/exchange/exchange_messages.hpp"
#include "models/base/element_window.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace troupe {

/// Where elements of a tensor go: value k of the storage is element first_element + k, or where the
/// window says.
struct float_window {
  buffer storage;
  uint64_t first_element = 0;
  std::shared_ptr<const element_window> window = {};

  bool covers(const index_range& x) const {
    return window ? window->contains(x) && window->size() <= storage.size()
                  : first_element <= x.begin && x.end - first_element <= storage.size();
  }
  size_t place_of(const index_range& x) const {
    return window ? window->place_of(x) : x.begin - first_element;
  }
  float_view part(const index_range& x) const { return {storage, place_of(x), x.size()}; }
};

/// Asked once for each tensor. Throws nothing that its caller does not expect of `on_piece`.
using tensor_memory = std::function<float_window(const tensor_name&)>;

/// Takes values that were not here before, from an element on.
using tensor_sink =
  std::function<void(const tensor_name&, uint64_t first_element, const float_view& values)>;

/// What comes of a piece (expected_tensor.hpp has the rules). Of several verdicts the last in this
/// list counts.
enum class piece_verdict : uint8_t {
  unexpected,
  early,
  stale,
  malformed,
  known,
  damaged,
  accepted,
  conflict,
};

class arriving_tensor {
public:
  /// `needed`: of these elements; null: all. `sink`: takes all values, so that there are none in the end.
  arriving_tensor(const tensor_name& of, const index_range& elements,
                  std::shared_ptr<const element_window> needed = {}, tensor_sink sink = {})
    : of_(of), elements_(elements), needed_(std::move(needed)), sink_(std::move(sink)) {}

  /// Takes what it does not have of an intact piece that has some of its elements: accepted, known,
  /// or conflict, which a sink does not notice. Throws std::invalid_argument when `memory` gives less than the elements need.
  piece_verdict offer(const tensor_piece& news, const tensor_memory& memory, bool may_share);

  const tensor_name& name() const { return of_; }
  const index_range& elements() const { return elements_; }
  const span_set& here() const { return here_; }
  bool is_whole() const;
  const tensor_note& note() const { return note_; }
  /// The values of its elements, or of those that are needed; those that are not here are anything.
  /// Empty with a sink.
  float_view values() const;

  /// The same elements of the same tensor are here.
  friend bool operator==(const arriving_tensor& a, const arriving_tensor& b) {
    return a.of_ == b.of_ && a.elements_ == b.elements_ && a.here_ == b.here_ && a.note_ == b.note_;
  }

private:
  /// The whole tensor as it would lie around the values of a piece; empty when their buffer has no
  /// room for it.
  float_view around(const tensor_piece& news) const;
  bool holds_same(const tensor_piece& news, const index_range& part) const;
  /// Calls `visit(part)` for what of these elements is needed.
  template <class Function>
  void for_each_needed(const index_range& part, const Function& visit) const {
    if (!needed_)
      return visit(part);
    for (const auto& one : needed_->shared_with(part))
      visit(one);
  }
  void store(const tensor_piece& news, const index_range& part, const tensor_memory& memory);
  void own(const tensor_memory& memory);

  tensor_name of_;
  index_range elements_;
  std::shared_ptr<const element_window> needed_;
  tensor_sink sink_; ///< empty: they are kept here
  span_set here_;
  float_view shared_; ///< others' memory that holds all that is here, each at its place
  float_window own_;  ///< its storage is empty until it is needed
  tensor_note note_;
};

} // namespace troupe
