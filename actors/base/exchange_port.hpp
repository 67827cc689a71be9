// Exchange port: a tensor exchange and the handles of its peers. Its callers know peers by name,
// the exchange by number. The port turns the exchange's effects into messages. Each node has one,
// and so has the director.

#pragma once

#include "actors/base/piece_carrier.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/protocol/tensor_messages.hpp"
#include "coordinators/exchange/tensor_exchange.hpp"
#include "data/records/run_recorder.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

class exchange_port {
public:
  exchange_port() = default;
  /// `carrier`: takes pieces beside the messages; null: there is none.
  exchange_port(speaker self, const exchange_options& options,
                std::shared_ptr<piece_carrier> carrier = {})
    : self_(std::move(self)), exchange_(options), carrier_(std::move(carrier)) {}

  tensor_exchange* operator->() { return &exchange_; }
  const tensor_exchange* operator->() const { return &exchange_; }

  /// A process's number: fixed for the life of this port, never on a wire.
  peer_id id_of(const std::string& process) {
    const auto found = std::ranges::find(names_, process);
    const auto place = found - names_.begin();
    if (found == names_.end())
      names_.push_back(process);
    return static_cast<peer_id>(1 + place);
  }
  /// Nothing for a process without a number.
  std::optional<peer_id> find(const speaker& who) const {
    if (who.is_director)
      return peer_id::director;
    const auto found = std::ranges::find(names_, who.process);
    if (found == names_.end())
      return std::nullopt;
    return static_cast<peer_id>(1 + (found - names_.begin()));
  }
  /// A process's name; empty for the director.
  const std::string& name_of(peer_id who) const {
    static const std::string none;
    return who == peer_id::director ? none : names_.at(static_cast<size_t>(who) - 1);
  }

  /// Opens the link to a peer. `over_wire`: pieces to this peer count as sent.
  void open(peer_id who, uint64_t link, const tensor_actor& way, bool over_wire) {
    ways_[who] = {way, link, 0};
    exchange_.link_opened(who, link, over_wire);
    if (auto& ring = rings_[who]; over_wire && trace_ && !ring)
      ring = ring_of(trace_, name_of_link(who));
  }
  void close(peer_id who) {
    ways_.erase(who);
    exchange_.link_closed(who);
  }

  /// Which way pieces go to this peer now.
  carrier_choice carrier_to(peer_id who) const {
    return carrier_ && who != peer_id::director ? carrier_->way_to(name_of(who))
                                                : carrier_choice::messages;
  }

  /// Records the traffic of each link in a row of its own from now on. Null: nothing.
  void record(std::shared_ptr<run_recorder> trace) {
    if (!trace)
      return;
    trace_ = std::move(trace);
    waits_ = ring_of(trace_, self_.is_director ? "director's links" : "links");
  }
  /// Records whether any range waits for credit now.
  void note_credit() {
    if (!waits_ || (exchange_.figures().ranges_waiting > 0) == (wait_ != nullptr))
      return;
    wait_ = wait_ ? nullptr : std::make_unique<traced_work>(waits_.get(), trace_kind::credit, 0, 0);
  }

  // ---- Messages from peers; those of unknown processes are ignored ----

  piece_verdict on(const sent_piece& news, moment now) {
    const auto from = find(news.by);
    if (!from)
      return piece_verdict::unexpected;
    const traced_work work{ring_to(*from), trace_kind::receive_piece, news.what.of.key, 0};
    return exchange_.on_piece(*from, news.what, now);
  }
  void on(const sent_want& news, moment now) {
    if (const auto from = find(news.by))
      exchange_.on_want(*from, news.what, now);
  }
  void on(const sent_credit& news, moment now) {
    if (const auto from = find(news.by))
      exchange_.on_credit(*from, news.what, now);
  }
  void on(const sent_stamp& news) {
    if (const auto from = find(news.by))
      exchange_.on_stamp(*from, news.what);
  }

  /// Carries out the effects of the exchange: sends messages, and gives `take` the tensors that
  /// have arrived or are asked for. `take` may use the exchange. Call it after each use of the
  /// exchange.
  template <class Self, class Function>
  void settle(Self* self, const Function& take) {
    if (std::exchange(is_settling_, true))
      return; // the call under way takes new effects, too
    for (exchange_.take_effects(effects_); !effects_.empty(); exchange_.take_effects(effects_))
      for (auto& effect : effects_)
        std::visit(
          [&]<class T>(T& x) {
            if constexpr (std::is_same_v<T, send_piece>)
              send(self, x.to, sent_piece{{self_, std::move(x.what)}});
            else if constexpr (std::is_same_v<T, send_want>)
              send(self, x.to, sent_want{{self_, std::move(x.what)}});
            else if constexpr (std::is_same_v<T, send_stamp>)
              ask_credit(self, x);
            else if constexpr (std::is_same_v<T, send_credit>)
              send_credit_to(self, x);
            else if constexpr (std::is_same_v<T, piece_due>)
              begin_due(x);
            else
              take(std::as_const(x));
          },
          effect);
    is_settling_ = false;
  }

  /// `settle` calls it for each piece that is due. True: the node will `give` the piece later.
  std::function<bool(const piece_due&)> on_due;
  /// Sends a piece that was due, with its values. Does nothing when the link it had credit on is
  /// gone.
  template <class Self>
  void give(Self* self, peer_id to, tensor_piece what) {
    const auto found = ways_.find(to);
    if (found == ways_.end() || found->second.link != what.stamp.link)
      return;
    --found->second.due_count;
    send(self, to, sent_piece{{self_, std::move(what)}});
  }

  /// Sends a want that is not the exchange's own: for numbers that belong to a tensor already here.
  template <class Self>
  void ask(Self* self, peer_id who, const tensor_want& what) const {
    send(self, who, sent_want{{self_, what}});
  }

private:
  struct way_to_peer {
    tensor_actor to;
    uint64_t link = 0;
    size_t due_count = 0; ///< pieces that have credit and are not sent yet
  };

  void begin_due(const piece_due& x) {
    if (const auto found = ways_.find(x.to); found != ways_.end() && on_due(x))
      ++found->second.due_count;
  }

  template <class Self>
  void send_credit_to(Self* self, const send_credit& x) const {
    if (!carries(x.to, position_word::credit, x.what))
      send(self, x.to, sent_credit{{self_, x.what}});
  }

  /// Asks for credit, but not while pieces are due: they would count as lost and get credit twice.
  /// The exchange asks again.
  template <class Self>
  void ask_credit(Self* self, const send_stamp& x) const {
    const auto found = ways_.find(x.to);
    if (found != ways_.end() && found->second.due_count == 0 &&
        !carries(x.to, position_word::stamp, x.what))
      send(self, x.to, sent_stamp{{self_, x.what}});
  }

  template <class Self, class T>
  void send(Self* self, peer_id to, T message) const {
    if (const auto found = ways_.find(to); found != ways_.end())
      self->send(found->second.to, std::move(message));
  }
  template <class Self>
  void send(Self* self, peer_id to, sent_piece message) const {
    const traced_work work{ring_to(to), trace_kind::send_piece, message.what.of.key, 0};
    if (!carries(to, message.what))
      send<Self, sent_piece>(self, to, std::move(message));
  }
  /// False for the director: it has no carrier.
  template <class... Ts>
  bool carries(peer_id to, const Ts&... what) const {
    return carrier_ && to != peer_id::director && carrier_->carry(name_of(to), what...);
  }

  trace_ring* ring_to(peer_id who) const {
    if (!trace_)
      return nullptr;
    const auto found = rings_.find(who);
    return found == rings_.end() ? nullptr : found->second.get();
  }
  std::string name_of_link(peer_id who) const {
    const auto other = who == peer_id::director ? std::string{"the director"} : name_of(who);
    return (self_.is_director ? "director's link to " : "link to ") + other;
  }

  speaker self_;
  tensor_exchange exchange_;
  std::shared_ptr<piece_carrier> carrier_;
  std::vector<std::string> names_; ///< by number, from 1
  std::map<peer_id, way_to_peer> ways_;
  std::vector<exchange_effect> effects_; ///< kept for its memory
  bool is_settling_ = false;
  std::shared_ptr<run_recorder> trace_;                  ///< null: nothing is recorded
  std::map<peer_id, std::shared_ptr<trace_ring>> rings_; ///< of links over wires; of each peer one
  std::shared_ptr<trace_ring> waits_;
  std::unique_ptr<traced_work> wait_; ///< for credit, that lasts
};

} // namespace troupe
