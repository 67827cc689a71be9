// Span model: the vectors of a run in the modes that merge models or apply gradients one by one, as far as they lie in
// a span of the parameters.
//
//   who decides        who holds                                 who computes
//   parameter server --entries--> sequence_follower, span_model
//                                       ^  update of task n -------- worker
//
// Who decides has no vector. It writes each decision as an entry of one sequence, at positions 1, 2, ... Whoever holds a
// span applies all entries, in this order, to its own elements. So owners of different spans come to one model, and it
// is the one that a single owner of all elements would have.
//
//   give n   a task begins: its worker gets the vectors of this moment
//   take n   the update that came of the task counts: it is put in its place
//   drop n   none will count: late, refused, or its worker is lost
//   close    a new model is made of the updates in place
//   pass     a step without an update
//   mark     something is due at exactly this version: the hash of a row, a copy for a checkpoint
//
// An update is put here before it is taken (`put`): who decides knows that it is here whole. What a version is
// evaluated with is a task of its own (`evaluation_of`): it is given when the version is made, and again for each
// process that evaluates.

#pragma once

#include "models/base/buffer.hpp"
#include "models/base/saved_state.hpp"
#include "models/optimizers/optimizer.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

enum class entry_kind : uint8_t { give, take, drop, close, pass, mark };

/// The number of a task to evaluate a version: none of an update's.
inline constexpr uint64_t evaluation_of(uint64_t version) {
  return uint64_t{1} << 63 | version;
}

struct sequence_entry {
  entry_kind kind = entry_kind::give;
  uint64_t position = 0;     ///< from 1 on, without gaps
  uint64_t number = 0;       ///< of the task; not of `close` and `pass`
  uint64_t step = 0;         ///< give, pass: the first that it is about
  uint64_t place = 0;        ///< give, take: the member, or the group of clients
  uint64_t sample_count = 1; ///< take: rows of the update; of clients their weight
  uint64_t update_count = 1; ///< take: clients that the update is the sum of
  double step_scale = 1;     ///< take: of a gradient's step
  uint64_t round = 0;        ///< close: the model's number after it
  uint64_t attempt = 0;      ///< close: of a private round
  bool is_void = false;      ///< close: the updates in place are forgotten, nothing moves
  bool is_late =
    false; ///< drop: the update is here, and comes too late; close: of a version that is out
  bool evaluates = false;  ///< give, drop: of an evaluation
  bool is_row = false;     ///< mark: the history has a row of this version
  bool is_saved = false;   ///< mark: a checkpoint has this version
  uint64_t version = 0;    ///< of the history, after it
  std::string worker = {}; ///< give: the process that computes; empty: none yet

  friend bool operator==(const sequence_entry&, const sequence_entry&) = default;
};

/// The entries that were written and not applied yet.
class sequence {
public:
  /// From this version of the history on.
  explicit sequence(uint64_t version = 0) : version_(version) {}

  /// At the next position.
  void write(sequence_entry entry) {
    entry.position = ++last_;
    entries_.push_back(entry);
  }
  bool is_empty() const { return entries_.empty(); }
  /// They lead to this version.
  std::vector<sequence_entry> take(uint64_t version) {
    for (auto& entry : entries_)
      entry.version = version_;
    if (!entries_.empty())
      entries_.back().version = version;
    version_ = version;
    return std::exchange(entries_, {});
  }

private:
  std::vector<sequence_entry> entries_;
  uint64_t version_; ///< of the last call
  uint64_t last_ = 0;
};

/// What a task begins with, or what came of it, in a span.
struct span_vectors {
  const_buffer
    values; ///< parameters; or a gradient, a member's model, the lower halves of clients' sums
  optimizer_state state; ///< of a member; the upper halves of clients' sums
  bool is_model = true;  ///< of a task: the values are the newest model's, not a member's own
};

/// A model by its number: tasks and evaluations with equal numbers have the same vector.
struct numbered_model {
  uint64_t number = 0;
  const_buffer values; ///< P
};

/// The vectors of one mode. `sequence_follower` calls it: each task is given once, and taken or dropped once.
/// Evaluations are the follower's alone.
class span_model {
public:
  span_model() = default;
  virtual ~span_model() = default;
  span_model(const span_model&) = delete;
  span_model& operator=(const span_model&) = delete;

  virtual span_vectors give(const sequence_entry& task) = 0;
  virtual void take(const sequence_entry& task, const span_vectors& update) = 0;
  virtual void drop(const sequence_entry&) {}
  /// False: a value of the new model would not be finite. The model stays as it is.
  virtual bool close(const sequence_entry& round) = 0;

  /// Gradients in place.
  virtual size_t held_count() const { return 0; }

  /// What is evaluated and saved: a snapshot.
  virtual const_buffer parameters() const = 0;
  /// That is an average of models, not the newest one.
  virtual bool has_average() const { return false; }

  /// What it remembers beside `parameters` while no task is open. Throws std::invalid_argument for vectors of another
  /// size.
  virtual void save(state_saver& out) const = 0;
  virtual void load(state_loader& in) = 0;
};

/// Follows a sequence, and keeps updates until they are decided.
class sequence_follower {
public:
  explicit sequence_follower(std::unique_ptr<span_model> model) : model_(std::move(model)) {}

  span_model& model() { return *model_; }
  const span_model& model() const { return *model_; }

  /// The update of an open task is here. Of a task that is not open it is forgotten; a second one replaces the first.
  void put(uint64_t number, span_vectors update);

  /// False: a `close` whose model would not be finite. A task that is given once more has the same vectors. Throws
  /// std::logic_error for an entry that is not the next one, a task that is not open, or an update that is not here.
  bool follow(const sequence_entry& entry);

  /// What an open task began with.
  struct task {
    span_vectors vectors;
    uint64_t model_number = 0; ///< of the vectors' values, if they are a model's
  };
  /// Null: it is not open.
  const task* find(uint64_t number) const {
    const auto found = open_.find(number);
    return found == open_.end() ? nullptr : &found->second;
  }

  uint64_t position() const { return position_; } ///< of the last entry
  /// Of the newest model, from which tasks begin.
  uint64_t model_number() const { return 2 * closed_count_; }
  /// What is evaluated: the newest model, or the average with the odd number behind it.
  numbered_model evaluated() const {
    return {model_number() + (model_->has_average() ? 1 : 0), model_->parameters()};
  }
  size_t open_count() const { return open_.size(); }

private:
  std::unique_ptr<span_model> model_;
  uint64_t position_ = 0;
  uint64_t closed_count_ = 0;
  std::map<uint64_t, task> open_; ///< tasks, by number
  std::map<uint64_t, span_vectors> updates_;
};

} // namespace troupe
