#include "troupe/models/merging/parameter_average.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

parameter_average::parameter_average(const averaging_options& options) : options_(options) {
  if (!(options.decay >= 0 && options.decay < 1))
    throw std::invalid_argument("averaged parameters: decay must be in [0, 1)");
}

void parameter_average::add(uint64_t version, std::span<const float> values) {
  if (options_.kind == averaging_kind::none || version < options_.first_version)
    return;
  if (count_ == 0)
    average_.assign(values.begin(), values.end());
  if (values.size() != average_.size())
    throw std::invalid_argument("averaged parameters: expected " + std::to_string(average_.size()) +
                                " values, got " + std::to_string(values.size()));
  ++count_;
  rest_ *= options_.decay;
  const double share = options_.kind == averaging_kind::mean ? 1 / static_cast<double>(count_)
                                                             : (1 - options_.decay) / (1 - rest_);
  for (size_t i = 0; i < values.size(); ++i)
    average_[i] += share * (static_cast<double>(values[i]) - average_[i]);
}

} // namespace troupe
