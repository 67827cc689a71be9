#include "troupe/data/checkpoint/checkpoint_output.hpp"

#include "troupe/data/checkpoint/checkpoint_layout.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace troupe {

using namespace checkpoint_format;

namespace {

checkpoint_shape shape_with(const checkpoint& x, uint64_t parameter_count) {
  return {parameter_count, x.slots.size(), static_cast<bool>(x.best_parameters)};
}

/// Calls `take(first, values)` for all values, some after the other.
template <class Take>
void for_each_part(const stored_tensor& from, const Take& take) {
  std::vector<float> values(std::min(chunk_elements, from.size()));
  for (size_t first = 0; first < from.size(); first += chunk_elements) {
    const auto part = std::span(values).first(std::min(chunk_elements, from.size() - first));
    from.read(first, part);
    take(first, part);
  }
}

/// The chunks' checksums of the tensors that a file holds.
std::vector<std::byte> table_of(const disk_reader& file, const checkpoint_shape& shape,
                                const std::string& path) {
  std::vector<std::byte> result, chunk(checkpoint_chunk_bytes);
  const auto tensor_bytes = place_of(shape.parameter_count, 1, 0);
  for (uint64_t tensor = 0; tensor < shape.tensor_count(); ++tensor)
    for (uint64_t first = 0; first < tensor_bytes; first += checkpoint_chunk_bytes) {
      const auto part =
        std::span(chunk).first(std::min<uint64_t>(checkpoint_chunk_bytes, tensor_bytes - first));
      if (file.read(start_bytes + tensor * tensor_bytes + first, part) != part.size())
        throw std::logic_error("checkpoint: " + path + " ends before its tensors do");
      const auto checksum = checksum_of(part);
      result.insert(result.end(), checksum.begin(), checksum.end());
    }
  return result;
}

} // namespace

checkpoint_output::checkpoint_output(disk& where, const std::string& path, uint64_t parameter_count)
  : disk_(where), path_(path), parameter_count_(parameter_count), out_(where.create(path)) {}

void checkpoint_output::write(uint64_t part, uint64_t first, std::span<const float> values) {
  if (first > parameter_count_ || values.size() > parameter_count_ - first)
    throw std::out_of_range("checkpoint: elements " + std::to_string(first) + " to " +
                            std::to_string(first + values.size()) + " of " +
                            std::to_string(parameter_count_));
  out_->write(start_bytes + place_of(parameter_count_, part, first), std::as_bytes(values));
  elements_written_ += values.size();
}

void checkpoint_output::finish(const checkpoint& x) {
  const auto shape = shape_with(x, parameter_count_);
  if (elements_written_ != parameter_count_ * (1 + shape.slot_count))
    throw std::logic_error("checkpoint: " + std::to_string(elements_written_) + " elements of " +
                           std::to_string(1 + shape.slot_count) + " tensors with " +
                           std::to_string(parameter_count_));
  write_best(x);
  const auto record = checkpoint_record(x, shape);
  const auto start = start_of(shape, record);
  const auto table = table_of(*disk_.open(path_), shape, path_);
  out_->write(start_bytes + data_bytes(shape), end_of(start, table, record));
  out_->write(0, start);
}

void checkpoint_output::write_best(const checkpoint& x) {
  if (x.best_parameters && x.best_parameters.size() != parameter_count_)
    throw std::invalid_argument("checkpoint: " + std::to_string(x.best_parameters.size()) +
                                " best parameters of " + std::to_string(parameter_count_));
  for_each_part(x.best_parameters, [&](size_t first, std::span<const float> values) {
    write(1 + x.slots.size(), first, values);
  });
}

uint64_t checkpoint_file_bytes(const checkpoint& x, uint64_t parameter_count) {
  const auto shape = shape_with(x, parameter_count);
  return file_bytes(shape, checkpoint_record(x, shape).size());
}

void write_checkpoint(disk& where, const std::string& path, const checkpoint& x) {
  checkpoint_output out{where, path, shape_of(x).parameter_count};
  const auto write = [&](uint64_t part, const stored_tensor& tensor) {
    for_each_part(
      tensor, [&](size_t first, std::span<const float> values) { out.write(part, first, values); });
  };
  write(0, x.parameters);
  for (size_t slot = 0; slot < x.slots.size(); ++slot)
    write(1 + slot, x.slots[slot]);
  out.finish(x);
}

} // namespace troupe
