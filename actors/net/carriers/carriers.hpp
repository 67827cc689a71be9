// Carriers: ways for pieces beside the links, one for each linked process. A carrier is memory that both processes
// share, or a connection of its own. Until there is one, and whenever it is lost, pieces go as messages. All work
// happens in turns of the node loop (node_loop.hpp).
//
//   link(s)  --introductions, with offers-->  both know the common carriers
//
//   memory   accepting side --connects on the host, shows the token, hands over its memory--> other
//                           <--shows the token, hands over its memory-----------------------
//   socket   dialling side  --dials the other's gate anew, with the token-->
//
// A carrier is no link: only links show that a process is lost. A carrier that breaks is made anew.

#pragma once

#include "actors/base/piece_carrier.hpp"
#include "actors/net/carriers/node_loop.hpp"
#include "actors/net/carriers/piece_stream.hpp"
#include "actors/net/socket/channel.hpp"
#include "actors/protocol/carrier_offer.hpp"
#include "actors/protocol/interfaces.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/membership/cluster_plan.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace troupe {

// Sockets between processes of one host: addresses without a file, descriptors in messages, and a check of the peer's
// user.

/// The machine's boot, the network namespace and the user, in words. Processes with equal words can connect by such a
/// socket. Empty when unknown.
std::string host_words();

/// These do not throw: they return an empty socket when the system gives none.
owned_socket listen_on_host(const std::string& address);
owned_socket connect_on_host(const std::string& address);

/// True if the process at the other end is of this user.
bool is_of_this_user(const owned_socket& socket);

/// True if the other end has closed and no bytes are left to read.
bool has_closed(const owned_socket& socket);

/// Sends all of these bytes and a copy of the descriptor, or nothing.
bool send_with_descriptor(const owned_socket& socket, std::span<const std::byte> bytes,
                          const owned_socket& descriptor);

/// The content of one message: all of the bytes and a descriptor, or less.
struct received_descriptor {
  bool is_over = false; ///< the other end has closed, or sent something else
  owned_socket descriptor;
};
received_descriptor receive_with_descriptor(const owned_socket& socket, std::span<std::byte> bytes);

struct carrier_options {
  carrier_choice choice = carrier_choice::automatic;
  /// Dials the process of this name with this token.
  std::function<void(const std::string&, uint64_t token)> dial;
  /// Time before a lost or failed carrier is tried again. It doubles after each carrier that was silent, up to
  /// `retry_delay_max`.
  milliseconds retry_delay{1'000};
  milliseconds retry_delay_max{64'000};
  /// How long to wait for shared memory before a socket is tried, too.
  milliseconds memory_patience{2'000};
  /// A carrier that is silent for so long after a question is given up, and the pieces given to it are lost.
  milliseconds silence_max{2'000};
  /// Called, in a turn, when a carrier breaks: pieces given to it may be lost. If set, a new carrier never replaces a
  /// whole one. May be null.
  std::function<void(const std::string&)> on_lost;
};

/// A link with a process.
struct carried_link {
  carrier_offer mine;
  carrier_offer theirs;
  bool was_dialled = false; ///< by this process

  uint64_t token() const { return was_dialled ? mine.token : theirs.token; }
  bool shares_memory() const { return !mine.host.empty() && mine.host == theirs.host; }
  bool has_socket() const { return mine.by_socket && theirs.by_socket; }
};

class carriers : public piece_carrier, public std::enable_shared_from_this<carriers> {
public:
  carriers(std::shared_ptr<node_loop> loop, carrier_options options)
    : loop_(std::move(loop)), options_(std::move(options)) {}

  /// Begins to listen. Calls `take` with each frame, in a turn.
  void start(std::function<void(const std::string& peer, carried_frame&&)> take);

  // ---- From any thread, after `start` ----

  /// The offer for a link that is being made.
  carrier_offer offer() const;
  /// A peer is linked; a new link replaces the one before.
  void open(const std::string& peer, const carried_link& link);
  void close(const std::string& peer);
  /// Takes a connection that the gate has opened for the link with this token.
  void take(const std::string& peer, uint64_t token, std::shared_ptr<channel> connection);

  carrier_choice way_to(const std::string& process) const override;
  bool carry(const std::string& process, const tensor_piece& piece) override;
  bool carry(const std::string& process, position_word word, const link_position& what) override;

private:
  struct way {
    carried_link link;
    moment opened{};
    moment tried{};
    milliseconds delay{0};                ///< from then to the next attempt
    owned_socket greeting;                ///< connected on this host, and not answered yet
    slot_memory memory;                   ///< handed over with the greeting
    std::unique_ptr<piece_stream> stream; ///< null: there is none
    std::optional<moment> asked;          ///< time of a question since which nothing has come
    bool waits_for_room = false;
  };
  /// A connection of another process of this host, with its token and memory. It may come before the introduction.
  struct visitor {
    owned_socket socket;
    owned_socket memory; ///< handed over; empty until it has shown its token
    uint64_t token = 0;
  };

  void accept_all();
  void on_visitor(int descriptor);
  void meet_early(const std::string& peer, way& x);
  void meet(const std::string& peer, way& x, visitor&& who);
  void connect(const std::string& peer, way& x);
  void on_greeted(const std::string& peer);
  void begin(const std::string& peer, way& x, channel connection, slot_memory mine,
             slot_memory theirs);
  void on_ready(const std::string& peer, uint32_t events);
  void drop(way& x);
  void lose(const std::string& peer, way& x);
  void close_here(const std::string& peer);
  void tend();
  void try_again(const std::string& peer, way& x, moment now);

  std::shared_ptr<node_loop> loop_;
  carrier_options options_;
  std::function<void(const std::string&, carried_frame&&)> take_;
  std::string address_;
  owned_socket listener_;
  std::map<int, visitor> visitors_; ///< without a way yet
  std::map<std::string, way> ways_;
};

/// Gives frames to a node, as messages.
std::function<void(const std::string&, carried_frame&&)> frames_to(const node_actor& node);

} // namespace troupe
