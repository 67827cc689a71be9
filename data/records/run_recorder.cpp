#include "data/records/run_recorder.hpp"

#include "data/text/failure.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

namespace {

using steady = std::chrono::steady_clock;

// ---- The flight recorder ----

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
  constexpr auto bytes = flight_file_bytes;
  if (const int error = posix_fallocate(file.number(), 0, bytes))
    fail(error, place.folder);
  auto* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED)
    fail(errno, place.folder);
  return {static_cast<std::byte*>(memory), [](std::byte* x) { munmap(x, bytes); }};
}

// ---- The timeline ----

/// Of the time that passes, what recording may take.
constexpr double budget = 0.005;

/// Steps between two choices, at least.
constexpr uint64_t choice_steps = 64;
constexpr uint64_t every_max = uint64_t{1} << 20;

/// 2 MiB; when there are many rings those that come later have less, so that all stay below 64 MiB
/// for 32 rings and 128 MiB for a thousand.
constexpr size_t ring_records_max = size_t{1} << 16;
constexpr size_t ring_records_min = size_t{1} << 10;
constexpr size_t large_rings = 32;

constexpr uint64_t second_ns = 1'000'000'000;
constexpr uint64_t clock_interval = 16 * second_ns;
constexpr size_t clock_samples_max = 512;

double measured_record_ns() {
  constexpr size_t count = 10'000;
  trace_ring ring{{}, 0, count};
  const auto begin = steady::now();
  for (size_t i = 0; i < count; ++i)
    const traced_work dry{&ring, trace_kind::slice, 0, i};
  const std::chrono::duration<double, std::nano> took = steady::now() - begin;
  return took.count() / count;
}

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::nanoseconds{steady::now().time_since_epoch()}.count());
}

} // namespace

// ---- A ring ----

void trace_ring::map(std::shared_ptr<void> memory, flight_ring_header& header, uint64_t& now) {
  memory_ = std::move(memory);
  cells_ = reinterpret_cast<flight_cell*>(&header + 1);
  recorded_ = &header.recorded;
  now_ = &now;
  last_cell_ = header.cell_count - 1;
}

void trace_ring::begin_step(uint64_t step) {
  step_ = step;
  if (++steps_ >= std::max<uint64_t>(choice_steps, every_)) // one that is recorded at least
    choose();
}

void trace_ring::choose() {
  const auto now = now_ns();
  const auto cost = record_ns_ * static_cast<double>(records_);
  const auto passed = static_cast<double>(now - chosen_at_);
  if (chosen_at_ > 0 && cost > budget * passed)
    every_ = std::min(2 * every_, every_max);
  else if (chosen_at_ > 0 && cost < budget / 4 * passed)
    every_ = std::max<uint64_t>(every_ / 2, 1);
  steps_ = records_ = 0;
  chosen_at_ = now;
  idle_since_ = 0;
}

void trace_ring::add(const trace_record& record) {
  const std::lock_guard lock{mutex_};
  const bool ends_wait = is_work(record.kind);
  if (ends_wait && idle_since_ > 0 && record.begin > idle_since_) {
    trace_record wait{idle_since_, record.begin - idle_since_, 0, record.step, 0, trace_kind::wait};
    push(wait);
  }
  push(record);
  idle_since_ = !ends_wait && idle_since_ > 0 ? idle_since_
                : every_ == 1                 ? record.begin + record.length
                                              : 0;
}

void trace_ring::push(const trace_record& record) {
  ++records_;
  auto& records = track_.records;
  if (records.size() < size_max_)
    return records.push_back(record);
  records[next_] = record;
  next_ = (next_ + 1) % size_max_;
  ++track_.dropped;
}

trace_track trace_ring::track() const {
  const std::lock_guard lock{mutex_};
  auto result = track_;
  result.every = every_;
  auto& records = result.records;
  std::rotate(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(next_), records.end());
  return result;
}

void traced_work::begin_record(uint64_t step, uint64_t object, const trace_flow& flow) {
  record_ = {now_ns(), 0, flow.number(), static_cast<uint32_t>(step), static_cast<uint16_t>(object),
             kind_};
}

void traced_work::end_record() {
  record_->length = now_ns() - record_->begin;
  ring_->add(*record_);
}

uint64_t trace_flow::number() const {
  if (what == flow_content::none)
    return 0;
  auto result = 0xcbf29ce484222325 + static_cast<uint64_t>(what); // FNV-1a, word by word, and mixed
  for (auto x : which) {
    result = (result ^ x) * 0x100000001b3;
    result ^= result >> 32;
    result *= 0x9e3779b97f4a7c15;
  }
  return std::max<uint64_t>(result, 1);
}

// ---- A process ----

run_recorder::run_recorder(const flight_place& place, bool has_timeline)
  : has_timeline_(has_timeline) {
  if (!place.folder.empty())
    open_file_in(place);
  if (!has_timeline_)
    return;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> head_.boot;
  head_.record_ns = measured_record_ns();
}

void run_recorder::open_file_in(const flight_place& place) {
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

void run_recorder::begin(std::string process, std::string job) {
  const std::lock_guard lock{mutex_};
  head_.process = std::move(process);
  head_.job = std::move(job);
  if (memory_)
    set_text(header().job_sha256, head_.job);
}

std::shared_ptr<trace_ring> run_recorder::new_ring(trace_track track) {
  const std::lock_guard lock{mutex_};
  const auto share = std::bit_ceil(std::max(rings_.size() + 1, large_rings)) / large_rings;
  const auto size = has_timeline_ ? std::max(ring_records_max / share, ring_records_min) : 0;
  const auto& ring =
    rings_.emplace_back(std::make_shared<trace_ring>(track, head_.record_ns, size));
  if (memory_)
    map(*ring, track);
  return ring;
}

void run_recorder::map(trace_ring& ring, const trace_track& track) {
  const auto left = (flight_file_bytes - used_) / sizeof(flight_cell);
  const auto cells = std::clamp(std::bit_floor(left / rings_to_come), cells_min, cells_max);
  const auto bytes = flight_ring_header_bytes + cells * sizeof(flight_cell);
  if (bytes > flight_file_bytes - used_) {
    ++header().rings_left_out;
    return;
  }
  auto& head = *reinterpret_cast<flight_ring_header*>(memory_.get() + used_);
  used_ += bytes;
  head.cell_count = cells;
  set_text(head.actor, track.actor);
  set_text(head.waits_for, track.waits_for);
  set_text(head.sends, track.sends);
  std::atomic_ref{header().ring_count}.fetch_add(1, std::memory_order_release);
  ring.map(memory_, head, header().now);
}

void run_recorder::tick() {
  using hundredths = std::chrono::duration<uint64_t, std::centi>;
  if (memory_)
    std::atomic_ref{header().now}.store(
      std::chrono::duration_cast<hundredths>(steady::now() - begin_).count() & 0xffffffff,
      std::memory_order_relaxed);
}

bool run_recorder::has_records() const {
  const std::lock_guard lock{mutex_};
  return std::ranges::any_of(rings_, [](const auto& ring) { return ring->has_records(); });
}

// Closing it is not enough: the mapping holds the lock.
void run_recorder::let_go() {
  flock(file_.number(), LOCK_UN);
  file_.close();
}

void run_recorder::on_clock(const std::string& process, uint64_t directive_sent,
                            uint64_t directive_heard, uint64_t told, uint64_t heard) {
  if (!has_timeline_)
    return;
  const auto trip = (heard - directive_sent) - (told - directive_heard);
  if (heard < directive_sent || told < directive_heard ||
      heard - directive_sent < told - directive_heard)
    return; // of another life, or no clock
  const auto there = static_cast<int64_t>(directive_heard - directive_sent);
  const auto back = static_cast<int64_t>(told - heard);
  const clock_sample sample{heard, there / 2 + back / 2, trip / 2 + 1};
  const std::lock_guard lock{mutex_};
  auto& samples = clocks_[process];
  if (samples.empty() || sample.at / clock_interval != samples.back().at / clock_interval)
    samples.push_back(sample);
  else if (sample.error < samples.back().error)
    samples.back() = sample;
  if (samples.size() <= clock_samples_max)
    return;
  for (size_t i = 0; 2 * i < samples.size(); ++i)
    samples[i] = samples[2 * i];
  samples.resize((samples.size() + 1) / 2);
}

process_trace run_recorder::take() const {
  const std::lock_guard lock{mutex_};
  auto result = head_;
  for (const auto& ring : rings_)
    result.tracks.push_back(ring->track());
  for (const auto& [process, samples] : clocks_)
    result.clocks.push_back({process, samples});
  return result;
}

std::shared_ptr<trace_ring> ring_of(const std::shared_ptr<run_recorder>& trace,
                                    const std::string& actor, const std::string& waits_for,
                                    const std::string& sends) {
  trace_track track;
  track.actor = actor;
  track.waits_for = waits_for;
  track.sends = sends;
  return trace ? trace->new_ring(std::move(track)) : nullptr;
}

} // namespace troupe
