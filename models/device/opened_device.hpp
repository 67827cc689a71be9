// A device that is ready: its context, and its kernels as its own compiler made them.

#pragma once

#include "models/device/opencl.hpp"

#include <cstddef>

namespace troupe {

class device {
public:
  explicit device(const device_facts& which, cl_device_id id);

  const device_facts& facts() const { return facts_; }
  cl_context context() const { return context_.get(); }
  cl_device_id id() const { return id_; }
  cl_program program() const { return program_.get(); }
  /// Rows and columns of a product that one item computes: a graphics processor hides how long memory takes behind
  /// many sums.
  size_t product_values() const { return facts_.is_processor ? 4 : 8; }

private:
  device_facts facts_;
  cl_device_id id_;
  opencl::owned<cl_context> context_;
  opencl::owned<cl_program> program_;
};

} // namespace troupe
