// All messages that can come over a wire: every registered type but handles of actors and those
// that never leave their process.

#pragma once

#include "actors/net/links/messages.hpp"
#include "actors/net/names/messages.hpp"
#include "actors/protocol/boundary_messages.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/protocol/collective_messages.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/protocol/status_messages.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/protocol/tensor_messages.hpp"
#include "actors/protocol/write_messages.hpp"

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace troupe::fuzz {

template <class Block, class Indices>
struct types_in;

template <class Block, size_t... Indices>
struct types_in<Block, std::index_sequence<Indices...>> {
  using type = std::tuple<
    typename caf::type_by_id<static_cast<caf::type_id_t>(Block::begin + Indices)>::type...>;
};

template <class Block>
using types_of =
  typename types_in<Block, std::make_index_sequence<Block::end - Block::begin>>::type;

template <class T>
concept sent = !caf::allowed_unsafe_message_type<T>::value;

template <class T>
using one_or_none = std::conditional_t<sent<T>, std::tuple<T>, std::tuple<>>;

template <class Tuple>
struct only_sent;

template <class... Types>
struct only_sent<std::tuple<Types...>> {
  using type = decltype(std::tuple_cat(one_or_none<Types>{}...));
};

using wire_types = typename only_sent<types_of<caf::id_block::troupe_messages>>::type;

inline constexpr size_t wire_type_count = std::tuple_size_v<wire_types>;

/// Calls `visit` with a fresh message of the type at `index`.
template <class Visit>
void with_message(size_t index, Visit visit) {
  [&]<size_t... Indices>(std::index_sequence<Indices...>) {
    ((index == Indices ? visit(std::tuple_element_t<Indices, wire_types>{}) : void()), ...);
  }
  (std::make_index_sequence<wire_type_count>{});
}

} // namespace troupe::fuzz
