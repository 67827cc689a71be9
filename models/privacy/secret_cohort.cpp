#include "troupe/models/privacy/secret_cohort.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe {

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
