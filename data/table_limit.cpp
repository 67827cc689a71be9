#include "troupe/data/table_limit.hpp"

#include "troupe/data/failure.hpp"

#include <fstream>
#include <limits>
#include <utility>

namespace troupe {

namespace {

uint64_t available_bytes() {
  std::ifstream file{"/proc/meminfo"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:"))
      return std::stoull(line.substr(line.find(':') + 1)) * 1024; // it counts in KiB
  return std::numeric_limits<uint64_t>::max();
}

} // namespace

table_limit::table_limit(std::string path, uint64_t bytes_max)
  : path_(std::move(path)), bytes_max_(bytes_max ? bytes_max : available_bytes()) {}

void table_limit::refuse(uint64_t bytes) const {
  throw failure(failure_code::bad_data,
                "the table needs at least " + std::to_string(bytes) + " bytes of memory, " +
                  std::to_string(bytes_max_) + " are available",
                path_, "train on a part of the rows, or on a machine with more memory");
}

} // namespace troupe
