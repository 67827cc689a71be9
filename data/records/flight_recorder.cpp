#include "troupe/data/records/flight_recorder.hpp"

#include "troupe/data/text/failure.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr size_t cells_max = 4096;
constexpr size_t cells_min = 256;
/// A ring takes this part of what is left, so that later ones are smaller and there are many.
constexpr size_t rings_to_come = 32;
constexpr size_t name_bytes_max = 64;

[[noreturn]] void fail(int error, const std::string& path) {
  const auto code = error == EACCES || error == EPERM ? failure_code::no_permission
                    : error == ENOENT || error == ENOTDIR || error == EOPNOTSUPP || error == EISDIR
                      ? failure_code::cannot_create
                      : failure_code::io_error;
  throw failure(code,
                std::string{"a flight recorder cannot be kept there: "} + std::strerror(error),
                path, "choose another folder with --flight, or none with --flight=off");
}

template <size_t N>
void set_text(std::array<char, N>& to, const std::string& text) {
  to = {};
  std::copy_n(text.begin(), std::min(text.size(), N), to.begin());
}

// As far as it is fit for a file's name.
std::string file_name(const std::string& process) {
  auto result = process.substr(0, name_bytes_max);
  const auto is_plain = [](char x) {
    return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || (x >= '0' && x <= '9') || x == '_';
  };
  std::replace_if(
    result.begin(), result.end(), [&](char x) { return !is_plain(x); }, '_');
  return "troupe-" + result + '-' + std::to_string(getpid());
}

// Under a name that is free: a process that had this number may have left a file.
open_file created(const flight_place& place, std::string& path) {
  const auto base = place.folder + '/' + file_name(place.process);
  constexpr int attempts = 10;
  for (int i = 0; i < attempts; ++i) {
    path = base + (i > 0 ? '-' + std::to_string(i + 1) : "") + ".flight";
    open_file result{
      open(path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR)};
    if (result)
      return result;
    if (errno != EEXIST)
      break;
  }
  fail(errno, place.folder);
}

// All of the file now: where the disk is full, a page that is not there would end the process.
std::shared_ptr<std::byte> mapped(const open_file& file, const flight_place& place) {
  constexpr auto bytes = flight_recorder::file_bytes;
  if (const int error = posix_fallocate(file.number(), 0, bytes))
    fail(error, place.folder);
  auto* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED)
    fail(errno, place.folder);
  return {static_cast<std::byte*>(memory), [](std::byte* x) { munmap(x, bytes); }};
}

} // namespace

flight_recorder::flight_recorder(const flight_place& place)
  : begin_(std::chrono::steady_clock::now()) {
  file_ = created(place, path_);
  try {
    memory_ = mapped(file_, place);
  } catch (const failure&) {
    unlink(path_.c_str());
    throw;
  }
  auto& head = header();
  head.process_id = static_cast<uint64_t>(getpid());
  head.begin_unix_ms = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                               std::chrono::system_clock::now().time_since_epoch())
                                               .count());
  set_text(head.process, place.process);
  set_text(head.job, place.job);
  set_text(head.run_directory, place.run_directory);
  flock(file_.number(), LOCK_EX);
  head.mark = flight_mark; // from here on others look at it, and see the lock
}

void flight_recorder::set_job(const std::string& sha256) {
  set_text(header().job_sha256, sha256);
}

flight_ring flight_recorder::new_ring(const trace_lane& lane) {
  const std::lock_guard lock{mutex_};
  const auto left = (file_bytes - used_) / sizeof(flight_cell);
  const auto cells = std::clamp(std::bit_floor(left / rings_to_come), cells_min, cells_max);
  const auto bytes = flight_ring_header_bytes + cells * sizeof(flight_cell);
  if (bytes > file_bytes - used_) {
    ++header().rings_left_out;
    return {};
  }
  auto* const ring = reinterpret_cast<flight_ring_header*>(memory_.get() + used_);
  used_ += bytes;
  ring->cell_count = cells;
  set_text(ring->actor, lane.actor);
  set_text(ring->waits_for, lane.waits_for);
  set_text(ring->sends, lane.sends);
  std::atomic_ref{header().ring_count}.fetch_add(1, std::memory_order_release);
  return {memory_, ring, &header().now};
}

void flight_recorder::tick() {
  using hundredths = std::chrono::duration<uint64_t, std::centi>;
  const auto passed = std::chrono::steady_clock::now() - begin_;
  std::atomic_ref{header().now}.store(
    std::chrono::duration_cast<hundredths>(passed).count() & 0xffffffff, std::memory_order_relaxed);
}

bool flight_recorder::has_records() const {
  const std::lock_guard lock{mutex_};
  for (size_t at = flight_header_bytes; at < used_;) {
    auto& ring = *reinterpret_cast<flight_ring_header*>(memory_.get() + at);
    if (std::atomic_ref{ring.recorded}.load(std::memory_order_relaxed) > 0)
      return true;
    at += flight_ring_header_bytes + ring.cell_count * sizeof(flight_cell);
  }
  return false;
}

// Closing it is not enough: the mapping holds the lock.
void flight_recorder::let_go() {
  flock(file_.number(), LOCK_UN);
  file_.close();
}

} // namespace troupe
