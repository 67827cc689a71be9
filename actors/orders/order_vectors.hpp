// The vectors of an order or of its result on their way: published by who has them, expected by who
// has the header. All are of the model's size; part k of the tensor is vector k.

#pragma once

#include "actors/base/exchange_port.hpp"
#include "models/base/buffer.hpp"
#include "models/optimizers/optimizer.hpp"

#include <memory>
#include <vector>

namespace troupe {

/// Vectors of `kind` go to one peer, and are kept until they are forgotten.
inline void publish_vectors(exchange_port& exchange, const tensor_name& first,
                            const std::vector<const_buffer>& vectors, peer_id to, moment now) {
  auto name = first;
  for (const auto& vector : vectors) {
    const tensor_route route{to, {0, vector.size()}};
    exchange->publish({.of = name, .values = {vector, 0, vector.size()}}, {&route, 1}, now);
    ++name.part;
  }
}

/// Where vectors come from: a pool of buffers of the model's size.
struct vector_buffers {
  std::shared_ptr<buffer_pool> pool;
  size_t size = 0;
};

/// Vectors that arrive; they may be written to, as a member's state is.
class arriving_vectors {
public:
  /// Expects `count` >= 1 vectors of this kind and key. Buffers are taken from the pool as their
  /// values come.
  arriving_vectors(exchange_port& exchange, tensor_kind kind, uint64_t key, size_t count,
                   peer_id from, const vector_buffers& buffers, moment now)
    : vectors_(std::make_shared<std::vector<buffer>>(count)) {
    const index_range elements{0, buffers.size};
    expectation what;
    what.kind = kind;
    what.key = key;
    what.elements = elements;
    what.parts = {0, count};
    what.sources = {{from, elements}};
    what.memory = [vectors = vectors_, pool = buffers.pool](const tensor_name& name) {
      auto& one = vectors->at(name.part);
      one = pool->acquire();
      return float_window{one, 0};
    };
    exchange->expect(std::move(what), now);
  }

  const std::vector<buffer>& vectors() const { return *vectors_; }
  optimizer_state state() const {
    return optimizer_state{std::vector<buffer>{vectors_->begin() + 1, vectors_->end()}};
  }

private:
  std::shared_ptr<std::vector<buffer>> vectors_;
};

} // namespace troupe
