#include "troupe/app/job/job_places.hpp"

#include <algorithm>

namespace troupe {

std::string place_text(const std::string& path, source_position at) {
  return path + ":" + std::to_string(std::max<size_t>(1, at.line)) + ":" +
         std::to_string(std::max<size_t>(1, at.column));
}

std::string job_places::of(std::string key) const {
  for (;;) {
    if (const auto found = by_key.find(key); found != by_key.end())
      return found->second;
    const size_t dot = key.rfind('.');
    if (dot == std::string::npos)
      return place_text(file, {});
    key.resize(dot);
  }
}

job_error error_at(const job_problem& problem, const job_places& places) {
  return {places.of(problem.key), "'" + problem.key + "': " + problem.why, problem.hint};
}

} // namespace troupe
