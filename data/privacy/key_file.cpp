#include "data/privacy/key_file.hpp"

#include "data/disk/atomic_file.hpp"
#include "data/disk/open_file.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace troupe {

namespace {

constexpr char digits[] = "0123456789abcdef";

int value_of(char digit) {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/// False when they are no lower-case hexadecimal digits.
bool read_digits(std::string_view text, secret_key& key) {
  for (size_t i = 0; i < key.size(); ++i) {
    const auto high = value_of(text[2 * i]), low = value_of(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    key[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

secret_key new_key(const std::string& path) {
  secret_key key{};
  size_t have = 0;
  while (have < key.size()) {
    const auto count = ::getrandom(key.data() + have, key.size() - have, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw reading_failure({"cannot draw random bytes for the key", path, errno});
    have += static_cast<size_t>(count);
  }
  return key;
}

/// Of processes that begin at the same time one makes it.
void make_key(const std::string& path) {
  try {
    write_file_atomically(path, digits_of(new_key(path)) + '\n', {mode_for_owner, false});
  } catch (const failure&) {
    if (::access(path.c_str(), F_OK) != 0)
      throw;
  }
}

} // namespace

std::string digits_of(const secret_key& key) {
  std::string result;
  for (const auto byte : key) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

secret_key read_or_make_key(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    make_key(path);
  const auto text = read_secret_file(path);
  secret_key key{};
  if (text.size() != 2 * key.size() + 1 || text.back() != '\n' || !read_digits(text, key))
    throw failure(failure_code::bad_data, "this file holds no key", path,
                  "a key is 64 hexadecimal digits on one line; without a file one is made");
  return key;
}

std::string fingerprint_of(const secret_key& key) {
  return sha256_hex(std::as_bytes(std::span{key}));
}

// HMAC (RFC 2104) of SHA-256: the plain hash of key and content could be gone on from.
secret_key derived_key(const secret_key& key, std::span<const std::byte> content) {
  constexpr size_t block_bytes = 64;
  const auto padded = [&](uint8_t pad) {
    std::array<uint8_t, block_bytes> result{};
    for (size_t i = 0; i < block_bytes; ++i)
      result[i] = (i < key.size() ? key[i] : uint8_t{0}) ^ pad;
    return result;
  };
  const auto digest_of = [](const auto& begin, std::span<const std::byte> rest) {
    sha256 digest;
    digest.update(std::as_bytes(std::span{begin}));
    digest.update(rest);
    secret_key result{};
    read_digits(digest.hex(), result);
    return result;
  };
  const auto inner = digest_of(padded(0x36), content);
  return digest_of(padded(0x5c), std::as_bytes(std::span{inner}));
}

} // namespace troupe
