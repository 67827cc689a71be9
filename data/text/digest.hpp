// SHA-256 (FIPS 180-4): the name of some content. Runs, data sets and model files are compared by
// it; two contents with one digest are taken to be the same.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace troupe {

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
