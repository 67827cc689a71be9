#include "models/optimizers/radam.hpp"

namespace troupe {

namespace {

// The paper's r_t with the second moment's correction; 0 while the variance cannot be trusted.
double rectification(double beta2, uint64_t k) {
  const double decayed = elementary::power(beta2, k);
  const double longest = 2 / (1 - beta2) - 1;
  const double length = longest - 2 * static_cast<double>(k) * decayed / (1 - decayed);
  if (!(length > 4))
    return 0;
  const double variance_ratio =
    (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length);
  return std::sqrt(variance_ratio) * std::sqrt(1 - decayed);
}

} // namespace

step_corrections radam::corrections(const optimizer_options& x, uint64_t t) {
  return {first_correction(*x.beta1, t), static_cast<float>(rectification(*x.beta2, t + 1))};
}

} // namespace troupe
