// What a workspace of the processor has on a device: a queue, and memory for values that go there and come back.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/element_window.hpp"
#include "models/device/device_queue.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

class device_place {
public:
  explicit device_place(const std::shared_ptr<device>& where)
    : queue_(device_queue::make(where)), own_(queue_), memory_(queue_) {}

  device_queue& queue() { return *queue_; }
  /// Of the model.
  workspace& memory() { return memory_; }

  /// Behind `made` are as many more as are wanted.
  enum slot : size_t { sent_parameters, sent_tile, sent_rows, made };

  std::span<float> room(size_t which, size_t size) { return own_.slot(which, size); }
  std::span<float> sent(slot which, std::span<const float> values) {
    const auto result = room(which, values.size());
    queue_->upload(values, result);
    return result;
  }
  /// Until the next ones are sent.
  windowed_values sent(const windowed_values& parameters, const index_range& elements) {
    if (elements.empty())
      return parameters;
    tile_ = element_window{{elements}};
    return {sent(sent_tile, parameters.at(elements)), &tile_};
  }
  /// Whole parameters, once a version of the caller's (workspace::version).
  std::span<const float> sent_version(std::span<const float> parameters, uint64_t version) {
    const auto there = room(sent_parameters, parameters.size());
    const bool is_known = version != 0 && version == version_ && parameters.data() == sent_from_;
    if (is_known)
      return there;
    version_ = 0; // until they are there
    queue_->upload(parameters, there);
    version_ = version;
    sent_from_ = parameters.data();
    return there;
  }
  /// With features that the device has; what the loss compares scores with is the processor's.
  batch sent(batch some) {
    some.features = sent(sent_rows, some.features);
    return some;
  }

private:
  std::shared_ptr<device_queue> queue_;
  workspace own_;
  workspace memory_;
  element_window tile_;  ///< what of the parameters was sent last
  uint64_t version_ = 0; ///< of the whole parameters that are there
  const float* sent_from_ = nullptr;
};

/// Devices, which are dealt out to workspaces in turn.
class device_places {
public:
  explicit device_places(std::vector<std::shared_ptr<device>> devices)
    : devices_(std::move(devices)) {}

  device_place& of(workspace& memory) const {
    auto& kept = memory.kept_by_model();
    if (!kept)
      kept = std::make_shared<device_place>(devices_[next_++ % devices_.size()]);
    return *static_cast<device_place*>(kept.get());
  }

private:
  std::vector<std::shared_ptr<device>> devices_;
  mutable std::atomic<size_t> next_{0};
};

} // namespace troupe
