// An application that embeds Troupe: its own actor system, a job in code, one call. It prints the
// SHA-256 of the trained parameters.

#include <troupe/train.hpp>
#include <troupe/version.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <exception>
#include <iostream>

namespace {

troupe::job tiny_job() {
  troupe::job x;
  x.name = "consumer";
  x.seed = 7;
  x.data.synthetic = troupe::synthetic_kind::classification;
  x.data.rows = 128;
  x.data.features = 4;
  x.model.hidden = {8};
  x.training.epochs = 2;
  return x;
}

} // namespace

int main() {
  try {
    caf::actor_system_config config;
    troupe::configure(config);
    caf::actor_system system{config};
    const auto result = troupe::train(system, tiny_job());
    std::cout << "troupe " << TROUPE_VERSION << ' ' << result.summary.parameters_sha256 << '\n';
    return result.problem ? 1 : 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
