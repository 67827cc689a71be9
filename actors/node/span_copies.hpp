// Span copies: those of this process's spans that go to deputies, and those of others that it keeps as their deputy
// (coordinators/membership/cut_rule.hpp). All are kept as tensors that any process may ask for, in any term.
//
//   shard ==shard_copy==> | kept, published ~~~ pieces ~~~> deputy's process | kept
//         <== save ====== | all deputies have it <~~ have_come ~~~~~~~~~~~~~ | whole; said again until the next one
//
// The deputy's word may be lost, so it is repeated. Before a term the director asks what is held. From then on nothing
// is forgotten, and shards get no `save`, so they stop at their next copy; unless they have to reach a version at which
// all stand. A copy of that version stays here, for the term that begins there.

#pragma once

#include "actors/node/local_actors.hpp"
#include "coordinators/base/span_set.hpp"
#include "coordinators/membership/cut_rule.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace troupe {

class span_copies {
public:
  span_copies(node_context& context, const local_spans& spans) : context_(context), spans_(spans) {}

  /// A term begins: this process is deputy of other spans.
  void begin_term();
  /// A shard here has copied its span.
  void on_copy(const shard_copy& news);
  void on_arrived(const tensor_arrived& news);
  /// A deputy has a copy.
  void on_come(peer_id deputy, const tensor_want& what);
  /// This version is whole somewhere: forgets what is not needed any more.
  void on_version(uint64_t version);
  void on_request(const copies_request& news);
  void on_directive(const directive& news);
  void tick(moment now);

  /// The director has asked what is held, before the next term.
  bool is_asked() const { return asked_term_ > context_.view.id.term; }
  /// What is held, since the director asked.
  held_copies answer() const;
  /// The deputies whose word a shard here may wait for.
  std::vector<awaited> waits() const;

private:
  /// A span that this process is a deputy of.
  struct ward {
    index_range blocks;
    index_range elements;
    peer_id owner = peer_id::director;
    uint64_t expected = 0;         ///< the version that comes next
    std::optional<uint64_t> whole; ///< the newest that is here
    repair_clock clock{};          ///< when to say so again
  };
  /// The newest copy of a span of this process.
  struct own_copy {
    uint64_t version = 0;
    std::set<peer_id> missing; ///< deputies that do not have it yet
    bool is_released = false;  ///< the shard may make the next one
  };

  /// Shards may make further copies: nobody asked, or they stop at a version that they have to reach.
  bool may_go_on() const { return !is_asked() || is_cutting_; }
  void expect(ward& one, uint64_t version);
  void keep(uint64_t version, uint64_t part, uint64_t first_element, const float_view& values,
            const tensor_note& note, std::span<const tensor_route> routes);
  void say_it_came(const ward& one) const;
  void release(const local_span& span);

  node_context& context_;
  const local_spans& spans_;
  std::vector<ward> wards_;
  std::map<uint64_t, own_copy> own_;  ///< by shard
  std::map<uint64_t, span_set> held_; ///< blocks of each version that are whole here
  std::map<size_t, std::shared_ptr<buffer_pool>> buffers_; ///< for what comes, by size
  uint64_t asked_term_ = 0;
  bool is_cutting_ = false; ///< all are to stand at a version, for a term that begins there
};

} // namespace troupe
