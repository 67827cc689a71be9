#include "data/checkpoint/checkpoint_layout.hpp"

#include <limits>
#include <stdexcept>
#include <string>

namespace troupe::checkpoint_format {

namespace {

using bytes = std::vector<std::byte>;

void add(bytes& out, std::span<const std::byte> more) {
  out.insert(out.end(), more.begin(), more.end());
}

void add(bytes& out, std::string_view text) {
  add(out, std::as_bytes(std::span(text)));
}

template <class Number>
void add_number(bytes& out, Number value) {
  add(out, std::as_bytes(std::span(&value, 1)));
}

} // namespace

uint64_t chunk_count_of_tensor(const checkpoint_shape& shape) {
  return (shape.parameter_count + chunk_elements - 1) / chunk_elements;
}

uint64_t table_bytes(const checkpoint_shape& shape) {
  return shape.tensor_count() * chunk_count_of_tensor(shape) * sizeof(checksum_bytes);
}

uint64_t data_bytes(const checkpoint_shape& shape) {
  return place_of(shape.parameter_count, shape.tensor_count(), 0);
}

uint64_t file_bytes(const checkpoint_shape& shape, uint64_t record_bytes) {
  return start_bytes + data_bytes(shape) + table_bytes(shape) + record_bytes + tail_bytes;
}

bytes start_of(const checkpoint_shape& shape, std::span<const std::byte> record) {
  if (record.size() > std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument("checkpoint: a record of " + std::to_string(record.size()) +
                                " bytes is too long for its file");
  bytes result;
  add(result, start_mark);
  add_number(result, version);
  add_number(result, static_cast<uint32_t>(record.size()));
  add_number(result, file_bytes(shape, record.size()));
  auto checked = result;
  add(checked, record);
  add(result, checksum_of(checked));
  result.resize(start_bytes);
  return result;
}

bytes end_of(std::span<const std::byte> start, std::span<const std::byte> table,
             std::span<const std::byte> record) {
  bytes checked;
  add(checked, start.subspan(checked_preamble_bytes, sizeof(checksum_bytes)));
  add(checked, table);
  bytes result{table.begin(), table.end()};
  add(result, record);
  add(result, checksum_of(checked));
  add(result, end_mark);
  return result;
}

} // namespace troupe::checkpoint_format
