#include "data/checkpoint/checkpoint_file.hpp"

#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/disk/open_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

using namespace checkpoint_format;

constexpr const char* damage_hint = "the file is damaged; an earlier checkpoint may be whole";

using byte_vector = std::vector<std::byte>;

template <class Number>
Number number_at(std::span<const std::byte> from, size_t offset) {
  Number result;
  std::memcpy(&result, from.data() + offset, sizeof(result));
  return result;
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

} // namespace

struct checkpoint_file::state {
  state(const disk& from, std::string where) : path(std::move(where)) {
    try {
      file = from.open(path);
    } catch (const disk_error& error) {
      refuse_reading(error);
    }
    read_start();
    read_end();
  }

  void read_start() {
    std::array<std::byte, preamble_bytes> preamble;
    read(0, preamble);
    check_preamble(preamble);
    byte_vector checked(preamble.begin(), preamble.begin() + checked_preamble_bytes);
    checked.resize(checked_preamble_bytes + record_bytes);
    const auto record = std::span(checked).subspan(checked_preamble_bytes);
    read(record_begin, record);
    if (!equal(checksum_of(checked), std::span(preamble).subspan(checked_preamble_bytes)))
      refuse("the checksum of bytes 0 to " + std::to_string(checked_preamble_bytes) + " and " +
             std::to_string(record_begin) + " to " + std::to_string(record_begin + record_bytes) +
             " is wrong");
    auto parsed = parse_checkpoint_record(record, path, record_begin);
    head = std::move(parsed.head);
    shape = parsed.shape;
    start_checksum.assign(preamble.begin() + checked_preamble_bytes, preamble.end());
    check_size();
  }

  void check_preamble(std::span<const std::byte> preamble) {
    if (!equal(preamble.first(start_mark.size()), std::as_bytes(std::span(start_mark))))
      refuse("it is no checkpoint: byte 0 does not begin with " + std::string{start_mark});
    const auto format = number_at<uint32_t>(preamble, 8);
    if (format != version && format != version_with_record_first)
      refuse("format version " + std::to_string(format) + " at byte 8; this program reads " +
             std::to_string(version_with_record_first) + " and " + std::to_string(version));
    const auto bytes_promised = number_at<uint64_t>(preamble, 16);
    if (bytes_promised != file->size())
      refuse("the file has " + std::to_string(file->size()) + " bytes, byte 16 promises " +
             std::to_string(bytes_promised));
    record_bytes = number_at<uint32_t>(preamble, 12);
    if (file->size() < preamble_bytes + tail_bytes ||
        record_bytes > file->size() - preamble_bytes - tail_bytes)
      refuse("the length of the record at byte 12 is beyond the file's end");
    if (format == version_with_record_first) {
      record_begin = preamble_bytes;
      tensors_begin = preamble_bytes + record_bytes;
      table_end = file->size() - tail_bytes;
    } else {
      tensors_begin = start_bytes;
      record_begin = table_end = file->size() - tail_bytes - record_bytes;
    }
  }

  /// Before anything is allocated for the tensors or multiplied.
  void check_size() const {
    const auto room = file->size() / sizeof(float);
    const bool fits =
      shape.slot_count <= room && shape.parameter_count <= room &&
      (shape.parameter_count == 0 || shape.tensor_count() <= room / shape.parameter_count);
    if (!fits || tensors_begin + data_bytes(shape) + table_bytes(shape) != table_end)
      refuse("the tensors that the record names do not fill the file");
  }

  void read_end() {
    const auto table_begin = table_end - table_bytes(shape);
    table.resize(table_bytes(shape));
    read(table_begin, table);
    byte_vector found(tail_bytes);
    read(file->size() - tail_bytes, found);
    auto checked = start_checksum;
    checked.insert(checked.end(), table.begin(), table.end());
    if (!equal(checksum_of(checked), std::span(found).first(sizeof(checksum_bytes))))
      refuse("the checksum of the checksums at byte " + std::to_string(table_begin) + " is wrong");
    if (!equal(std::span(found).last(end_mark.size()), std::as_bytes(std::span(end_mark))))
      refuse("the end mark at byte " + std::to_string(file->size() - end_mark.size()) +
             " is wrong");
    byte_vector zeros(record_begin != preamble_bytes ? start_bytes - preamble_bytes : 0);
    read(preamble_bytes, zeros);
    if (std::ranges::any_of(zeros, [](std::byte x) { return x != std::byte{0}; }))
      refuse("bytes " + std::to_string(preamble_bytes) + " to " + std::to_string(start_bytes) +
             " are not zeros");
  }

  /// Elements [first, first + out.size()) of the tensor with this number.
  void read_tensor(uint64_t tensor, uint64_t first, std::span<float> out) const {
    if (first > shape.parameter_count || out.size() > shape.parameter_count - first)
      throw std::out_of_range("checkpoint: elements " + std::to_string(first) + " to " +
                              std::to_string(first + out.size()) + " of " +
                              std::to_string(shape.parameter_count));
    while (!out.empty()) {
      const auto chunk = first / chunk_elements;
      const auto skipped = first % chunk_elements;
      const auto size =
        std::min<uint64_t>(chunk_elements, shape.parameter_count - chunk * chunk_elements);
      const auto piece = out.first(std::min<uint64_t>(size - skipped, out.size()));
      if (piece.size() == size)
        read_chunk(tensor, chunk, piece);
      else
        read_part(tensor, chunk, skipped, size, piece);
      first += piece.size();
      out = out.subspan(piece.size());
    }
  }

  // Who reads a tensor piece by piece wants the same chunk several times.
  void read_part(uint64_t tensor, uint64_t chunk, size_t skipped, size_t size,
                 std::span<float> out) const {
    const std::lock_guard lock{mutex};
    const std::pair wanted{tensor, chunk};
    if (in_scratch != wanted) {
      in_scratch.reset();
      scratch.resize(size);
      read_chunk(tensor, chunk, scratch);
      in_scratch = wanted;
    }
    std::copy_n(scratch.begin() + static_cast<std::ptrdiff_t>(skipped), out.size(), out.begin());
  }

  void read_chunk(uint64_t tensor, uint64_t chunk, std::span<float> out) const {
    const auto offset =
      tensors_begin + place_of(shape.parameter_count, tensor, chunk * chunk_elements);
    const auto expected = std::span(table).subspan((tensor * chunk_count_of_tensor(shape) + chunk) *
                                                     sizeof(checksum_bytes),
                                                   sizeof(checksum_bytes));
    read(offset, std::as_writable_bytes(out));
    if (!equal(checksum_of(std::as_bytes(out)), expected))
      refuse("the checksum of bytes " + std::to_string(offset) + " to " +
             std::to_string(offset + out.size_bytes()) + " (" + name_of_tensor(tensor) +
             ") is wrong");
  }

  void verify() const {
    std::vector<float> chunk(std::min<uint64_t>(chunk_elements, shape.parameter_count));
    for (uint64_t tensor = 0; tensor < shape.tensor_count(); ++tensor)
      for (uint64_t first = 0; first < shape.parameter_count; first += chunk_elements)
        read_tensor(tensor, first,
                    std::span(chunk).first(
                      std::min<uint64_t>(chunk_elements, shape.parameter_count - first)));
  }

  std::string name_of_tensor(uint64_t tensor) const {
    if (tensor == 0)
      return "parameters";
    return tensor <= shape.slot_count ? "optimizer slot " + std::to_string(tensor - 1)
                                      : "best parameters";
  }

  void read(uint64_t offset, std::span<std::byte> out) const {
    try {
      if (file->read(offset, out) == out.size())
        return;
    } catch (const disk_error& error) {
      refuse_reading(error);
    }
    refuse("the file ends at byte " + std::to_string(file->size()) + ", within the bytes " +
           std::to_string(offset) + " to " + std::to_string(offset + out.size()));
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw failure(failure_code::bad_data, reason, path, damage_hint);
  }

  [[noreturn]] void refuse_reading(const disk_error& error) const {
    throw reading_failure({"cannot " + error.operation(), path, error.error_number()});
  }

  std::string path;
  std::unique_ptr<disk_reader> file;
  checkpoint head;
  checkpoint_shape shape;
  uint64_t record_bytes = 0;
  uint64_t record_begin = 0;
  uint64_t tensors_begin = 0;
  uint64_t table_end = 0;
  byte_vector start_checksum;
  byte_vector table;
  mutable std::mutex mutex;           ///< of what follows
  mutable std::vector<float> scratch; ///< a chunk of which only a part is wanted
  mutable std::optional<std::pair<uint64_t, uint64_t>> in_scratch; ///< its tensor and number
};

namespace {

/// One tensor of an open file.
template <class State>
class tensor_in_file : public tensor_reader {
public:
  tensor_in_file(std::shared_ptr<const State> file, uint64_t tensor)
    : file_(std::move(file)), tensor_(tensor) {}

  size_t size() const noexcept override { return file_->shape.parameter_count; }
  void read(size_t first, std::span<float> out) const override {
    file_->read_tensor(tensor_, first, out);
  }

private:
  std::shared_ptr<const State> file_;
  uint64_t tensor_;
};

} // namespace

checkpoint_file::checkpoint_file(const disk& from, std::string path)
  : state_(std::make_shared<const state>(from, std::move(path))) {}

const checkpoint& checkpoint_file::head() const noexcept {
  return state_->head;
}

size_t checkpoint_file::parameter_count() const noexcept {
  return state_->shape.parameter_count;
}

size_t checkpoint_file::slot_count() const noexcept {
  return state_->shape.slot_count;
}

bool checkpoint_file::has_best_parameters() const noexcept {
  return state_->shape.has_best_parameters;
}

checkpoint checkpoint_file::contents() const {
  const auto tensor = [this](uint64_t number) {
    return stored_tensor{std::make_shared<const tensor_in_file<state>>(state_, number)};
  };
  auto result = head();
  result.parameters = tensor(0);
  for (uint64_t slot = 0; slot < slot_count(); ++slot)
    result.slots.push_back(tensor(1 + slot));
  if (has_best_parameters())
    result.best_parameters = tensor(1 + slot_count());
  return result;
}

void checkpoint_file::verify() const {
  state_->verify();
}

checkpoint checkpoint_file::read() const {
  auto result = contents();
  result.parameters = result.parameters.whole();
  for (auto& slot : result.slots)
    slot = slot.whole();
  if (result.best_parameters)
    result.best_parameters = result.best_parameters.whole();
  return result;
}

} // namespace troupe
