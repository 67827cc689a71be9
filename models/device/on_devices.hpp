// Which devices compute a job's model, and whether they are right.

#pragma once

#include "models/device/device.hpp"
#include "models/network/model.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Computes gradients of small models with every kind of layer, on the device and on the processor. Empty when they have
/// the same bits; else what differs first, as "attention: other bits than the processor's". Computed once a device.
std::string self_test(const device_facts& which);

/// The devices that compute a model by a job's choice: none for "cpu", and for "auto" where none is right or the model
/// is none for devices. Throws device_error where another choice cannot be had.
std::vector<device_facts> devices_for(const model& network, std::string_view choice);

/// What is asked of the devices of a process.
struct device_load {
  uint64_t bytes = 0;     ///< of memory, in all
  size_t parts = 1;       ///< which are dealt out to the devices in turn
  uint64_t largest = 0;   ///< bytes of a part, where they are not equal
  uint64_t at_a_time = 0; ///< bytes in one piece
  size_t first = 0;       ///< the first part's device, counted round and round
};

/// The model, as those devices compute it. Throws device_error, also where the load is more than a device's memory.
std::shared_ptr<const model> on_devices(std::shared_ptr<const model> network,
                                        std::string_view choice, const device_load& load);

} // namespace troupe
