// What a workspace of the processor has on a device: a queue, and memory for values that go there and come back.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/element_window.hpp"
#include "models/device/device_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// A queue, and of one version's parameters those ranges that were asked for.
class sent_parameters {
public:
  explicit sent_parameters(const std::shared_ptr<device>& where)
    : queue_(device_queue::make(where)), memory_(queue_) {}

  const std::shared_ptr<device_queue>& queue() { return queue_; }
  /// A range goes there once a version of the caller's (workspace::version). Valid until the next call.
  windowed_values of(const windowed_values& from, const index_range& elements, uint64_t version) {
    if (elements.empty())
      return from;
    const bool is_known = version != 0 && version == version_ &&
                          from.values.data() == from_.values.data() && from.window == from_.window;
    if (!is_known)
      ranges_.clear();
    version_ = version;
    from_ = from;
    auto found = std::ranges::find(ranges_, elements, &range::elements);
    if (found == ranges_.end()) {
      const auto there = memory_.slot(ranges_.size(), elements.size());
      queue_->upload(from.at(elements), there);
      found = ranges_.insert(found, {elements, element_window{{elements}}, there});
    }
    return {found->values, &found->window};
  }

private:
  struct range {
    index_range elements;
    element_window window;
    std::span<const float> values; ///< in the slot of its number
  };

  std::shared_ptr<device_queue> queue_;
  workspace memory_;
  std::vector<range> ranges_;
  uint64_t version_ = 0;
  windowed_values from_;
};

class device_place {
public:
  explicit device_place(std::shared_ptr<sent_parameters> parameters)
    : parameters_(std::move(parameters)),
      own_(parameters_->queue()),
      memory_(parameters_->queue()) {}

  const std::shared_ptr<sent_parameters>& parameters() { return parameters_; }
  device_queue& queue() { return *parameters_->queue(); }
  /// Of the model.
  workspace& memory() { return memory_; }

  /// Behind `made` are as many more as are wanted.
  enum slot : size_t { sent_rows, made };

  std::span<float> room(size_t which, size_t size) { return own_.slot(which, size); }
  /// Whole parameters.
  std::span<const float> sent(std::span<const float> parameters, uint64_t version) {
    return parameters_->of(parameters, {0, parameters.size()}, version).values;
  }
  /// With features that the device has; what the loss compares scores with is the processor's.
  batch sent(batch some) {
    const auto there = room(sent_rows, some.features.size());
    queue().upload(some.features, there);
    some.features = there;
    return some;
  }

private:
  std::shared_ptr<sent_parameters> parameters_;
  workspace own_;
  workspace memory_;
};

/// Devices, which are dealt out to workspaces in turn, from one of them on.
class device_places {
public:
  device_places(std::vector<std::shared_ptr<device>> devices, size_t first)
    : devices_(std::move(devices)), next_(first) {}

  device_place& of(workspace& memory) const {
    auto& kept = memory.kept_by_model();
    if (!kept)
      kept = std::make_shared<device_place>(
        std::make_shared<sent_parameters>(devices_[next_++ % devices_.size()]));
    return *static_cast<device_place*>(kept.get());
  }
  /// One that has no place yet gets another's queue and parameters.
  void join(workspace& memory, workspace& another) const {
    memory.kept_by_model() = std::make_shared<device_place>(of(another).parameters());
  }

private:
  std::vector<std::shared_ptr<device>> devices_;
  mutable std::atomic<size_t> next_;
};

} // namespace troupe
