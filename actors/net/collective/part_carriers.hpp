// Part carriers: the carriers of a networked collective (actors/net/carriers). Pieces of parts go by memory
// that two processes have in common, or by a connection of their own, as pieces of training do; while
// there is no carrier to a process they are messages, as what has no values is always.
//
//   member --carry(to, piece)--> turn of the loop --> carrier --> turn of the other's loop --> member there
//                                     |  no carrier
//                                     +--> message to the member there
//
// A carrier takes pieces once something has come by it. One that breaks after that is a lost process to its members: what
// it had taken may be lost, and nothing of a collective is sent twice.

#pragma once

#include "actors/net/carriers/carriers.hpp"
#include "actors/protocol/collective_messages.hpp"

#include <caf/fwd.hpp>

#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace troupe {

/// A member, and the name of its process.
struct placed_member {
  collective_member_actor actor;
  std::string process;
};

class part_carriers {
public:
  /// Throws failure(io_error) when the system has no descriptor left.
  part_carriers(caf::actor_system& system, std::string own_name, carrier_options options);
  ~part_carriers();

  /// Begins to listen.
  void start();
  carrier_offer offer() const { return ways_->offer(); }
  void open(const std::string& peer, const carried_link& link) { ways_->open(peer, link); }
  void take(const std::string& peer, uint64_t token, std::shared_ptr<channel> connection) {
    ways_->take(peer, token, std::move(connection));
  }

  /// All have met: these are the members, in order. Before any of them is told.
  void set_members(std::vector<placed_member> members);
  /// From any thread, after that.
  void carry(size_t from, size_t to, collective_part&& piece);
  /// Returns when all that was given has come to the others, or they are lost, or this time is over.
  void settle(milliseconds deadline);

private:
  void take_frame(const std::string& peer, carried_frame&& frame);
  void tell_lost(const std::string& peer);
  void on_settled(const std::string& peer);

  std::string own_name_;
  std::shared_ptr<node_loop> loop_;
  std::shared_ptr<carriers> ways_;
  // In turns only.
  std::vector<placed_member> members_;
  std::set<std::string> heard_;      ///< processes of which something has come by their carrier
  std::set<std::string> unanswered_; ///< those that `settle` asks
  std::promise<void> settled_;
};

} // namespace troupe
