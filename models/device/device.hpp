// Devices that compute with the bits of the processor: OpenCL devices, found when the program runs.
//
// A device has to round as the processor does: it needs fused multiply-adds, subnormal numbers, double precision, and
// divisions and square roots that are correctly rounded. One that lacks something is refused by name, and one that says
// it has everything is tried (self_test.hpp). There is no OpenCL at build time but its headers: the system's
// libOpenCL.so.1 is loaded if it is there.

#pragma once

#include "models/device/device_facts.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace troupe {

/// All devices, in the order of the system; none where there is no OpenCL.
std::vector<device_facts> devices_here();

/// The choices of no device, and of those that are here and right.
inline constexpr std::string_view processor_choice = "cpu";
inline constexpr std::string_view automatic_choice = "auto";

/// The devices that a job asks for: "auto" (each that is no processor and lacks nothing), a number, or a part of names.
/// Throws device_error when there is none; "auto" may find none.
std::vector<device_facts> devices_called(std::string_view choice);

class device;

/// Makes it ready, once in a process. Throws device_error.
std::shared_ptr<device> open_device(const device_facts& which);

} // namespace troupe
