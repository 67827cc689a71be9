// What is known of a device, and how it fails.

#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace troupe {

/// What a device, or the system's OpenCL, did not do: which, what, and what to do about it.
class device_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct device_facts {
  size_t number = 0; ///< among those here
  std::string name;
  std::string platform;
  bool is_processor = false; ///< the processor itself, as OpenCL sees it
  size_t memory_bytes = 0;
  size_t allocation_bytes = 0; ///< at most in one piece
  std::string lacks;           ///< what it needs and does not have, in words; empty: nothing
};

} // namespace troupe
