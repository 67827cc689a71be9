#include "coordinators/job/client_job.hpp"

#include "coordinators/job/keys/job_keys.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

constexpr std::array<std::string_view, 9> own_keys{
  "job.seed",
  "training.strategy",
  "training.batch_size",
  "training.freeze",
  "training.class_weights",
  "federated.rounds",
  "federated.local_epochs",
  "federated.local_steps",
  "federated.proximal",
};

} // namespace

bool is_client_key(std::string_view path) {
  const bool is_section = path.starts_with("model.") || path.starts_with("optimizer.");
  return (is_section && !path.starts_with("model.start")) || std::ranges::count(own_keys, path) > 0;
}

std::string client_job_text(const job& resolved) {
  std::string result, section;
  for (const auto& key : job_keys()) {
    const auto text = is_client_key(key.path) ? key.get(resolved) : std::nullopt;
    if (!text)
      continue;
    const auto dot = key.path.rfind('.');
    if (const auto own = key.path.substr(0, dot); own != section)
      result += '[' + (section = own) + "]\n";
    result += key.path.substr(dot + 1) + " = " + *text + '\n';
  }
  return result;
}

} // namespace troupe
