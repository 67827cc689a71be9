#include "models/device/device_model.hpp"

#include "models/base/require.hpp"
#include "models/base/saturating.hpp"
#include "models/device/device_queue.hpp"

#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

constexpr size_check require_size{"device"};

} // namespace

std::string device_problem(const model& network) {
  if (dynamic_cast<const chained_model*>(&network) == nullptr)
    return "a model of an application's own is computed on the processor";
  if (network.chain().reads_sparse())
    return "sparse rows are computed on the processor";
  if (!network.chain().runs_on_devices())
    return "a layer of an application's own is computed on the processor";
  return {};
}

uint64_t device_bytes(const model& network, size_t rows, size_t gradients) {
  const auto& chain = network.chain();
  const auto floats =
    saturated_sum(saturated_sum(saturated_product(1 + gradients, network.layout().size()),
                                saturated_product(rows, network.feature_count())),
                  chain.memory_floats({0, chain.size()}, rows, rows) + chain.device_scratch(rows));
  return saturated_product(floats, sizeof(float));
}

device_model::device_model(std::shared_ptr<const model> does,
                           std::vector<std::shared_ptr<device>> devices, size_t first)
  : model(does->feature_count(), does->output_count(), does->loss_with_constants()),
    does_(std::move(does)),
    places_(std::move(devices), first) {
  if (const auto problem = device_problem(*does_); !problem.empty())
    throw std::invalid_argument(problem);
  layout_ = does_->layout();
  freeze(does_->frozen());
}

batch_sums device_model::do_gradient(std::span<const float> parameters, const batch& rows,
                                     std::span<float> gradient_out, workspace& memory,
                                     const gradient_listener* listener) const {
  require_size("gradients", layout_.size(), gradient_out.size());
  auto& here = places_.of(memory);
  const bool stays = device_of(gradient_out) != nullptr;
  const auto there = stays ? gradient_out : here.room(device_place::made, gradient_out.size());
  const auto sums = does_->gradient(here.sent(parameters, memory.version()), here.sent(rows), there,
                                    here.memory(), stays ? listener : nullptr);
  if (stays)
    here.queue().copy_of(there.first(1)); // the caller measures how long it takes
  else
    here.queue().download(there, gradient_out);
  return sums;
}

batch_sums device_model::evaluate(std::span<const float> parameters, const batch& rows,
                                  workspace& memory) const {
  auto& here = places_.of(memory);
  return does_->evaluate(here.sent(parameters, memory.version()), here.sent(rows), here.memory());
}

void device_model::do_predict(std::span<const float> parameters, const batch& rows,
                              std::span<float> out, workspace& memory) const {
  auto& here = places_.of(memory);
  does_->predict(here.sent(parameters, memory.version()), here.sent(rows), out, here.memory());
}

} // namespace troupe
