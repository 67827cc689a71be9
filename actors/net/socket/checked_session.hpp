// A checked session on a plain socket: bytes travel in records with a checksum, and a reader gets
// only bytes that passed it. TCP's own sum has 16 bits, so some damage passes. The actor system
// trusts its headers: a flipped bit in one could end a process. Here damage ends the connection,
// which is made anew; no damaged byte reaches the actor system. Secured connections
// (tls_session.hpp) have this from TLS. It is no proof against malice.
//
//   record: length 4, checksum 8, bytes            numbers big-endian
//
// The checksum (XXH3) covers the bytes, their number and the record's number in the connection: a
// missing or repeated record counts as damage, too.

#pragma once

#include "actors/net/socket/endpoint.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

inline constexpr size_t record_header_bytes = 12;
inline constexpr size_t record_bytes_max = size_t{64} << 10; ///< without the header

class checked_session {
public:
  /// The socket must be open and non-blocking, and outlive the session, which does not close it.
  explicit checked_session(int descriptor);

  /// Reads what has come, up to the size of `onto`. A damaged record ends the connection.
  transfer read(std::span<char> onto);
  /// Writes as much as the socket takes, in whole records. After a partial write the caller must
  /// write the rest next.
  transfer write(std::string_view bytes);
  /// True if the session holds bytes that the socket no longer announces.
  bool has_pending() const;

private:
  std::string_view arrived() const;
  bool has_record() const;
  bool open_record();
  transfer receive();
  void begin_record(std::string_view bytes);

  int descriptor_;
  std::vector<char> buffer_;
  size_t begin_ = 0; ///< of arrived bytes that were not read yet
  size_t end_ = 0;
  size_t opened_ = 0; ///< bytes at `begin_` that have passed their checksum
  uint64_t read_count_ = 0;
  std::array<char, record_header_bytes> header_{}; ///< of the record that is being sent
  size_t sending_ = 0;                             ///< bytes in it; 0: none
  size_t sent_ = 0;                                ///< of header and bytes
  uint64_t written_count_ = 0;
};

} // namespace troupe
