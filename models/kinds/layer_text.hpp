// The layers of a chain as text, one a line or separated by `;`, options as name=value, and what stands
// in braces belongs to the layer in front of it:
//
//   embedding categories=65 width=64
//   positions
//   block repeat=4 {
//     residual { layer-norm; attention heads=4 causal=true }
//     residual { layer-norm; dense units=256 activation=gelu; dense units=64 }
//   }
//
// A value is true, false, a number, a list of numbers as [3, 3], or a word, quoted where it has other
// characters than letters, digits, - and _. A # and what follows in its line is left out.

#pragma once

#include "models/kinds/option.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct layer_item {
  component own;                 ///< kind and options
  std::vector<layer_item> inner; ///< what stands in braces
  bool has_inner = false;        ///< there are braces
  size_t line = 0;               ///< where it stood in a text, from 1; 0: in none

  /// Wherever they stood.
  friend bool operator==(const layer_item& a, const layer_item& b) {
    return a.own == b.own && a.inner == b.inner && a.has_inner == b.has_inner;
  }
};

/// So deep may braces be.
inline constexpr size_t layer_depth_max = 4;

/// Throws std::invalid_argument that says where and what: "line 2: ...".
std::vector<layer_item> layers_from_text(std::string_view text);

/// Text that gives the same items, in one line.
std::string text_of(const std::vector<layer_item>& items);

} // namespace troupe
