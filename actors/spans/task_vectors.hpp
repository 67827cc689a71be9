// Task vectors: what the owner of a span of the parameters exchanges with the processes that compute. A plain object: the
// node beside the owner feeds it. A run with one owner has one span, of all elements.
//
//   give --> model, or member's own start and state --> the worker's process
//              | of the task's number                         |
//   decided    +------ expected from now on <-- update -------+
//      |
//      +--> forgotten, as is a model that no open task begins with, but for the newest
//
// A model goes to each process once. Vectors have the elements of the span; the worker's process puts those of all owners
// together. If that is this process its part is offered to the exchange.

#pragma once

#include "actors/base/exchange_port.hpp"
#include "coordinators/modes/span_model.hpp"
#include "models/base/buffer.hpp"
#include "models/optimizers/optimizer.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A pool of buffers for arriving vectors, and the elements that each has.
struct vector_buffers {
  std::shared_ptr<buffer_pool> pool;
  index_range elements;
};

/// The buffers' elements of vectors of all: copies.
span_vectors part_of(const span_vectors& whole, const vector_buffers& buffers);

/// Numbers of models and of averages alternate (coordinators/modes/span_model.hpp): the newest of its kind in this map.
template <class T>
bool is_newest_model(const std::map<uint64_t, T>& models, uint64_t number) {
  return std::none_of(models.upper_bound(number), models.end(),
                      [&](const auto& x) { return x.first % 2 == number % 2; });
}

/// The vectors of a task, a model or a result in transit: part k of the tensor is vector k. Their owner may write to
/// them, as a trainer does to a member's state.
class arriving_vectors {
public:
  /// Expects `count` >= 1 vectors of this kind and key. Takes a buffer from the pool when its first values come. They are
  /// asked for once it is known who has them. `made_here`: elements that come from this process.
  arriving_vectors(exchange_port& exchange, tensor_kind kind, uint64_t key, size_t count,
                   std::vector<tensor_source> sources, const vector_buffers& buffers, moment now,
                   const index_range& made_here = {});

  bool are_whole() const { return are_whole_; }
  void set_whole() { are_whole_ = true; }

  const std::vector<buffer>& vectors() const { return *vectors_; }
  /// Those from the first on.
  optimizer_state state(size_t first) const {
    return optimizer_state{
      std::vector<buffer>{vectors_->begin() + static_cast<std::ptrdiff_t>(first), vectors_->end()}};
  }

private:
  std::shared_ptr<std::vector<buffer>> vectors_;
  bool are_whole_ = false;
};

class task_vectors {
public:
  explicit task_vectors(exchange_port& exchange) : exchange_(exchange) {}

  /// A term begins: the span of the owner here, none if it is empty. The exchange must have forgotten all vectors.
  void begin_term(uint64_t term, const vector_buffers& span);
  const index_range& elements() const { return span_.elements; }

  struct task {
    uint64_t number = 0;
    std::string process; ///< that computes
    uint64_t incarnation = 0;
    bool is_here = false;            ///< that is this process
    std::optional<uint64_t> model{}; ///< number of the values; nothing: they are this task's alone
    span_vectors vectors;
  };
  /// The task's vectors go out. An open task that is given once more goes to another process.
  void open(const task& given, moment now);
  /// Its result has so many vectors, and comes by a wire. `from`: it is known to be on its way, or asked for before.
  void expect(uint64_t number, size_t vector_count, const std::optional<std::string>& from,
              moment now);
  void expect_from(uint64_t number, const std::string& process);
  void expect_none(uint64_t number);

  /// All vectors of a result have come. False: they are not expected.
  bool set_whole(uint64_t number);
  /// All of the result is here, or nothing of it is to come.
  bool is_whole(uint64_t number) const;
  span_vectors result_of(uint64_t number) const;

  /// The task is over.
  void close(uint64_t number);

private:
  struct open_task {
    std::optional<uint64_t> model;
    std::optional<arriving_vectors> result{};
  };

  void publish(const tensor_name& name, const const_buffer& values, const task& given, moment now);
  void send_model(const task& given, moment now);
  void forget_models();

  exchange_port& exchange_;
  vector_buffers span_;
  uint64_t term_ = 0;
  std::map<uint64_t, open_task> open_; ///< by number
  /// By number of a model that is kept: the processes, in one of their lives, that were sent it.
  std::map<uint64_t, std::set<std::pair<std::string, uint64_t>>> models_;
};

} // namespace troupe
