// The facts that `troupe doctor` collects: of the machine, a folder, a port, a certificate. It
// changes nothing; app/doctor/doctor_judgement.hpp judges.

#pragma once

#include "app/cluster/cluster_file.hpp"
#include "models/device/device.hpp"
#include "models/math/products.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct machine_facts {
  size_t core_count = 1;            ///< that this process may run on
  std::optional<double> core_quota; ///< of its control group, in cores; absent: no limit
  std::vector<products::instruction_set> instructions; ///< that are here, the fastest first
  std::string arithmetic;                              ///< its name, or what is wrong with it here
  std::optional<uint64_t> descriptors; ///< that this process may have open; absent: no limit
  int64_t clock_step_ns = 0;           ///< resolution of the monotonic clock
  bool clock_goes_back = false;        ///< seen in a thousand readings

  bool has(products::instruction_set set) const {
    return std::ranges::count(instructions, set) > 0;
  }
};

machine_facts look_at_machine();

/// An OpenCL device, and how it computes.
struct device_state {
  device_facts facts;
  std::string problem; ///< of its self-test; empty: it has the bits of the processor
  double product_gflops =
    0; ///< of a product of 1024 x 1024 (a processor: 256 x 256), 10^9 operations a second
};

std::vector<device_state> look_at_devices();

/// Reads the two numbers of cgroup v2's cpu.max, "QUOTA PERIOD" in microseconds, as cores. Nothing
/// for "max" and for what it cannot be.
std::optional<double> quota_of(const std::string& cpu_max);

struct folder_facts {
  std::string path;         ///< as the job has it
  std::string nearest;      ///< the folder itself, or what is there of the path to it
  bool is_writable = false; ///< `nearest`, by this user
  uint64_t free_bytes = 0;  ///< for this user
};

folder_facts look_at_folder(const std::string& path);

enum class port_state : uint8_t {
  free,
  in_use,
  forbidden,    ///< to this user
  elsewhere,    ///< the address is another machine's
  unknown_host, ///< no such name, or no answer from the name server
};

/// Binds a node's socket for a moment; nothing listens and nothing is dialled.
port_state look_at_port(const cluster_node& node);

struct certificate_file_facts {
  std::string file;
  bool is_there = false;
  bool is_certificate = false;   ///< PEM, X.509
  int64_t starts_in_seconds = 0; ///< negative: valid already
  int64_t ends_in_seconds = 0;   ///< negative: expired
};

certificate_file_facts look_at_certificate(const std::string& file);

struct key_facts {
  std::string file;
  bool is_readable = false;
  bool is_open_to_others = false; ///< its mode lets group or others read it
};

key_facts look_at_key(const std::string& file);

} // namespace troupe
