// Values of a device, beside those of the processor: how the functions of models/ tell them apart.
//
// A span of a device's memory has addresses that no memory of a process ever has, as they are beyond what processors
// translate: whoever reads there by mistake is stopped by the machine. A function that computes on values asks
// `device_of` and, if they are a device's, puts the kernel into that device's queue instead; so layers and chains of
// them run on both. All operands of a call lie on the same side. docs/devices.md has the whole.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

class device_queue;

namespace detail {

/// Where they begin: with bit 62 but not 63, which x86-64 refuses, and with bit 55, with which an address is the kernel's
/// on aarch64.
inline constexpr uintptr_t device_addresses = uintptr_t{1} << 62 | uintptr_t{1} << 55;
inline constexpr uintptr_t device_address_bytes = uintptr_t{1} << 45;

device_queue* find_device_queue(uintptr_t offset) noexcept;

} // namespace detail

/// Whose memory this is; null: the processor's.
inline device_queue* device_of(const float* values) noexcept {
  const auto offset = reinterpret_cast<uintptr_t>(values) - detail::device_addresses;
  return offset < detail::device_address_bytes ? detail::find_device_queue(offset) : nullptr;
}
inline device_queue* device_of(std::span<const float> values) noexcept {
  return device_of(values.data());
}

} // namespace troupe
