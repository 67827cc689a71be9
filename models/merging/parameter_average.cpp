#include "models/merging/parameter_average.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

parameter_average::parameter_average(const averaging_options& options) : options_(options) {
  if (!(options.decay >= 0 && options.decay < 1))
    throw std::invalid_argument("averaged parameters: decay must be in [0, 1)");
}

state_shape parameter_average::shape_of(const averaging_options& options) {
  return options.kind == averaging_kind::none ? state_shape{} : state_shape{vectors_of_doubles, 2};
}

void parameter_average::save(state_saver& out) const {
  if (options_.kind == averaging_kind::none)
    return;
  out.copy(std::span<const double>{average_});
  out.count(count_);
  out.number(rest_);
}

void parameter_average::load(state_loader& in) {
  if (options_.kind == averaging_kind::none)
    return;
  average_ = in.doubles();
  count_ = in.count();
  rest_ = in.number();
  if (count_ == 0)
    average_.clear();
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
