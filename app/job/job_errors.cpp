#include "app/job/job_errors.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

constexpr size_t errors_max = 100; // more than anybody corrects in one go

std::vector<job_error> cut_short(std::vector<job_error> errors) {
  if (errors.empty())
    throw std::invalid_argument("job_errors needs at least one error");
  if (errors.size() <= errors_max)
    return errors;
  const size_t omitted = errors.size() - errors_max;
  errors.resize(errors_max);
  errors.push_back({{}, "and at least " + std::to_string(omitted) + " more errors", {}});
  return errors;
}

std::string with_hint(const job_error& error) {
  return error.hint.empty() ? error.why : error.why + "; " + error.hint;
}

// The reason a failure keeps: the first error without its place, which the failure itself adds.
std::string all_reasons(const std::vector<job_error>& errors) {
  std::string result = errors.size() == 1 ? errors.front().why : with_hint(errors.front());
  for (size_t i = 1; i < errors.size(); ++i) {
    result += '\n';
    if (!errors[i].where.empty())
      result += errors[i].where + ": ";
    result += with_hint(errors[i]);
  }
  return result;
}

std::string only_hint(const std::vector<job_error>& errors) {
  return errors.size() == 1 ? errors.front().hint : std::string{};
}

} // namespace

job_errors::job_errors(std::vector<job_error> errors)
  : job_errors(checked{cut_short(std::move(errors))}) {}

job_errors::job_errors(checked errors)
  : failure(failure_code::bad_job, all_reasons(errors.list), errors.list.front().where,
            only_hint(errors.list)),
    errors_(std::move(errors.list)) {}

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
