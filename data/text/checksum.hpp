// Checksums that find damage: XXH3, which reads as fast as memory. They are no proof against
// malice; SHA-256 is.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace troupe {

/// 16 bytes as they stand in files: the same on every machine.
using checksum_bytes = std::array<std::byte, 16>;

/// The checksum of `bytes`, with 128 bits: for files. Other seeds, other checksums.
checksum_bytes checksum_of(std::span<const std::byte> bytes, uint64_t seed = 0);

/// With 64 bits, as a number: for what is sent and forgotten.
uint64_t short_checksum_of(std::span<const std::byte> bytes);

/// `short_checksum_of` for bytes that come part by part.
class running_checksum {
public:
  running_checksum();
  ~running_checksum();
  running_checksum(const running_checksum&) = delete;
  running_checksum& operator=(const running_checksum&) = delete;

  void add(std::span<const std::byte> bytes);
  /// Of all bytes since it was made, or since the last call.
  uint64_t take();

private:
  struct state;
  std::unique_ptr<state> state_;
};

/// CRC-32C (Castagnoli; reflected polynomial 0x82F63B78, RFC 3720 appendix B.4): the checksum of
/// files that other programs define.
/// 0xE3069283 of the nine bytes "123456789". A table of 1 KiB, a byte at a time: for records of some
/// hundred bytes.
uint32_t crc32c_of(std::span<const std::byte> bytes);

// SHA-256 (FIPS 180-4): the name of some content. Runs, data sets and model files are compared by
// it; two contents with one digest are taken to be the same.

/// The digest of all bytes given to `update`, in order, however they were cut into pieces.
class sha256 {
public:
  /// Throws failure(internal) when the cryptography library offers no SHA-256.
  sha256();
  ~sha256();
  sha256(sha256&&) noexcept;
  sha256& operator=(sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);

  /// The digest so far: 64 lower-case hexadecimal digits. More may be added afterwards.
  std::string hex() const;

private:
  struct context;
  std::unique_ptr<context> context_;
};

/// The digest of `bytes`: 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);

} // namespace troupe
