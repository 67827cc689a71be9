#include "troupe/data/checkpoint/checkpoint_file.hpp"

#include "troupe/data/checkpoint/checkpoint_record.hpp"
#include "troupe/data/disk/disk_failure.hpp"
#include "troupe/data/text/checksum.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

constexpr std::string_view start_mark = "TROUPECP";
constexpr std::string_view end_mark = "TROUPEND";
constexpr uint32_t format_version = 1;
constexpr size_t preamble_bytes = 40;
constexpr size_t checked_preamble_bytes = 24; ///< those before the checksum
constexpr size_t tail_bytes = sizeof(checksum_bytes) + end_mark.size();
constexpr size_t chunk_elements = checkpoint_chunk_bytes / sizeof(float);
constexpr const char* damage_hint = "the file is damaged; an earlier checkpoint may be whole";

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

template <class Number>
Number number_at(std::span<const std::byte> from, size_t offset) {
  Number result;
  std::memcpy(&result, from.data() + offset, sizeof(result));
  return result;
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

uint64_t chunk_count(const checkpoint_shape& shape) {
  const auto of_tensor = (shape.parameter_count + chunk_elements - 1) / chunk_elements;
  return shape.tensor_count() * of_tensor;
}

uint64_t data_bytes(const checkpoint_shape& shape) {
  return shape.tensor_count() * shape.parameter_count * sizeof(float);
}

/// Bytes of a file with a record of so many bytes.
uint64_t file_bytes(const checkpoint_shape& shape, uint64_t record_bytes) {
  return preamble_bytes + record_bytes + data_bytes(shape) +
         chunk_count(shape) * sizeof(checksum_bytes) + tail_bytes;
}

/// The record with the zeros that bring what follows to the alignment of buffers.
bytes padded_record(const checkpoint& x) {
  auto record = checkpoint_record(x);
  const auto end = preamble_bytes + record.size();
  record.resize(record.size() +
                (buffer_alignment_bytes - end % buffer_alignment_bytes) % buffer_alignment_bytes);
  if (record.size() > std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument("checkpoint: a history of " + std::to_string(x.history.size()) +
                                " rows is too long for its file");
  return record;
}

/// Everything before the tensors.
bytes start_of(const checkpoint& x, const bytes& record) {
  bytes result;
  result.reserve(preamble_bytes + record.size());
  add(result, start_mark);
  add_number(result, format_version);
  add_number(result, static_cast<uint32_t>(record.size()));
  add_number(result, file_bytes(shape_of(x), record.size()));
  auto checked = result;
  add(checked, record);
  add(result, checksum_of(checked));
  add(result, record);
  return result;
}

/// Everything behind them; `table` are the chunks' checksums.
bytes end_of(std::span<const std::byte> start, const bytes& table) {
  bytes checked;
  add(checked, start.subspan(checked_preamble_bytes, sizeof(checksum_bytes)));
  add(checked, table);
  auto result = table;
  add(result, checksum_of(checked));
  add(result, end_mark);
  return result;
}

void append_tensor(disk_writer& out, std::span<const float> values, bytes& table) {
  for (size_t first = 0; first < values.size(); first += chunk_elements) {
    const auto count = std::min(chunk_elements, values.size() - first);
    const auto chunk = std::as_bytes(values.subspan(first, count));
    add(table, checksum_of(chunk));
    out.append(chunk);
  }
}

} // namespace

uint64_t checkpoint_file_bytes(const checkpoint& x) {
  return file_bytes(shape_of(x), padded_record(x).size());
}

void write_checkpoint(disk_writer& out, const checkpoint& x) {
  const auto start = start_of(x, padded_record(x));
  out.append(start);
  bytes table;
  append_tensor(out, x.parameters.values(), table);
  for (const auto& slot : x.slots)
    append_tensor(out, slot.values(), table);
  append_tensor(out, x.best_parameters.values(), table);
  out.append(end_of(start, table));
}

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
    bytes checked(preamble.begin(), preamble.begin() + checked_preamble_bytes);
    checked.resize(checked_preamble_bytes + record_bytes);
    const auto record = std::span(checked).subspan(checked_preamble_bytes);
    read(preamble_bytes, record);
    if (!equal(checksum_of(checked), std::span(preamble).subspan(checked_preamble_bytes)))
      refuse("the checksum of bytes 0 to " + std::to_string(preamble_bytes + record_bytes) +
             " is wrong");
    auto parsed = parse_checkpoint_record(record, path, preamble_bytes);
    head = std::move(parsed.head);
    shape = parsed.shape;
    start_checksum.assign(preamble.begin() + checked_preamble_bytes, preamble.end());
    check_size();
  }

  void check_preamble(std::span<const std::byte> preamble) {
    if (!equal(preamble.first(start_mark.size()), std::as_bytes(std::span(start_mark))))
      refuse("it is no checkpoint: byte 0 does not begin with " + std::string{start_mark});
    if (const auto version = number_at<uint32_t>(preamble, 8); version != format_version)
      refuse("format version " + std::to_string(version) + " at byte 8; this program reads " +
             std::to_string(format_version));
    const auto bytes_promised = number_at<uint64_t>(preamble, 16);
    if (bytes_promised != file->size())
      refuse("the file has " + std::to_string(file->size()) + " bytes, byte 16 promises " +
             std::to_string(bytes_promised));
    record_bytes = number_at<uint32_t>(preamble, 12);
    if (record_bytes > file->size() - preamble_bytes)
      refuse("the length of the record at byte 12 is beyond the file's end");
  }

  /// Before anything is allocated for the tensors or multiplied.
  void check_size() const {
    const auto room = file->size() / sizeof(float);
    const bool fits =
      shape.slot_count <= room && shape.parameter_count <= room &&
      (shape.parameter_count == 0 || shape.tensor_count() <= room / shape.parameter_count);
    if (!fits || file_bytes(shape, record_bytes) != file->size())
      refuse("the tensors that the record names do not fill the file");
  }

  void read_end() {
    const auto table_bytes = chunk_count(shape) * sizeof(checksum_bytes);
    const auto table_start = preamble_bytes + record_bytes + data_bytes(shape);
    table.resize(table_bytes);
    read(table_start, table);
    bytes found(tail_bytes);
    read(table_start + table_bytes, found);
    auto checked = start_checksum;
    add(checked, table);
    if (!equal(checksum_of(checked), std::span(found).first(sizeof(checksum_bytes))))
      refuse("the checksum of the checksums at byte " + std::to_string(table_start) + " is wrong");
    if (!equal(std::span(found).last(end_mark.size()), std::as_bytes(std::span(end_mark))))
      refuse("the end mark at byte " + std::to_string(file->size() - end_mark.size()) +
             " is wrong");
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

  void read_part(uint64_t tensor, uint64_t chunk, size_t skipped, size_t size,
                 std::span<float> out) const {
    scratch.resize(size);
    read_chunk(tensor, chunk, scratch);
    std::copy_n(scratch.begin() + static_cast<std::ptrdiff_t>(skipped), out.size(), out.begin());
  }

  void read_chunk(uint64_t tensor, uint64_t chunk, std::span<float> out) const {
    const auto chunks_of_tensor = chunk_count(shape) / shape.tensor_count();
    const auto element = tensor * shape.parameter_count + chunk * chunk_elements;
    const auto offset = preamble_bytes + record_bytes + element * sizeof(float);
    const auto expected = std::span(table).subspan(
      (tensor * chunks_of_tensor + chunk) * sizeof(checksum_bytes), sizeof(checksum_bytes));
    read(offset, std::as_writable_bytes(out));
    if (!equal(checksum_of(std::as_bytes(out)), expected))
      refuse("the checksum of bytes " + std::to_string(offset) + " to " +
             std::to_string(offset + out.size_bytes()) + " (" + name_of_tensor(tensor) +
             ") is wrong");
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

  const_buffer whole(uint64_t tensor) const {
    buffer result{shape.parameter_count};
    read_tensor(tensor, 0, result.values());
    return result;
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
  bytes start_checksum;
  bytes table;
  mutable std::vector<float> scratch; ///< a chunk of which only a part is wanted
};

checkpoint_file::checkpoint_file(const disk& from, std::string path)
  : state_(std::make_unique<state>(from, std::move(path))) {}
checkpoint_file::~checkpoint_file() = default;
checkpoint_file::checkpoint_file(checkpoint_file&&) noexcept = default;
checkpoint_file& checkpoint_file::operator=(checkpoint_file&&) noexcept = default;

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

void checkpoint_file::read_parameters(size_t first, std::span<float> out) const {
  state_->read_tensor(0, first, out);
}

void checkpoint_file::read_slot(size_t slot, size_t first, std::span<float> out) const {
  if (slot >= slot_count())
    throw std::out_of_range("checkpoint: slot " + std::to_string(slot) + " of " +
                            std::to_string(slot_count()));
  state_->read_tensor(1 + slot, first, out);
}

void checkpoint_file::read_best_parameters(size_t first, std::span<float> out) const {
  if (!has_best_parameters())
    throw std::out_of_range("checkpoint: it has no best parameters");
  state_->read_tensor(1 + slot_count(), first, out);
}

checkpoint checkpoint_file::read() const {
  auto result = head();
  result.parameters = state_->whole(0);
  for (uint64_t slot = 0; slot < slot_count(); ++slot)
    result.slots.push_back(state_->whole(1 + slot));
  if (has_best_parameters())
    result.best_parameters = state_->whole(1 + slot_count());
  return result;
}

} // namespace troupe
