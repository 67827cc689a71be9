// A line of frames: a connection between the server of a federated run and a client, plain or secured, which never
// blocks. Frames are read whole and checked; frames to send wait until the socket takes them, and vectors are not copied.

#pragma once

#include "actors/net/clients/client_frames.hpp"
#include "actors/net/socket/channel.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace troupe {

class frame_line {
public:
  /// Of frames to send, without their values.
  static constexpr size_t waiting_bytes_max = size_t{64} << 10;

  /// `is_server`: the other side is a client.
  frame_line(channel socket, bool is_server);

  channel& socket() { return socket_; }
  /// Values of frames that have some; 0 at first: then none may come.
  void set_value_count(size_t count) { value_count_ = count; }
  /// Frames with values may come from a client: one, for which there is a place.
  void allow_values(bool allowed) { allows_values_ = allowed; }

  /// The next frame, if it has come whole. With a problem, or once the other side has closed, the line is to be closed.
  std::optional<client_frame> read();
  /// An order takes the place of one of which nothing was sent.
  void send(const client_frame& x);
  /// Writes what the socket takes.
  void flush();

  bool wants_to_write() const { return !waiting_.empty(); }
  /// The other side does not read what it is told: it is heard no more until it does.
  bool is_full() const { return waiting_bytes_ > waiting_bytes_max; }
  bool is_over() const { return is_over_; }
  /// It ended because the other side does not accept our certificate, or secures its connections and we do not.
  bool was_refused() const { return was_refused_; }
  const std::string& problem() const { return problem_; }
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t bytes_written() const { return bytes_written_; }

private:
  struct outgoing {
    client_frame_kind kind;
    std::string front;
    const_buffer values;
    size_t done = 0; ///< bytes of both
  };

  std::optional<client_frame> next();
  bool may_come(const client_frame_form& form) const;
  void end(std::string why);

  channel socket_;
  bool is_server_;
  bool allows_values_ = false;
  size_t value_count_ = 0;
  std::string heard_;
  std::optional<client_frame_head> head_; ///< of the frame that is coming
  std::deque<outgoing> waiting_;
  size_t waiting_bytes_ = 0; ///< of fronts
  bool is_over_ = false;
  bool was_refused_ = false;
  std::string problem_;
  uint64_t bytes_read_ = 0;
  uint64_t bytes_written_ = 0;
};

} // namespace troupe
