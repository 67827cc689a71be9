// `kind = "chain"` of a job's model: layers one behind the other, as text.
//
//   [model]
//   kind = "chain"
//   shape = [28, 28, 1]                  # how a row is meant; by default one vector
//   layers = """
//   convolution channels=32 activation=relu
//   pool size=2
//   dense units=128 activation=relu
//   """
//
// Beside the kinds of layers there are `residual { .. }`, whose layers' output is added to their input,
// and `block repeat=N { .. }`, the same layers N times with parameters of their own. The scores are those
// of a dense layer of the whole row at the end, unless head = false: then the last layer gives them.
// An item may give the version of its kind; the program refuses another one than its own. With parts = N
// attentions and pairs of dense layers at the ends of residual blocks are computed in parts.

#pragma once

#include "models/kinds/kind_table.hpp"
#include "models/kinds/option.hpp"
#include "models/layers/layer_options.hpp"
#include "models/network/layer_chain.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// Layers of a chain: the table of their kinds. Those of the library stand in it as those that an
// application adds do, before the first job is read.

using layer_table = kind_table<layer, layer_input>;

/// The process's; also of threads that come and go.
layer_table& layers();

struct chain_options {
  std::vector<size_t> shape; ///< empty: {F}
  std::string layers;
  bool head = true;
  size_t parts = 1; ///< in which attentions and pairs of dense layers are computed
};

/// More is a mistake, such as a block that is repeated in a block.
inline constexpr size_t chain_steps_max = 1'000;

/// For rows of F features and C scores. Throws std::invalid_argument that names the layer for text that is
/// none, and for layers that do not fit each other or the rows.
std::unique_ptr<layer_chain> make_chain(const chain_options& x, size_t features, size_t outputs,
                                        const loss_options& loss);

/// Returns what is wrong with the options, or brings `layers` to one form: every option, in order.
std::vector<option_problem> settle_chain(component& x);

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
