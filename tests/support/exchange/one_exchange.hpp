// One exchange in term 1, with links to two peers, and what it asks its owner to do.

#pragma once

#include "coordinators/exchange/tensor_exchange.hpp"
#include "tests/support/exchange/exchange_wire.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

namespace troupe::test {

inline constexpr peer_id a{1};
inline constexpr peer_id b{2};
inline constexpr index_range all{0, 40};
inline constexpr size_t piece_elements = 10;
inline constexpr size_t piece_bytes = piece_elements * sizeof(float);

inline tensor_name version(uint64_t key, uint64_t term = 1) {
  return {tensor_kind::parameters, term, key};
}

inline tensor_name gradient(uint64_t step, const tree_node& node = {0, 1}) {
  return {tensor_kind::gradient, 1, step, node};
}

inline kept_tensor kept(const tensor_name& name, const index_range& elements = all) {
  return {name, elements.begin, true_values(name, elements), true_note(name)};
}

inline expectation versions_of(peer_id owner) {
  expectation what;
  what.kind = tensor_kind::parameters;
  what.elements = all;
  what.newest = true;
  what.last_key = 9;
  what.sources = {{owner, all}};
  what.memory = [](const tensor_name&) { return float_window{buffer{all.size()}}; };
  return what;
}

/// An exchange in term 1 with links to both, room for `pieces` pieces each.
class exchange_test : public testing::Test {
protected:
  exchange_test() { begin(4); }

  void begin(size_t pieces, number_format gradients = number_format::float32) {
    x = tensor_exchange{{pieces * piece_bytes, piece_elements, gradients}};
    x.begin_term(1);
    x.link_opened(a, 5, true);
    x.link_opened(b, 6, true);
  }

  /// What it has asked for since, of one kind.
  template <class T>
  std::vector<T> taken() {
    x.take_effects(effects);
    std::vector<T> result;
    for (const auto& effect : effects)
      if (const auto* one = std::get_if<T>(&effect))
        result.push_back(*one);
    return result;
  }

  void publish(const kept_tensor& what, const std::vector<tensor_route>& routes) {
    x.publish(what, routes, now);
  }
  void grow(const kept_tensor& what, const index_range& elements) {
    const tensor_route route{a, all};
    x.grow(what, elements, {&route, 1}, now);
  }
  void want(const tensor_name& name, std::vector<index_range> elements, bool or_newer = false) {
    x.on_want(a, {name, std::move(elements), or_newer}, now);
  }

  tensor_exchange x;
  moment now{};
  std::vector<exchange_effect> effects;
};

inline std::vector<index_range> elements_of(const std::vector<send_piece>& pieces) {
  std::vector<index_range> result;
  for (const auto& [to, what] : pieces)
    result.push_back({what.first_element, what.first_element + what.values.size()});
  return result;
}

using ranges = std::vector<index_range>;

} // namespace troupe::test
