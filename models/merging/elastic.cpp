#include "troupe/models/merging/elastic.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

elastic_result elastic_average(std::span<const float> centre, model_list locals, double alpha) {
  require_mergeable("elastic average", locals);
  if (centre.size() != locals.front().size())
    throw std::invalid_argument("elastic average: the centre has " + std::to_string(centre.size()) +
                                " parameters, the models " + std::to_string(locals.front().size()));
  if (!(alpha > 0 && alpha <= 1))
    throw std::invalid_argument("elastic average: alpha must be above 0 and at most 1");
  std::vector<double> sum(centre.size());
  elastic_result result;
  for (const auto& local : locals) {
    auto& moved = result.locals.emplace_back(centre.size());
    for (size_t i = 0; i < centre.size(); ++i) {
      const double d = static_cast<double>(local[i]) - static_cast<double>(centre[i]);
      sum[i] += d;
      moved[i] = static_cast<float>(static_cast<double>(local[i]) - alpha * d);
    }
  }
  for (size_t i = 0; i < centre.size(); ++i)
    result.centre.push_back(static_cast<float>(static_cast<double>(centre[i]) + alpha * sum[i]));
  return result;
}

} // namespace troupe
