#include "data/rows_file/rows_file.hpp"

#include "data/model_file/safetensors_header.hpp"
#include "data/rows_file/rows_header.hpp"
#include "data/text/checksum.hpp"
#include "data/text/digest.hpp"
#include "data/text/failure.hpp"
#include "models/math/lanes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little,
              "values are read as they lie in the file");

constexpr size_t length_bytes = 8;

[[noreturn]] void refuse(const std::string& path, const std::string& reason,
                         const std::string& hint) {
  throw failure(failure_code::bad_data, reason, path, hint);
}

open_file opened(const std::string& path) {
  open_file file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file)
    throw failure(errno == EACCES ? failure_code::no_permission : failure_code::missing_input,
                  "cannot open the file: " + std::generic_category().message(errno), path,
                  "check the path");
  return file;
}

uint64_t size_of(const open_file& file, const std::string& path) {
  struct stat information {};
  if (::fstat(file.number(), &information) != 0 || !S_ISREG(information.st_mode))
    refuse(path, "this is no file on a disk", "rows can only be read from a file");
  return static_cast<uint64_t>(information.st_size);
}

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span{values});
}

} // namespace

rows_file::rows_file(const std::string& path) : path_(path), file_(opened(path)) {
  read_header();
}

// A file may have become shorter since it was opened.
bool rows_file::read_at(uint64_t place, std::span<std::byte> out) const {
  if (const auto count = troupe::read_at(file_, place, out))
    return *count == out.size();
  throw failure(failure_code::io_error,
                "cannot read the file: " + std::generic_category().message(errno), path_,
                "is the disk in order?");
}

void rows_file::read_header() {
  const auto size = size_of(file_, path_);
  const auto read = [this](uint64_t place, std::span<std::byte> out) {
    if (!read_at(place, out))
      refuse(path_, "the file became shorter while it was opened", "is somebody writing it?");
  };
  std::array<std::byte, length_bytes + 1> start{};
  read(0, std::span{start}.first(std::min<uint64_t>(size, start.size())));
  if (start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b})
    refuse(path_, "the file is compressed, and rows cannot be read from the middle of it",
           "unpack it: gunzip");
  uint64_t length = 0;
  std::memcpy(&length, start.data(), length_bytes);
  if (size < start.size() || start[length_bytes] != std::byte{'{'} ||
      length > std::min<uint64_t>(size - length_bytes, safetensors_header_bytes_max))
    refuse(path_, "this is no safetensors file", "make one of rows with 'troupe data convert'");
  std::string text(length, '\0');
  read(length_bytes, std::as_writable_bytes(std::span{text}));
  static constexpr std::array<std::string_view, 5> dtypes{"F32", "U8", "I32", "U64", "F64"};
  auto told = parse_rows_header(parse_safetensors_header(text, path_, dtypes),
                                length_bytes + length, size, path_);
  header_ = std::move(told.header);
  places_ = told.places;
  header_.checksums.resize(header_.chunk_count());
  header_.column_means.resize(header_.feature_count);
  header_.column_squares.resize(header_.feature_count);
  read(places_.checksums, bytes_of(header_.checksums));
  read(places_.means, bytes_of(header_.column_means));
  read(places_.squares, bytes_of(header_.column_squares));
  for (size_t j = 0; j < header_.feature_count; ++j)
    if (!std::isfinite(header_.column_means[j]) || !std::isfinite(header_.column_squares[j]) ||
        header_.column_squares[j] < 0)
      refuse(path_, "the statistics of column " + std::to_string(j) + " cannot be",
             "the file is damaged: make it anew with 'troupe data convert'");
  sha256 digest;
  digest.update(std::as_bytes(std::span{text}));
  digest.update(bytes_of(header_.checksums));
  digest.update(bytes_of(header_.column_means));
  digest.update(bytes_of(header_.column_squares));
  fingerprint_ = digest.hex();
}

void rows_file::refuse_chunk(uint64_t number, const std::string& what, uint64_t place) const {
  const auto first = number * header_.chunk_rows;
  const auto last = std::min(first + header_.chunk_rows, header_.row_count) - 1;
  throw failure(failure_code::bad_data,
                what + " of chunk " + std::to_string(number) + " (rows " + std::to_string(first) +
                  " to " + std::to_string(last) + ", from byte " + std::to_string(place) + ")",
                path_,
                "'troupe data check' lists all that is damaged; make the file anew with 'troupe "
                "data convert'");
}

void rows_file::read_part(uint64_t number, chunk_part part, uint64_t place,
                          std::span<std::byte> out) const {
  const std::string name = part == chunk_part::features ? "features" : "targets";
  if (!read_at(place, out))
    refuse_chunk(
      number, "the file is shorter than when it was opened and ends before the end of the " + name,
      place);
  if (short_checksum_of(out) != header_.checksums[number][static_cast<size_t>(part)])
    refuse_chunk(number, "the checksum is not that of the " + name, place);
}

rows_chunk rows_file::read_targets(uint64_t number) const {
  const auto first = number * header_.chunk_rows;
  const auto place = places_.targets + first * header_.target_bytes();
  rows_chunk chunk;
  chunk.row_count = std::min(header_.chunk_rows, header_.row_count - first);
  chunk.labels.resize(header_.is_classification() ? chunk.row_count : 0);
  chunk.targets.resize(chunk.row_count * header_.target_count());
  read_part(number, chunk_part::targets, place,
            header_.is_classification() ? bytes_of(chunk.labels) : bytes_of(chunk.targets));
  const auto classes = static_cast<int32_t>(header_.classes.size());
  if (std::ranges::any_of(chunk.labels, [&](int32_t x) { return x < 0 || x >= classes; }))
    refuse_chunk(number, "a label is none of the classes", place);
  if (!all_finite(chunk.targets.data(), chunk.targets.size()))
    refuse_chunk(number, "a target is not a finite number", place);
  return chunk;
}

rows_chunk rows_file::read_chunk(uint64_t number) const {
  auto chunk = read_targets(number);
  const auto place = places_.features + number * header_.chunk_rows * header_.feature_bytes();
  chunk.features.resize(chunk.row_count * header_.feature_bytes());
  read_part(number, chunk_part::features, place, chunk.features);
  const auto* values = reinterpret_cast<const float*>(chunk.features.data());
  if (header_.type == feature_type::f32 &&
      !all_finite(values, chunk.features.size() / sizeof(float)))
    refuse_chunk(number, "a feature is not a finite number", place);
  return chunk;
}

void rows_file::copy_features(const rows_chunk& chunk, size_t row, std::span<float> out) const {
  const auto* bytes = chunk.features.data() + row * header_.feature_bytes();
  if (header_.type == feature_type::f32) {
    std::memcpy(out.data(), bytes, out.size_bytes());
    return;
  }
  for (size_t j = 0; j < out.size(); ++j)
    out[j] = static_cast<float>(std::to_integer<uint8_t>(bytes[j]));
}

} // namespace troupe
