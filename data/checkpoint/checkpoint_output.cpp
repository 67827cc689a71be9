#include "data/checkpoint/checkpoint_output.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

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

/// Holds bytes, as they come, against the checksums of the ranges that they make.
template <class Range>
class range_check {
public:
  range_check(const std::vector<Range>& ranges, const std::string& path)
    : next_(ranges.begin()), path_(path) {}

  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto left = (next_->end - next_->begin) * sizeof(float) - seen_;
      const auto part = bytes.first(std::min<uint64_t>(left, bytes.size()));
      running_.add(part);
      seen_ += part.size();
      if (part.size() == left)
        end_range();
      bytes = bytes.subspan(part.size());
    }
  }

private:
  void end_range() {
    if (running_.take() != next_->checksum)
      throw disk_error("read back what was written to the file", path_, EIO);
    ++next_;
    seen_ = 0;
  }

  typename std::vector<Range>::const_iterator next_;
  const std::string& path_;
  uint64_t seen_ = 0; ///< bytes of the next one
  running_checksum running_;
};

} // namespace

checkpoint_output::checkpoint_output(disk& where, const std::string& path, uint64_t parameter_count)
  : disk_(where), path_(path), parameter_count_(parameter_count), out_(where.create(path)) {}

void checkpoint_output::write(uint64_t part, uint64_t first, std::span<const float> values) {
  if (first > parameter_count_ || values.size() > parameter_count_ - first)
    throw std::out_of_range("checkpoint: elements " + std::to_string(first) + " to " +
                            std::to_string(first + values.size()) + " of " +
                            std::to_string(parameter_count_));
  const auto bytes = std::as_bytes(values);
  const auto begin = part * parameter_count_ + first;
  out_->write(place_of(parameter_count_, part, first), bytes);
  if (!bytes.empty())
    written_.push_back({begin, begin + values.size(), short_checksum_of(bytes)});
}

void checkpoint_output::finish(const checkpoint& x, const checkpoint_texts& texts) {
  const auto shape = shape_with(x, parameter_count_);
  require_all(parameter_count_ * (1 + shape.slot_count));
  write_best(x);
  const auto front = front_of(shape, texts);
  if (front.size() != start_bytes)
    throw std::invalid_argument("checkpoint: the name of its job is too long: " + x.job_sha256);
  const auto end = end_of(front, read_table(shape.tensor_count()), texts);
  out_->write(place_of(parameter_count_, shape.tensor_count(), 0), std::as_bytes(std::span{end}));
  out_->write(0, std::as_bytes(std::span{front}));
}

void checkpoint_output::require_all(uint64_t element_count) {
  std::ranges::sort(written_, {}, &range::begin);
  uint64_t end = 0;
  const auto follows = [&](const range& x) { return x.begin == std::exchange(end, x.end); };
  if (!std::ranges::all_of(written_, follows) || end != element_count)
    throw std::logic_error("checkpoint: not each of " + std::to_string(element_count) +
                           " elements was written once; seen up to " + std::to_string(end));
}

std::string checkpoint_output::read_table(uint64_t tensor_count) const {
  const auto file = disk_.open(path_);
  range_check<range> check{written_, path_};
  std::string result;
  std::vector<std::byte> chunk(checkpoint_chunk_bytes);
  const auto tensor_bytes = parameter_count_ * sizeof(float);
  for (uint64_t tensor = 0; tensor < tensor_count; ++tensor)
    for (uint64_t first = 0; first < tensor_bytes; first += checkpoint_chunk_bytes) {
      const auto part =
        std::span(chunk).first(std::min<uint64_t>(checkpoint_chunk_bytes, tensor_bytes - first));
      if (file->read(place_of(parameter_count_, tensor, 0) + first, part) != part.size())
        throw disk_error("read back what was written to the file", path_, EIO);
      check.add(part);
      const auto checksum = checksum_of(part);
      result.append(reinterpret_cast<const char*>(checksum.data()), checksum.size());
    }
  return result;
}

void checkpoint_output::write_best(const checkpoint& x) {
  if (x.best_parameters && x.best_parameters.size() != parameter_count_)
    throw std::invalid_argument("checkpoint: " + std::to_string(x.best_parameters.size()) +
                                " best parameters of " + std::to_string(parameter_count_));
  for_each_part(x.best_parameters, [&](size_t first, std::span<const float> values) {
    write(1 + x.slots.size(), first, values);
  });
}

uint64_t checkpoint_file_bytes(const checkpoint& x, uint64_t parameter_count,
                               const checkpoint_texts& texts) {
  return file_bytes(shape_with(x, parameter_count), texts);
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
