// Secret streams: random words that follow from a key of 32 bytes and cannot be foretold without
// it. ChaCha20 (Bernstein 2008; RFC 8439), whose words no test can distinguish from chance. The
// generators of models/base/random.hpp are keyed by the job's seed, which is no secret.
//
// A stream has a name {purpose, round, attempt}. Two streams of one key have nothing in common unless
// their names are equal; so noise made anew under the same name is the same noise, and a caller that
// must not repeat it uses another attempt.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

using secret_key = std::array<uint8_t, 32>;

/// What the words of a stream are for.
enum class secret_purpose : uint32_t {
  cohort = 1, ///< the clients of a round
  noise = 2,  ///< what is added to a round's sum
};

/// Attempts at a round are below it.
inline constexpr uint64_t secret_attempt_limit = uint64_t{1} << 32;

struct secret_name {
  secret_purpose purpose = secret_purpose::cohort;
  uint64_t round = 0;
  uint64_t attempt = 0; ///< below secret_attempt_limit

  friend bool operator==(const secret_name&, const secret_name&) = default;
};

/// One block of ChaCha20: 16 words of key, counter and nonce in the order of RFC 8439.
std::array<uint32_t, 16> chacha20_block(const secret_key& key, uint32_t counter,
                                        const std::array<uint32_t, 3>& nonce);

class secret_stream {
public:
  /// At the first word. Throws std::invalid_argument for an attempt or a round out of range.
  secret_stream(const secret_key& key, const secret_name& name);

  /// The next 16, 32 or 64 bits; uniform. Throws std::length_error after 256 GiB.
  uint16_t next_16();
  uint32_t next_32();
  uint64_t next_64();
  /// A uniform integer below `limit` >= 1, exactly.
  uint64_t below(uint64_t limit);

private:
  void refill();

  secret_key key_;
  std::array<uint32_t, 3> nonce_;
  uint64_t counter_ = 0;
  std::array<uint16_t, 32> halves_{};
  size_t used_ = 32;
};

// The secret cohort of a round: each client takes part with the same probability, drawn by a secret
// key. The accountant's amplification by sampling holds for exactly this (Poisson sampling), against
// observers who do not know the cohort. A cohort of a fixed size, or from a seed in the job's file, is
// accounted as if all took part.

/// The clients, ascending, of this attempt at a round: each of [0, client_count) with probability
/// `rate`, to 2^-64 and never above it. Throws std::invalid_argument for a rate outside (0, 1].
std::vector<uint32_t> secret_cohort(const secret_key& key, uint64_t round, uint64_t attempt,
                                    uint32_t client_count, double rate);

/// Clients that a cohort has at most, but for one time in 10^20: q n + 10 sqrt(q n), at most n. A round
/// with more is void: the range of its sum is not for so many.
uint64_t cohort_size_max(uint32_t client_count, double rate);

} // namespace troupe
