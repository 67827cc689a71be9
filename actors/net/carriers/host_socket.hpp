// Sockets between processes of one host: addresses without a file, descriptors in messages, and who
// is at the other end.

#pragma once

#include "actors/net/socket/channel.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace troupe {

/// Processes with the same words can meet by such a socket: the machine's boot, the network
/// namespace, the user. Empty when the system does not say.
std::string host_words();

/// None of these throws: an empty socket when the system gives none.
owned_socket listen_on_host(const std::string& address);
owned_socket connect_on_host(const std::string& address);

/// The process at the other end is of this user.
bool is_of_this_user(const owned_socket& socket);

/// The other end has closed, and said nothing that is still to be read.
bool has_closed(const owned_socket& socket);

/// Sends all of these bytes and a copy of the descriptor, or nothing.
bool send_with_descriptor(const owned_socket& socket, std::span<const std::byte> bytes,
                          const owned_socket& descriptor);

/// What one message had: all of the bytes and a descriptor, or less.
struct received_descriptor {
  bool is_over = false; ///< the other end has closed, or said something else
  owned_socket descriptor;
};
received_descriptor receive_with_descriptor(const owned_socket& socket, std::span<std::byte> bytes);

} // namespace troupe
