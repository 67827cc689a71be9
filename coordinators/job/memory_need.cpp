#include "troupe/coordinators/job/memory_need.hpp"

#include "troupe/models/base/saturating.hpp"
#include "troupe/models/optimizers/make_optimizer.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace troupe {

namespace {

struct network_size {
  uint64_t parameters = 0;
  uint64_t outputs = 0; ///< of all layers, for one row
};

network_size size_of(const job& resolved, const data_shape& shape) {
  const auto& model = resolved.model;
  auto layers = model.kind == model_kind::neural_network ? model.hidden : std::vector<size_t>{};
  layers.push_back(is_binary(*model.loss) ? 1 : shape.output_count);
  network_size result;
  uint64_t inputs = shape.feature_count;
  for (const uint64_t outputs : layers) {
    const auto weights = saturated_product(saturated_sum(inputs, model.bias ? 1 : 0), outputs);
    result.parameters = saturated_sum(result.parameters, weights);
    result.outputs = saturated_sum(result.outputs, outputs);
    inputs = outputs;
  }
  return result;
}

uint64_t floats(uint64_t count) {
  return saturated_product(count, sizeof(float));
}

uint64_t likely_bytes_of(const job& resolved, const network_size& size) {
  const auto& training = resolved.training;
  const uint64_t replicas = *training.replicas;
  const auto slots = optimizer_value_count(resolved.optimizer);
  const auto models =
    2 + slots + replicas + 1 + saturated_product(training.members.value_or(0), 1 + slots);
  const auto slice_rows = training.batch_size / *training.slices + 1;
  const auto computing =
    saturated_product(3 * replicas, saturated_product(slice_rows, size.outputs));
  auto result = floats(saturated_sum(saturated_product(models, size.parameters), computing));
  if (scope_of(resolved.optimizer.kind) == optimizer_scope::solver)
    result =
      saturated_sum(result, saturated_product(sizeof(double),
                                              saturated_product(size.parameters, size.parameters)));
  return result;
}

} // namespace

memory_need memory_of(const job& resolved, const data_shape& shape) {
  const auto size = size_of(resolved, shape);
  return {size.parameters, floats(saturated_product(3, size.parameters)),
          likely_bytes_of(resolved, size)};
}

std::optional<job_problem> memory_problem(const memory_need& need, uint64_t available_bytes) {
  if (need.least_bytes <= available_bytes)
    return std::nullopt;
  return job_problem{"model.hidden",
                     "a model of " + std::to_string(need.parameter_count) +
                       " parameters needs at least " + bytes_text(need.least_bytes) +
                       " of memory, " + bytes_text(available_bytes) + " are available",
                     "use fewer units or features, or a machine with more memory"};
}

uint64_t optimizer_value_count(const optimizer_options& x) {
  if (x.kind == optimizer_kind::lbfgs)
    return 2 * x.history_size + 4; // moves, their changes of gradient, the point
  return scope_of(x.kind) == optimizer_scope::element_wise ? make_optimizer(x)->slot_count() : 1;
}

std::string bytes_text(uint64_t bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit)
    value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit > 0 && value < 9.95 ? 1 : 0, units[unit]);
}

} // namespace troupe
