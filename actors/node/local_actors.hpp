// Local actors: the spans that shards of this process own, and the views that its replicas and shards get. The node
// stands for the remote shards to its replicas, and for the remote replicas to its shards.

#pragma once

#include "actors/base/version_buffers.hpp"
#include "actors/node/node_context.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

// Local spans: the spans that shards of this process own, the state that they begin a term with, and its copies for
// checkpoints.
//
//   begin_term, from version 0 --------------------------------------> is_ready
//   begin_term, from a checkpoint --> pieces and numbers come in ----> is_ready: shards get them
//   begin_term, from copies --------> pieces of other holders come --> is_ready

/// Versions of a span, and copies of its state, that another process may still ask for.
inline constexpr size_t kept_max = 2;

struct local_span {
  size_t shard = 0; ///< index in the view
  size_t local = 0; ///< index in the process
  index_range elements;
  uint64_t version = 0; ///< the newest that its shard announced
};

class local_spans {
public:
  explicit local_spans(node_context& context) : context_(context) {}

  /// Takes the local spans of the context's view, and begins to get the state they start from.
  void begin_term();
  /// True if all state that the shards begin with is here.
  bool is_ready() const;
  /// Sends the shards the state that they begin with.
  void start_shards();
  /// True from then on, until another term begins.
  bool has_started() const { return has_started_; }

  void on_arrived(const tensor_arrived& news);
  void on_numbers(const shard_numbers& news);
  /// A shard's state at a version for a checkpoint.
  void on_copy(const shard_copy& news);
  /// The director asks for a checkpoint's state: sends the few numbers that go beside it.
  void on_asked(const tensor_want& what) const;
  void tick(moment now);

  std::vector<local_span>& all() { return all_; }
  const std::vector<local_span>& all() const { return all_; }
  local_span* find(uint64_t shard);
  /// Parameters of versions, the spans of all processes in one buffer each.
  version_buffers& versions() const { return *versions_; }
  /// The elements that these buffers hold; null: all.
  std::shared_ptr<const element_window> window() const {
    return versions_ ? versions_->window() : nullptr;
  }

private:
  /// The state that a shard begins with, while it comes from the director.
  struct beginning {
    float_view parameters;
    std::vector<payload> slots;
    std::optional<shard_numbers> numbers;
    bool is_whole = false; ///< all tensors are here
  };
  void initialize();
  tensor_kind kind_of_start() const {
    return context_.view.holders.empty() ? tensor_kind::state : tensor_kind::copy;
  }
  void expect_state(const local_span& one);

  node_context& context_;
  std::vector<local_span> all_;
  std::vector<beginning> beginnings_;                      ///< by span, until shards have them
  bool is_first_ = false;                                  ///< they begin from version 0
  std::map<uint64_t, std::vector<shard_numbers>> numbers_; ///< of copies, by version
  std::shared_ptr<version_buffers> versions_;
  std::shared_ptr<version_buffers> points_; ///< null: there are none
  repair_clock numbers_clock_;
  bool has_started_ = false;
};

// Parameter windows: the parameters that each process of a view has buffers for, where models are split. A process gets
// only the part of a version that it needs.
class parameter_windows {
public:
  parameter_windows(node_context& context, local_spans& spans) : context_(context), spans_(spans) {}

  /// The context has another view. True if this process now needs other parameters: its buffers hold these from now on,
  /// and the caller must gather the version anew.
  bool on_view();
  /// The processes that need parameters of a local span, each with its part.
  std::vector<tensor_route> routes_of(const index_range& span);

private:
  node_context& context_;
  local_spans& spans_;
  std::vector<std::shared_ptr<const element_window>> windows_; ///< by member; null: all elements
};

class local_actors {
public:
  local_actors(node_context& context, const local_spans& spans)
    : context_(context), spans_(spans), restarts_(context.local.workers.size()) {}

  /// Sends replicas the context's view in terms of local actors. New replicas begin at this version.
  void tell_replicas(uint64_t start_version);
  void tell_shards();
  /// The view lacks this process: local replicas get no slices.
  void tell_to_rest();
  /// The next view makes them begin anew.
  void restart_replicas();
  void restart_replica(size_t index) { ++restarts_[index]; }
  /// Replicas have the version to start from; before that they answer no hold.
  bool have_begun() const { return have_begun_; }
  void set_begun(bool x) { have_begun_ = x; }

private:
  view local_view(uint64_t start_version) const;

  node_context& context_;
  const local_spans& spans_;
  std::vector<uint64_t> restarts_; ///< of each replica
  bool have_begun_ = false;
};

} // namespace troupe
