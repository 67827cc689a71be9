#include "troupe/data/table/table_limit.hpp"

#include "troupe/data/table/memory_room.hpp"
#include "troupe/data/text/failure.hpp"

#include <utility>

namespace troupe {

table_limit::table_limit(std::string path, uint64_t bytes_max)
  : path_(std::move(path)), bytes_max_(bytes_max ? bytes_max : memory_available()) {}

void table_limit::refuse(uint64_t bytes) const {
  throw failure(failure_code::bad_data,
                "the table needs at least " + std::to_string(bytes) + " bytes of memory, " +
                  std::to_string(bytes_max_) + " are available",
                path_, "train on a part of the rows, or on a machine with more memory");
}

} // namespace troupe
