// Lives of a private run by seed: each begins anew with the ledger of those before it, as after a kill
// before the first checkpoint; trainers die, and on some the disk is full in the middle. Clients change
// nothing, so models are made of noise alone: what two lives have in common is noise used again.

#pragma once

#include "data/privacy/release_ledger.hpp"
#include "tests/support/process_limits.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <cstdint>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

inline constexpr size_t private_rounds = 4;

/// Makes its `directory`.
inline job private_job(const std::string& directory) {
  auto x = job_of_clients();
  x.federated.rounds = private_rounds;
  x.federated.sampling = client_sampling::poisson;
  x.merge.members.weighting = merge_weighting::equal;
  x.privacy.clip_norm = 0.5;
  x.privacy.noise_multiplier = 1;
  x.privacy.key_file = "none";
  x.privacy.key = privacy_key{{1, 2, 3}, "a hash"};
  x.output.directory = directory;
  std::filesystem::create_directories(directory);
  return x;
}

/// Clients change nothing: models are made of noise.
inline job silent_job(const std::string& directory) {
  auto x = private_job(directory);
  x.optimizer.learning_rate = 1e-30;
  return x;
}

inline std::string ledger_of(const job& x) {
  return x.output.directory + "/releases.csv";
}

inline std::vector<privacy_release> releases_of(const job& x) {
  return release_ledger{ledger_of(x)}.releases();
}

class private_walk {
public:
  explicit private_walk(uint64_t seed) : random_(seed), job_(silent_job(folder_.path("run"))) {
    job_.privacy.key->bytes[3] = static_cast<uint8_t>(seed);
    job_.training.replicas = 1 + random_() % 3;
    job_.federated.rounds = 2 + random_() % 2;
  }

  /// The first problem; empty: none.
  std::string run() {
    for (size_t life = 0; life < 4 && problem_.empty(); ++life)
      if (life == 1 || (life > 1 && random_() % 3 == 0))
        live_with_full_disk();
      else
        live();
    return problem_;
  }

private:
  company_outcome outcome() {
    return train_with_losses(job_, random_(), random_() % *job_.training.replicas);
  }

  void live() {
    const auto models = outcome().parameters;
    released_ += job_.federated.rounds;
    hold_ledger();
    for (const auto& earlier : models_)
      for (size_t i = 0; i < models.size(); ++i)
        if (models.at(i) == earlier.at(i))
          problem_ = "parameter " + std::to_string(i) + " has the noise of an earlier life";
    models_.push_back(models);
  }

  // The ledger has room for one line, and the start of another.
  void live_with_full_disk() {
    const auto size = std::filesystem::file_size(ledger_of(job_));
    const auto line = size / (1 + released_);
    company_outcome found;
    {
      const file_size_limit limit{size + line + line / 2};
      found = outcome();
    }
    if (!found.finished.failed)
      problem_ = "a release could not be written down, and training went on";
    ++released_;
    hold_ledger();
  }

  /// One line for each release, and none twice.
  void hold_ledger() {
    const auto releases = releases_of(job_);
    std::set<std::pair<uint64_t, uint64_t>> seen;
    for (const auto& x : releases)
      seen.emplace(x.round, x.attempt);
    if (seen.size() != released_ || releases.size() != released_)
      problem_ = std::to_string(released_) + " releases, and the ledger has " +
                 std::to_string(seen.size()) + " different ones";
  }

  std::mt19937_64 random_;
  temporary_folder folder_;
  job job_;
  std::vector<std::vector<float>> models_; ///< of the lives that came to their end
  size_t released_ = 0;
  std::string problem_;
};

} // namespace troupe::test
