// Tensor exchange: what a process keeps for its peers, what it expects of them, and what may go to
// each now. Gradients, versions, a checkpoint's state, orders and their results are all the same to
// it: a name (tensor_name.hpp), and a set of intact elements that only grows. No actor, no clock of
// its own, no socket: events in, effects out. Its owner turns effects into messages.
//
//        this process                                                       another one
//
//   publish, grow --> kept --send--> waits --credit--> piece  ~~~~~~~~~> judged --> expected
//                     |  ^           by name                             |             |
//     forget, newer --+  +-- want <~~~~~~~~~~~~~~~~~~~~~~~ 200 ms of <---+-- damaged,  +--> arrived
//     keys: gone                                           silence           lost
//
// All that crosses a wire (~~~) may be lost, late, come twice, or damaged; nothing is acknowledged.
// A process asks for what it misses again and again (repair_clock.hpp), so it arrives as long as
// any peer has it. The table in expected_tensor.hpp says what comes of a piece; link_ends.hpp, how
// much may be under way and what waits; kept_tensors.hpp, what is kept until when.
//
//   message      says                                         lost: what mends it
//   -----------------------------------------------------------------------------------------
//   piece        elements of a tensor, and the link's         its receiver wants it
//                position behind them
//   want         these elements are missing                   the next want
//   credit       all before this position has come, or lost   the next one, or the question
//   stamp        this much was sent: what has come?           the next question
//
// A want never costs more than what is kept: its ranges are cut to it, at most `want_ranges_max` of
// them count, and what waits already does not wait again. On a link with `waiting_ranges_max`
// ranges waiting wants add nothing: the peer asks again.
//
// Steady steps (grow, publish, forget, pieces out) allocate nothing once vectors have grown.

#pragma once

#include "coordinators/exchange/expected_tensor.hpp"
#include "coordinators/exchange/kept_tensors.hpp"
#include "coordinators/exchange/link_ends.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace troupe {

/// Ranges of a want that count: one that misses every second element asks on with the next.
inline constexpr size_t want_ranges_max = 1024;

/// Ranges that may wait on a link before wants add nothing. 4,096 pieces are 1 GiB.
inline constexpr size_t waiting_ranges_max = 4096;

struct exchange_options {
  size_t window_bytes = link_credit_bytes;
  size_t piece_elements = piece_elements_max;
  number_format gradients = number_format::float32; ///< what their values are rounded to

  number_format format_of(tensor_kind kind) const {
    return kind == tensor_kind::gradient ? gradients : number_format::float32;
  }
};

/// A peer that is to have these elements without asking.
struct tensor_route {
  peer_id to = peer_id::director;
  index_range elements;
};

/// Both ways of a link, in bytes of pieces.
struct exchange_link {
  peer_id peer = peer_id::director;
  uint64_t outgoing = 0; ///< the number of the way there
  uint64_t sent = 0;
  uint64_t seen = 0;    ///< of these, by the peer
  uint64_t waiting = 0; ///< ranges that wait for credit
  link_position came{}; ///< of the peer's

  friend bool operator==(const exchange_link&, const exchange_link&) = default;
};

/// What was sent, and what is so now.
struct exchange_figures : traffic {
  uint64_t bytes_under_way = 0;
  size_t ranges_waiting = 0;
  size_t tensors_kept = 0;
  size_t tensors_arriving = 0;
  std::vector<exchange_link> links{};

  friend bool operator==(const exchange_figures&, const exchange_figures&) = default;
};

class tensor_exchange {
public:
  explicit tensor_exchange(const exchange_options& options = {}) : options_(options) {}

  /// A term begins: all that is of another is gone, and nothing of it waits. What is of any term is kept, and
  /// expected no longer. Credit stays.
  void begin_term(uint64_t term);

  // ---- Links ----

  /// There is a way to this peer. `over_wire`: its bytes count. A link that was there is gone.
  void link_opened(peer_id peer, uint64_t link, bool over_wire);
  void link_closed(peer_id peer) { links_.erase(peer); }
  /// The peer has no part in this any more: nothing waits for it. Its credit stays.
  void withdraw(peer_id peer);

  // ---- What is here for others ----

  /// All of it is final. What of it has not gone out by `grow` goes to `routes`, as far as there is
  /// credit; a peer without a link will ask. Publishing it again changes nothing.
  void publish(const kept_tensor& x, std::span<const tensor_route> routes, moment now);
  /// These elements of it are final, others are being computed.
  void grow(const kept_tensor& x, const index_range& elements, std::span<const tensor_route> routes,
            moment now);
  /// Elements of what is kept, to one peer.
  void send(peer_id to, const tensor_name& name, const index_range& elements, moment now);
  /// No peer can ask for these any more.
  void forget(tensor_kind kind, const key_range& keys);

  // ---- What this process needs ----

  /// Anew, should the same elements of the same kind and key be expected already; of the newest
  /// whatever their key.
  void expect(expectation what, moment now);
  /// Others have it now. Nothing happens when it is not expected.
  void set_sources(tensor_kind kind, uint64_t key, const index_range& elements,
                   const std::vector<tensor_source>& sources);
  /// What was expected is needed no more, whole or not. Its memory is freed. `within`: only what
  /// lies within these elements, as one shard of several goes on; `exactly`: what lies there.
  void dismiss(tensor_kind kind, const key_range& keys,
               const index_range& within = {0, element_count_max}, bool exactly = false);
  /// These elements are here without a wire.
  piece_verdict offer(const kept_tensor& x, moment now);
  /// While it `holds`, no peer gets credit: more has come than the owner can take in. So what a disk
  /// has not taken yet is never more than the links' windows.
  void hold_credit(bool holds);
  /// All that is kept of this kind, whole tensors only.
  void offer_kept(tensor_kind kind, moment now);

  // ---- The wire ----

  piece_verdict on_piece(peer_id from, const tensor_piece& news, moment now);
  void on_want(peer_id from, const tensor_want& question, moment now);
  void on_credit(peer_id from, const link_position& seen, moment now);
  void on_stamp(peer_id from, const link_position& sent);
  /// Four times in the shortest patience (repair_clock.hpp) is often enough.
  void tick(moment now);

  /// What there is to do, in order; `out` is emptied before.
  void take_effects(std::vector<exchange_effect>& out);

  /// What is missing, and from which peers: for messages to people.
  std::vector<send_want> awaited() const;
  exchange_figures figures() const;

  /// The same but for effects and memory: the same events lead to the same effects.
  friend bool operator==(const tensor_exchange& a, const tensor_exchange& b) {
    return a.term_ == b.term_ && a.links_ == b.links_ && a.kept_ == b.kept_ &&
           a.expected_ == b.expected_;
  }

private:
  struct link {
    outgoing_link out;
    incoming_link in;
    bool over_wire = true;
    friend bool operator==(const link&, const link&) = default;
  };

  /// Returns how many elements wait now that did not.
  size_t hand_out(const kept_tensor& x, const index_range& elements,
                  std::span<const tensor_route> routes);
  void flow(peer_id to, link& way, moment now);
  /// To the peers on the routes in their order, then to all others.
  void flow_everywhere(moment now, std::span<const tensor_route> first = {});
  void send_granted(peer_id to, link& way, const outgoing_link::granted& piece);
  void drop_what_is_gone();
  piece_verdict judge(const tensor_piece& news, moment now, bool is_own);
  void ask(const expected_tensor& x);
  void tell_credit(peer_id to, link& way);

  exchange_options options_;
  uint64_t term_ = 0;
  bool holds_credit_ = false;
  std::map<peer_id, link> links_;
  kept_tensors kept_;
  std::vector<expected_tensor> expected_;
  std::vector<exchange_effect> effects_;
  exchange_figures figures_; ///< the first three
};

} // namespace troupe
