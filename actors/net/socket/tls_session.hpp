// A TLS session on a socket of ours: the handshake, step by step and without blocking, then what is
// read and written, then the names that the peer's certificate proves. Why a session failed is told
// in words for people, from either side: what we refuse and what the peer refuses.

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

/// The first byte of whatever TLS says: of a handshake, or of a refusal.
inline constexpr unsigned char tls_handshake_byte = 0x16;
inline constexpr unsigned char tls_alert_byte = 0x15;

class tls_session {
public:
  /// The socket is open, does not block, outlives the session, and is not closed by it.
  tls_session(tls_context context, int descriptor, tls_side side);

  enum class progress : uint8_t { done, wants_to_read, wants_to_write, failed };
  /// Goes on as far as the socket permits; again when it is ready.
  progress shake_hands();
  /// Why it failed; with `is_refusal` trying again is of no use.
  const transfer& problem() const { return problem_; }
  /// It failed because what the peer said first is no TLS at all.
  bool has_met_no_tls() const { return has_met_no_tls_; }

  /// From now on several records are taken from the socket at once, where a stream of large ones is read to its end
  /// each time: with `has_pending` nobody learns of what was read ahead.
  void read_ahead();
  /// What there is, up to the size of `onto`.
  transfer read(std::span<char> onto);
  /// The same, but no more than the peer wrote at once.
  transfer read_record(std::span<char> onto);
  /// As much as the socket takes. After less than all the rest comes next, and nothing else.
  transfer write(std::string_view bytes);
  /// Bytes wait here, of which the socket knows nothing.
  bool has_pending() const;
  /// Tells the peer that no more is written.
  void say_no_more();

  /// DNS names in the certificate of the peer, once hands are shaken.
  std::vector<std::string> peer_names() const;

private:
  transfer outcome_of(int result, size_t byte_count);

  tls_context context_; ///< outlives what was made of it
  std::shared_ptr<ssl_st> session_;
  transfer problem_;
  bool has_met_no_tls_ = false;
};

} // namespace troupe
