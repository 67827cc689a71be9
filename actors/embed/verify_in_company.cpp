#include "actors/embed/verify_in_company.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/train.hpp"

namespace troupe {

namespace {

constexpr size_t replicas_max = 3;

} // namespace

std::vector<finding> verify_in_company(caf::actor_system& system, const job& x) {
  auto own = x;
  if (own.training.strategy == strategy_kind::gradients)
    own.training.slices = own.training.slices.value_or(replicas_max);
  const auto data = load_data(own);
  const auto trained = [&](size_t replicas) {
    own.training.replicas = replicas;
    const auto result = train(system, own, data);
    return result.problem.value_or(result.summary.parameters_sha256);
  };
  const auto expected = trained(1);
  std::vector<finding> found;
  for (size_t replicas = 1; replicas <= replicas_max; ++replicas)
    if (const auto seen = trained(replicas); seen != expected)
      found.push_back(
        {"company", "replicas: " + std::to_string(replicas),
         "the run ends with " + seen + ", with one replica it ended with " + expected});
  return found;
}

} // namespace troupe
