#include "troupe/app/job/privacy_schema.hpp"

#include "troupe/app/job/data_schema.hpp"

#include <string>
#include <utility>

namespace troupe {

void add_privacy_keys(std::vector<job_key>& out) {
  const auto number = [&](key_texts texts, const char* type, auto access) {
    out.push_back(plain_key<job, double>(std::move(texts), type, access));
  };
  number(
    {"privacy.clip_norm",
     "federated: each client's update is scaled down to this norm, and noise is added to their sum",
     "off"},
    "number > 0", [](auto& x) -> auto& { return x.privacy.clip_norm; });
  number(
    {"privacy.noise_multiplier", "deviation of the noise, as a multiple of clip_norm",
     "by epsilon: the least with which all rounds are within it"},
    "number > 0", [](auto& x) -> auto& { return x.privacy.noise_multiplier; });
  number(
    {"privacy.epsilon", "training stops before the round that would exceed it", "off"},
    "number > 0", [](auto& x) -> auto& { return x.privacy.epsilon; });
  number(
    {"privacy.delta", "of epsilon; below 1 / federated.clients"}, "number in (0, 1)",
    [](auto& x) -> auto& { return x.privacy.delta; });
  auto key_file = plain_key<job, std::string>(
    {"privacy.key_file",
     "what cohorts and noise are drawn by, made if there is none; the path is relative to the file "
     "that names it",
     "none"},
    "string", [](auto& x) -> auto& { return x.privacy.key_file; });
  key_file.get = [](const job& x) { return text_or_unset(x.privacy.key_file); };
  out.push_back(key_file);
}

} // namespace troupe
