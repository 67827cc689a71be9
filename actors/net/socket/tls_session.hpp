// A TLS session on a socket: the handshake, step by step and without blocking, then reading and writing, and the names
// that the peer's certificate proves. It explains a failure in words for people, whichever side refused.

#pragma once

#include "actors/net/socket/endpoint.hpp"
#include "actors/net/socket/tls_identity.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct ssl_st; // OpenSSL's SSL

namespace troupe {

enum class tls_side : uint8_t { accepts, dials };

/// The first byte of a TLS handshake, or of an alert.
inline constexpr unsigned char tls_handshake_byte = 0x16;
inline constexpr unsigned char tls_alert_byte = 0x15;

class tls_session {
public:
  /// The socket must be open and non-blocking, and outlive the session, which does not close it.
  tls_session(tls_context context, int descriptor, tls_side side);

  enum class progress : uint8_t { done, wants_to_read, wants_to_write, failed };
  /// Continues the handshake as far as the socket permits. Call it again when the socket is ready.
  progress shake_hands();
  /// Why the session failed; with `is_refusal` a new attempt is useless.
  const transfer& problem() const { return problem_; }
  /// True if it failed because the peer's first bytes are no TLS.
  bool has_met_no_tls() const { return has_met_no_tls_; }

  /// From now on several records are read from the socket at once. Only for callers that always read until nothing is
  /// left: `has_pending` does not report bytes read ahead.
  void read_ahead();
  /// Reads what has come, up to the size of `onto`.
  transfer read(std::span<char> onto);
  /// The same, but at most one record of the peer.
  transfer read_record(std::span<char> onto);
  /// Writes as much as the socket takes. After a partial write the caller must write the rest next.
  transfer write(std::string_view bytes);
  /// True if the session holds bytes that the socket no longer announces.
  bool has_pending() const;
  /// Sends the peer the end of writing.
  void say_no_more();

  /// DNS names in the peer's certificate, after the handshake.
  std::vector<std::string> peer_names() const;

private:
  transfer outcome_of(int result, size_t byte_count);

  tls_context context_; ///< must outlive the session
  std::shared_ptr<ssl_st> session_;
  transfer problem_;
  bool has_met_no_tls_ = false;
};

} // namespace troupe
