// A model that a device computes: the same gradients, losses and predictions, bit for bit.
//
// Parameters and rows go to the device, and the layers run there (device_memory.hpp). A gradient comes back, or stays in
// `room_there` to be added to others. Each workspace of a caller has a queue and memory of the device of its own.

#pragma once

#include "models/device/device.hpp"
#include "models/device/device_place.hpp"
#include "models/network/chained_model.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Why no device computes this model; empty: one may.
std::string device_problem(const model& network);

/// Of a device's memory, for one replica that computes so many rows at a time and keeps so many gradients.
uint64_t device_bytes(const model& network, size_t rows, size_t gradients);

/// The model on devices: workspaces are dealt out to them in turn. Throws std::invalid_argument where there is a
/// `device_problem`, and without devices.
class device_model final : public model {
public:
  device_model(std::shared_ptr<const model> does, std::vector<std::shared_ptr<device>> devices,
               size_t first = 0);

  const segment_chain& chain() const override { return does_->chain(); }
  axis_order torch_order(size_t tensor) const override { return does_->torch_order(tensor); }
  void score_derivatives(std::span<const float> parameters, std::span<const float> features,
                         size_t output, std::span<float> out, workspace& memory) const override {
    does_->score_derivatives(parameters, features, output, out, memory);
  }
  workspace& memory_there(workspace& memory) const override { return places_.of(memory).memory(); }
  batch rows_there(const batch& rows, workspace& memory) const override {
    return places_.of(memory).sent(rows);
  }
  windowed_values parameters_there(const windowed_values& parameters, const index_range& elements,
                                   workspace& memory) const override {
    return places_.of(memory).parameters()->of(parameters, elements, memory.version());
  }
  void share_parameters(workspace& memory, workspace& another) const override {
    places_.join(memory, another);
  }
  std::span<float> room_there(size_t number, size_t size, workspace& memory) const override {
    return places_.of(memory).room(device_place::made + number, size);
  }
  batch_sums evaluate(std::span<const float> parameters, const batch& rows,
                      workspace& memory) const override;

private:
  void do_initialize(uint64_t seed, const index_range& elements,
                     std::span<float> out) const override {
    does_->initialize(seed, elements, out);
  }
  batch_sums do_gradient(std::span<const float> parameters, const batch& rows,
                         std::span<float> gradient_out, workspace& memory,
                         const gradient_listener* listener) const override;
  void do_predict(std::span<const float> parameters, const batch& rows, std::span<float> out,
                  workspace& memory) const override;

  std::shared_ptr<const model> does_;
  device_places places_;
};

} // namespace troupe
