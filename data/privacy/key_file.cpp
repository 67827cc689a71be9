#include "troupe/data/privacy/key_file.hpp"

#include "troupe/data/disk/disk_failure.hpp"
#include "troupe/data/disk/secret_file.hpp"
#include "troupe/data/text/digest.hpp"
#include "troupe/data/text/failure.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <span>

namespace troupe {

namespace {

constexpr char digits[] = "0123456789abcdef";

std::string text_of(const secret_key& key) {
  std::string result;
  for (const auto byte : key) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result + '\n';
}

int value_of(char digit) {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
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

} // namespace

secret_key read_or_make_key(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    write_guarded_file(path, text_of(new_key(path)), file_access::owner, false);
  const auto text = read_secret_file(path);
  secret_key key{};
  bool is_key = text.size() == 2 * key.size() + 1 && text.back() == '\n';
  for (size_t i = 0; is_key && i < key.size(); ++i) {
    const auto high = value_of(text[2 * i]), low = value_of(text[2 * i + 1]);
    is_key = high >= 0 && low >= 0;
    key[i] = static_cast<uint8_t>(high << 4 | low);
  }
  if (!is_key)
    throw failure(failure_code::bad_data, "this file holds no key", path,
                  "a key is 64 hexadecimal digits on one line; without a file one is made");
  return key;
}

std::string fingerprint_of(const secret_key& key) {
  return sha256_hex(std::as_bytes(std::span{key}));
}

} // namespace troupe
