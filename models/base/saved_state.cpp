#include "models/base/saved_state.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/require.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace troupe {

namespace {

/// Counts beyond it have no double of their own.
constexpr double largest_count = 9007199254740992.0; // 2^53

constexpr requirement require{"saved state"};

} // namespace

void state_saver::copy(std::span<const float> values) {
  require(values.empty() || values.size() == size_, "a vector has another size than the model");
  const buffer result{size_};
  copy_values(values, result.values().begin());
  share(result);
}

// Words are moved, never computed with: as floats some of them are no numbers.
void state_saver::copy(std::span<const double> values) {
  require(values.empty() || values.size() == size_, "a vector has another size than the model");
  const buffer low{size_}, high{size_};
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t words[2];
    uint64_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof bits);
    words[0] = static_cast<uint32_t>(bits);
    words[1] = static_cast<uint32_t>(bits >> 32);
    std::memcpy(&low.values()[i], &words[0], sizeof(float));
    std::memcpy(&high.values()[i], &words[1], sizeof(float));
  }
  share(low);
  share(high);
}

const_buffer state_loader::vector() {
  require(next_vector_ < from_.vectors.size(), "a vector is missing");
  return from_.vectors[next_vector_++];
}

std::vector<double> state_loader::doubles() {
  const auto low = vector();
  const auto high = vector();
  require(low.size() == high.size(), "two halves of doubles differ in size");
  std::vector<double> result(low.size());
  for (size_t i = 0; i < result.size(); ++i) {
    uint32_t words[2];
    std::memcpy(&words[0], &low.values()[i], sizeof(float));
    std::memcpy(&words[1], &high.values()[i], sizeof(float));
    const uint64_t bits = uint64_t{words[1]} << 32 | words[0];
    std::memcpy(&result[i], &bits, sizeof bits);
  }
  return result;
}

double state_loader::number() {
  require(next_number_ < from_.numbers.size(), "a number is missing");
  return from_.numbers[next_number_++];
}

uint64_t state_loader::count() {
  const auto value = number();
  if (!(value >= 0 && value <= largest_count))
    throw std::out_of_range("saved state: a count is not one");
  return static_cast<uint64_t>(value);
}

} // namespace troupe
