#include "models/privacy/secret_stream.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace troupe {

namespace {

/// Rounds take 40 bits of the nonce, attempts 32, purposes 24.
constexpr uint64_t round_limit = uint64_t{1} << 40;
constexpr uint64_t block_limit = uint64_t{1} << 32;

void quarter_round(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  a += b;
  d = std::rotl(d ^ a, 16);
  c += d;
  b = std::rotl(b ^ c, 12);
  a += b;
  d = std::rotl(d ^ a, 8);
  c += d;
  b = std::rotl(b ^ c, 7);
}

uint32_t little_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 |
         uint32_t{bytes[3]} << 24;
}

std::array<uint32_t, 3> nonce_of(const secret_name& name) {
  if (name.round >= round_limit || name.attempt >= secret_attempt_limit)
    throw std::invalid_argument("secret stream: a round or an attempt beyond counting");
  return {static_cast<uint32_t>(name.purpose) << 8 | static_cast<uint32_t>(name.round >> 32),
          static_cast<uint32_t>(name.round), static_cast<uint32_t>(name.attempt)};
}

} // namespace

std::array<uint32_t, 16> chacha20_block(const secret_key& key, uint32_t counter,
                                        const std::array<uint32_t, 3>& nonce) {
  std::array<uint32_t, 16> begin{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}; // "expand 32-.."
  for (size_t i = 0; i < 8; ++i)
    begin[4 + i] = little_endian(&key[4 * i]);
  begin[12] = counter;
  for (size_t i = 0; i < 3; ++i)
    begin[13 + i] = nonce[i];
  auto x = begin;
  for (int i = 0; i < 10; ++i) {
    for (size_t k = 0; k < 4; ++k)
      quarter_round(x[k], x[4 + k], x[8 + k], x[12 + k]);
    for (size_t k = 0; k < 4; ++k)
      quarter_round(x[k], x[4 + (k + 1) % 4], x[8 + (k + 2) % 4], x[12 + (k + 3) % 4]);
  }
  for (size_t i = 0; i < 16; ++i)
    x[i] += begin[i];
  return x;
}

secret_stream::secret_stream(const secret_key& key, const secret_name& name)
  : key_(key), nonce_(nonce_of(name)) {}

void secret_stream::refill() {
  if (counter_ == block_limit)
    throw std::length_error("secret stream: at its end");
  const auto words = chacha20_block(key_, static_cast<uint32_t>(counter_++), nonce_);
  for (size_t i = 0; i < words.size(); ++i) {
    halves_[2 * i] = static_cast<uint16_t>(words[i]);
    halves_[2 * i + 1] = static_cast<uint16_t>(words[i] >> 16);
  }
  used_ = 0;
}

uint16_t secret_stream::next_16() {
  if (used_ == halves_.size())
    refill();
  return halves_[used_++];
}

uint32_t secret_stream::next_32() {
  const uint32_t low = next_16();
  return low | uint32_t{next_16()} << 16;
}

uint64_t secret_stream::next_64() {
  const uint64_t low = next_32();
  return low | uint64_t{next_32()} << 32;
}

// Numbers beyond the last whole multiple are drawn again: what is left has no remainder.
uint64_t secret_stream::below(uint64_t limit) {
  if (limit == 0)
    throw std::invalid_argument("secret stream: nothing is below 0");
  const uint64_t excess = (~limit + 1) % limit; // 2^64 mod limit
  for (;;) {
    const auto drawn = next_64();
    if (drawn <= ~excess)
      return drawn % limit;
  }
}

std::vector<uint32_t> secret_cohort(const secret_key& key, uint64_t round, uint64_t attempt,
                                    uint32_t client_count, double rate) {
  if (!(rate > 0 && rate <= 1))
    throw std::invalid_argument("secret cohort: a sampling rate outside (0, 1]");
  std::vector<uint32_t> result;
  const bool takes_all = rate == 1;
  const auto limit = takes_all ? uint64_t{0} : static_cast<uint64_t>(rate * 0x1p64);
  secret_stream random{key, {secret_purpose::cohort, round, attempt}};
  for (uint32_t client = 0; client < client_count; ++client)
    if (takes_all || random.next_64() < limit)
      result.push_back(client);
  return result;
}

uint64_t cohort_size_max(uint32_t client_count, double rate) {
  const double mean = rate * client_count;
  const double most = std::ceil(mean + 10 * std::sqrt(mean));
  return static_cast<uint64_t>(std::min(most, static_cast<double>(client_count)));
}

} // namespace troupe
