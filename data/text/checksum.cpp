#include "data/text/checksum.hpp"

#include "data/text/failure.hpp"

#include <openssl/evp.h>

#include <cstring>
#include <new>

// The library's own choice of instructions at run time: inlined, it would be those of any x86-64.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace troupe {

checksum_bytes checksum_of(std::span<const std::byte> bytes, uint64_t seed) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed));
  checksum_bytes result;
  static_assert(sizeof(canonical.digest) == sizeof(result));
  std::memcpy(result.data(), canonical.digest, sizeof(result));
  return result;
}

uint64_t short_checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct running_checksum::state {
  state() {
    if (content == nullptr)
      throw std::bad_alloc{};
    XXH3_64bits_reset(content);
  }
  ~state() { XXH3_freeState(content); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  XXH3_state_t* const content = XXH3_createState();
};

running_checksum::running_checksum() : state_(std::make_unique<state>()) {}
running_checksum::~running_checksum() = default;

void running_checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_->content, bytes.data(), bytes.size());
}

uint64_t running_checksum::take() {
  const auto result = XXH3_64bits_digest(state_->content);
  XXH3_64bits_reset(state_->content);
  return result;
}

namespace {

constexpr uint32_t polynomial = 0x82F63B78;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> result{};
  for (uint32_t byte = 0; byte < result.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? polynomial : 0);
    result[byte] = rest;
  }
  return result;
}

constexpr auto table = make_table();

} // namespace

uint32_t crc32c_of(std::span<const std::byte> bytes) {
  uint32_t result = 0xFFFFFFFF;
  for (const auto byte : bytes)
    result = (result >> 8) ^ table[(result ^ static_cast<uint32_t>(byte)) & 0xFF];
  return ~result;
}

namespace {

struct context_deleter {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using context_pointer = std::unique_ptr<EVP_MD_CTX, context_deleter>;

void require(bool success) {
  if (!success)
    throw failure(failure_code::internal, "the cryptography library cannot compute SHA-256");
}

context_pointer make_context() {
  context_pointer result{EVP_MD_CTX_new()};
  require(result != nullptr);
  return result;
}

std::string to_hex(std::span<const unsigned char> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  result.reserve(2 * bytes.size());
  for (auto byte : bytes) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

} // namespace

struct sha256::context {
  context_pointer state = make_context();
};

sha256::sha256() : context_(std::make_unique<context>()) {
  require(EVP_DigestInit_ex(context_->state.get(), EVP_sha256(), nullptr) == 1);
}

sha256::~sha256() = default;
sha256::sha256(sha256&&) noexcept = default;
sha256& sha256::operator=(sha256&&) noexcept = default;

void sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_->state.get(), bytes.data(), bytes.size()) == 1);
}

std::string sha256::hex() const {
  // Finishing destroys a context, so a copy is finished.
  auto copy = make_context();
  require(EVP_MD_CTX_copy_ex(copy.get(), context_->state.get()) == 1);
  std::array<unsigned char, 32> digest;
  require(EVP_DigestFinal_ex(copy.get(), digest.data(), nullptr) == 1);
  return to_hex(digest);
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  sha256 digest;
  digest.update(bytes);
  return digest.hex();
}

} // namespace troupe
