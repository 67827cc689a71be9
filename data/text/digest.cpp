#include "data/text/digest.hpp"

#include "data/text/failure.hpp"

#include <openssl/evp.h>

#include <array>

namespace troupe {

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
