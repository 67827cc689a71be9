#include "troupe/app/toml/did_you_mean.hpp"

#include "troupe/data/text/closest_name.hpp"

namespace troupe {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near{closest_name(word, candidates)};
  return near.empty() ? std::string{} : "did you mean '" + near + "'?";
}

} // namespace troupe
