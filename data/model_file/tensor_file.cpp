#include "data/model_file/tensor_file.hpp"

#include "data/disk/open_file.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace troupe {

static_assert(std::endian::native == std::endian::little,
              "values are written and read as they lie in memory");

std::unique_ptr<disk_reader> open_to_read(const disk& from, const std::string& path) {
  try {
    return from.open(path);
  } catch (const disk_error& error) {
    if (error.error_number() == EINVAL || error.error_number() == EISDIR)
      throw failure(failure_code::bad_data, "this is no file on a disk", path,
                    "it can only be read from a file");
    throw reading_failure({"cannot " + error.operation(), path, error.error_number()});
  }
}

bool read_at(const disk_reader& file, const std::string& path, uint64_t place,
             std::span<std::byte> out) {
  try {
    return file.read(place, out) == out.size();
  } catch (const disk_error& error) {
    throw reading_failure({"cannot " + error.operation(), path, error.error_number()});
  }
}

tensor_file::tensor_file(std::unique_ptr<disk_reader> file, std::string path,
                         std::span<const std::string_view> dtypes, std::string hint)
  : file_(std::move(file)), path_(std::move(path)), hint_(std::move(hint)) {
  auto header = read_header(dtypes);
  metadata_ = std::move(header.metadata);
  auto end = uint64_t{front_.size()};
  for (auto& tensor : packed_tensors(std::move(header.tensors), path_, hint_)) {
    for (auto& offset : tensor.data_offsets)
      offset += front_.size();
    end = tensor.data_offsets[1];
    tensors_.emplace(tensor.name, tensor);
  }
  if (end != size())
    refuse("the file is " + std::to_string(size()) + " bytes long, but its tensors end " +
             (end > size() ? "behind" : "before") + " that, at byte " + std::to_string(end),
           "was it copied to its end? 'ls -l' shows its size; else " + hint_);
}

safetensors_header tensor_file::read_header(std::span<const std::string_view> dtypes) {
  front_.resize(std::min<uint64_t>(size(), safetensors_length_bytes + 1));
  read(0, std::as_writable_bytes(std::span{front_}));
  uint64_t length = 0;
  std::memcpy(&length, front_.data(), std::min(front_.size(), safetensors_length_bytes));
  if (front_.size() <= safetensors_length_bytes || front_.back() != '{' ||
      length >
        std::min<uint64_t>(size() - safetensors_length_bytes, safetensors_header_bytes_max)) {
    if (front_.starts_with("\x1f\x8b"))
      refuse("the file is compressed, and cannot be read from the middle of it",
             "unpack it: gunzip");
    refuse("this is no safetensors file");
  }
  front_.resize(safetensors_length_bytes + length);
  read(0, std::as_writable_bytes(std::span{front_}));
  return parse_safetensors_header(std::string_view{front_}.substr(safetensors_length_bytes), path_,
                                  dtypes);
}

std::string tensor_file::metadata(const std::string& name) const {
  const auto found = metadata_.find(name);
  return found != metadata_.end() ? found->second : std::string{};
}

std::vector<safetensors_entry> tensor_file::tensors() const {
  std::vector<safetensors_entry> result;
  for (const auto& [name, tensor] : tensors_)
    result.push_back(tensor);
  std::ranges::sort(result, {}, &safetensors_entry::data_offsets);
  return result;
}

const safetensors_entry& tensor_file::tensor(const std::string& name,
                                             std::initializer_list<std::string_view> dtypes,
                                             size_t extents) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    refuse("the tensor " + shown_text(name) + " is missing");
  const auto& result = found->second;
  if (std::ranges::find(dtypes, result.dtype) == dtypes.end())
    refuse("tensor " + shown_text(name) + ": its type is " + result.dtype);
  if (result.shape.size() != extents)
    refuse("tensor " + shown_text(name) + ": its shape does not have " + std::to_string(extents) +
           " extents");
  return result;
}

std::string tensor_file::text(const std::string& name, size_t extents) const {
  const auto& offsets = tensor(name, {"U8"}, extents).data_offsets;
  std::string result(offsets[1] - offsets[0], '\0');
  read(offsets[0], std::as_writable_bytes(std::span{result}));
  return result;
}

void tensor_file::read(uint64_t place, std::span<std::byte> out) const {
  if (!read_at(place, out))
    refuse("the file became shorter while it was read", "is somebody writing it?");
}

void tensor_file::refuse(const std::string& reason, const std::string& hint) const {
  throw failure(failure_code::bad_data, reason, path_, hint);
}

} // namespace troupe
