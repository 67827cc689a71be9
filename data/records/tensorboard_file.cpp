#include "data/records/tensorboard_file.hpp"

#include "data/disk/open_file.hpp"
#include "data/records/history_figures.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

namespace {

using bytes = std::vector<std::byte>;

constexpr std::string_view file_version = "brain.Event:2";

// How a field's value is written: the low three bits of what stands before it.
enum class wire : uint8_t { varint = 0, eight_bytes = 1, length_and_bytes = 2, four_bytes = 5 };

template <class Number>
void add_number(bytes& out, Number value) {
  const auto raw = std::bit_cast<std::array<std::byte, sizeof(Number)>>(value);
  out.insert(out.end(), raw.begin(), raw.end());
}

void add_varint(bytes& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

void add_field(bytes& out, uint8_t number, wire form) {
  out.push_back(static_cast<std::byte>(number << 3 | static_cast<uint8_t>(form)));
}

void add_bytes(bytes& out, uint8_t number, std::span<const std::byte> content) {
  add_field(out, number, wire::length_and_bytes);
  add_varint(out, content.size());
  out.insert(out.end(), content.begin(), content.end());
}

void add_text(bytes& out, uint8_t number, std::string_view text) {
  add_bytes(out, number, std::as_bytes(std::span{text}));
}

bytes event_at(double wall_time, std::optional<uint64_t> step) {
  bytes result;
  add_field(result, 1, wire::eight_bytes);
  add_number(result, wall_time);
  if (step) {
    add_field(result, 2, wire::varint);
    add_varint(result, *step);
  }
  return result;
}

uint32_t masked_crc(std::span<const std::byte> content) {
  return std::rotr(crc32c_of(content), 15) + 0xA282EAD8;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The UNIXTIME of a file's name; 0 when it is no such name.
uint64_t time_in(std::string_view name) {
  uint64_t result = 0;
  if (name.starts_with(tensorboard_file_prefix)) {
    name.remove_prefix(tensorboard_file_prefix.size());
    std::from_chars(name.data(), name.data() + name.size(), result);
  }
  return result;
}

/// Later than all files there are, also where the clock was put back.
uint64_t time_for_name(const std::string& folder) {
  auto result = static_cast<uint64_t>(seconds_since_1970());
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{folder, ignored})
    result = std::max(result, time_in(entry.path().filename().string()) + 1);
  return result;
}

std::string host_name() {
  std::array<char, 256> text{};
  if (gethostname(text.data(), text.size() - 1) != 0)
    return "localhost";
  std::string result{text.data()};
  std::ranges::replace_if(
    result, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return result;
}

[[noreturn]] void refuse_tensorboard(failure_code code, const std::string& what,
                                     const std::string& path) {
  throw failure(code, what + ": " + std::strerror(errno), path,
                "is the disk full? history.csv has the same figures");
}

open_file open(const std::string& path, int flags) {
  open_file result{::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666)};
  if (!result)
    refuse_tensorboard(flags != 0 ? failure_code::cannot_create : failure_code::io_error,
                       "cannot open an event file for TensorBoard", path);
  return result;
}

} // namespace

std::vector<std::byte> tensorboard_record(std::span<const std::byte> event) {
  bytes result;
  add_number(result, uint64_t{event.size()});
  add_number(result, masked_crc(result));
  result.insert(result.end(), event.begin(), event.end());
  add_number(result, masked_crc(event));
  return result;
}

std::vector<std::byte> tensorboard_greeting(double wall_time) {
  auto result = event_at(wall_time, std::nullopt);
  add_text(result, 3, file_version);
  return result;
}

std::vector<std::byte> tensorboard_scalars(double wall_time, uint64_t step,
                                           std::span<const tensorboard_scalar> scalars) {
  bytes summary;
  for (const auto& scalar : scalars) {
    bytes value;
    add_text(value, 1, scalar.tag);
    add_field(value, 2, wire::four_bytes);
    add_number(value, static_cast<float>(scalar.value));
    add_bytes(summary, 1, value);
  }
  auto result = event_at(wall_time, step);
  add_bytes(result, 5, summary);
  return result;
}

std::vector<std::byte> tensorboard_restart(double wall_time, uint64_t step) {
  constexpr uint64_t start = 1;
  bytes session;
  add_field(session, 1, wire::varint);
  add_varint(session, start);
  auto result = event_at(wall_time, step);
  add_bytes(result, 7, session);
  return result;
}

std::vector<tensorboard_scalar> tensorboard_scalars_of(const history_row& row,
                                                       const std::optional<history_row>& before) {
  std::vector<tensorboard_scalar> result;
  for (const auto& figure : history_figures(row))
    if (const auto value = figure.in(row); value && !figure.tag.empty())
      result.push_back({figure.tag, *value});
  const auto from = before.value_or(history_row{});
  if (row.seconds > from.seconds && row.steps > from.steps)
    result.push_back({"speed/steps_per_second",
                      static_cast<double>(row.steps - from.steps) / (row.seconds - from.seconds)});
  return result;
}

tensorboard_writer::tensorboard_writer(const std::string& folder,
                                       std::optional<std::vector<history_row>> earlier) {
  std::error_code problem;
  std::filesystem::create_directory(folder, problem);
  if (problem)
    throw failure(failure_code::cannot_create, "cannot make a folder: " + problem.message(),
                  folder);
  path_ = (std::filesystem::path{folder} /
           (std::string{tensorboard_file_prefix} + std::to_string(time_for_name(folder)) + '.' +
            host_name() + '.' + std::to_string(getpid()) + ".0"))
            .string();
  open(path_, O_CREAT | O_EXCL);
  append(tensorboard_greeting(seconds_since_1970()));
  if (!earlier)
    return;
  rows_ = *std::move(earlier);
  void_points_from(rows_.empty() ? 0 : rows_.back().steps + 1);
}

void tensorboard_writer::add(const history_row& row) {
  // Steps that are done once more, or the rest of an epoch that a run ended in.
  auto void_from = row.steps;
  const auto replaces = [&](const history_row& old) {
    return old.steps >= row.steps || (old.epoch > 0 && old.epoch == row.epoch);
  };
  const auto before_it = rows_.size();
  for (; !rows_.empty() && replaces(rows_.back()); rows_.pop_back())
    void_from = std::min(void_from, rows_.back().steps);
  if (rows_.size() < before_it)
    void_points_from(void_from);
  const auto before = rows_.empty() ? std::nullopt : std::optional{rows_.back()};
  append(tensorboard_scalars(seconds_since_1970(), row.steps, tensorboard_scalars_of(row, before)));
  rows_.push_back(row);
}

void tensorboard_writer::void_points_from(uint64_t step) const {
  append(tensorboard_restart(seconds_since_1970(), step));
}

// Opened anew for each row, as history.csv is.
void tensorboard_writer::append(const std::vector<std::byte>& event) const {
  const auto file = open(path_, 0);
  if (!write_all(file, tensorboard_record(event)))
    refuse_tensorboard(failure_code::io_error, "cannot add figures for TensorBoard", path_);
}

} // namespace troupe
