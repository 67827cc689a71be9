#include "actors/net/links/handover.hpp"

#include "actors/net/socket/checked_session.hpp"
#include "actors/net/socket/tls_session.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/interfaces.hpp>
#include <caf/io/network/native_socket.hpp>
#include <caf/io/network/rw_state.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/io/scribe.hpp>
#include <caf/make_counted.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

namespace {

namespace network = caf::io::network;

// A scribe over a session: the actor system reads and writes a connection through it, secured or
// checked. The actor system's own loop drives it; the gate has done the handshake before
// (gate.hpp).

/// The functions that the loop's stream needs for a kind of connection.
template <class Session>
class session_policy {
public:
  explicit session_policy(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  network::rw_state read_some(size_t& count, network::native_socket, void* onto, size_t size) {
    return size == 0 ? nothing_asked(count)
                     : state_of(session_->read({static_cast<char*>(onto), size}), count);
  }

  network::rw_state write_some(size_t& count, network::native_socket, const void* bytes,
                               size_t size) {
    return size == 0 ? nothing_asked(count)
                     : state_of(session_->write({static_cast<const char*>(bytes), size}), count);
  }

  bool try_accept(network::native_socket&, network::native_socket) { return false; }

  // The socket does not announce bytes that the session has already read.
  bool must_read_more(network::native_socket, size_t) { return session_->has_pending(); }

private:
  static network::rw_state nothing_asked(size_t& count) {
    count = 0;
    return network::rw_state::indeterminate;
  }

  static network::rw_state state_of(const transfer& what, size_t& count) {
    count = what.byte_count;
    return what.is_over ? network::rw_state::failure : network::rw_state::success;
  }

  std::unique_ptr<Session> session_;
};

template <class Session>
class session_scribe : public caf::io::scribe {
public:
  session_scribe(network::default_multiplexer& backend, network::native_socket socket,
                 std::unique_ptr<Session> session)
    : scribe(network::conn_hdl_from_socket(socket)),
      stream_(backend, socket, session_policy<Session>{std::move(session)}) {}

  void configure_read(caf::io::receive_policy::config config) override {
    stream_.configure_read(config);
    if (!std::exchange(is_reading_, true))
      stream_.start(this);
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void flush() override { stream_.flush(this); }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }

  std::string addr() const override {
    const auto result = network::remote_addr_of_fd(stream_.fd());
    return result ? *result : std::string{};
  }
  uint16_t port() const override {
    const auto result = network::remote_port_of_fd(stream_.fd());
    return result ? *result : uint16_t{0};
  }

  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

private:
  bool is_reading_ = false;
  network::stream_impl<session_policy<Session>> stream_;
};

/// Owns the open socket and the session from now on.
caf::io::scribe_ptr make_session_scribe(network::default_multiplexer& backend,
                                        network::native_socket socket,
                                        std::unique_ptr<tls_session> session) {
  return caf::make_counted<session_scribe<tls_session>>(backend, socket, std::move(session));
}

caf::io::scribe_ptr make_session_scribe(network::default_multiplexer& backend,
                                        network::native_socket socket,
                                        std::unique_ptr<checked_session> session) {
  return caf::make_counted<session_scribe<checked_session>>(backend, socket, std::move(session));
}

} // namespace

// Without a free descriptor there is no hold; then the connection ends when the actor system
// notices its loss.
connection_hold::connection_hold(const channel& connection)
  : socket_(::fcntl(connection.descriptor(), F_DUPFD_CLOEXEC, 0)) {}

void connection_hold::cut() {
  if (socket_)
    ::shutdown(socket_.get(), SHUT_RDWR);
  socket_ = owned_socket{};
}

caf::io::scribe_ptr make_scribe(caf::actor_system& system, channel&& connection) {
  auto& backend = static_cast<caf::io::network::default_multiplexer&>(system.middleman().backend());
  auto session = connection.release_session();
  const int descriptor = connection.release().release();
  return session ? make_session_scribe(backend, descriptor, std::move(session))
                 : make_session_scribe(backend, descriptor,
                                       std::make_unique<checked_session>(descriptor));
}

caf::actor protocol_broker(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

} // namespace troupe
