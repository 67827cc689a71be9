#include "troupe/actors/base/trace.hpp"

#include <algorithm>
#include <bit>
#include <fstream>

namespace troupe {

namespace {

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
  const auto begin = moment::clock::now();
  for (size_t i = 0; i < count; ++i)
    const traced_work dry{&ring, trace_kind::slice, 0, i};
  const std::chrono::duration<double, std::nano> took = moment::clock::now() - begin;
  return took.count() / count;
}

} // namespace

// ---- A ring ----

void trace_ring::begin_step(uint64_t step) {
  step_ = step;
  if (++steps_ >= std::max<uint64_t>(choice_steps, every_)) // one that is recorded at least
    choose();
}

void trace_ring::choose() {
  const auto now = nanoseconds_of(moment::clock::now());
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

void trace_ring::add(const trace_record& record, bool is_work) {
  const std::lock_guard lock{mutex_};
  if (is_work && idle_since_ > 0 && record.begin > idle_since_) {
    trace_record wait{idle_since_, record.begin - idle_since_, 0, record.step, 0, trace_kind::wait};
    push(wait);
  }
  push(record);
  idle_since_ = !is_work && idle_since_ > 0 ? idle_since_
                : every_ == 1               ? record.begin + record.length
                                            : 0;
}

void trace_ring::push(const trace_record& record) {
  ++records_;
  auto& records = lane_.records;
  if (records.size() < size_max_)
    return records.push_back(record);
  records[next_] = record;
  next_ = (next_ + 1) % size_max_;
  ++lane_.dropped;
}

trace_lane trace_ring::lane() const {
  const std::lock_guard lock{mutex_};
  auto result = lane_;
  result.every = every_;
  auto& records = result.records;
  std::rotate(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(next_), records.end());
  return result;
}

void traced_work::begin_record(uint64_t step, uint64_t object, const trace_flow& flow) {
  record_ = {nanoseconds_of(moment::clock::now()), 0,    flow.number(), static_cast<uint32_t>(step),
             static_cast<uint16_t>(object),        kind_};
}

void traced_work::end_record() {
  record_->length = nanoseconds_of(moment::clock::now()) - record_->begin;
  ring_->add(*record_, is_work(kind_));
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

run_trace::run_trace(bool has_timeline, std::shared_ptr<flight_recorder> recorder)
  : has_timeline_(has_timeline), recorder_(std::move(recorder)) {
  if (!has_timeline_)
    return;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> head_.boot;
  head_.record_ns = measured_record_ns();
}

void run_trace::begin(std::string process, std::string job) {
  const std::lock_guard lock{mutex_};
  head_.process = std::move(process);
  head_.job = std::move(job);
  if (recorder_)
    recorder_->set_job(head_.job);
}

std::shared_ptr<trace_ring> run_trace::new_ring(trace_lane lane) {
  const std::lock_guard lock{mutex_};
  const auto share = std::bit_ceil(std::max(rings_.size() + 1, large_rings)) / large_rings;
  auto recorder = recorder_ ? recorder_->new_ring(lane) : flight_ring{};
  return rings_.emplace_back(std::make_shared<trace_ring>(
    std::move(lane), head_.record_ns,
    has_timeline_ ? std::max(ring_records_max / share, ring_records_min) : 0, std::move(recorder)));
}

void run_trace::tick() {
  if (recorder_)
    recorder_->tick();
}

void run_trace::on_clock(const std::string& process, uint64_t course_sent, uint64_t course_heard,
                         uint64_t told, uint64_t heard) {
  if (!has_timeline_)
    return;
  const auto trip = (heard - course_sent) - (told - course_heard);
  if (heard < course_sent || told < course_heard || heard - course_sent < told - course_heard)
    return; // of another life, or no clock
  const auto there = static_cast<int64_t>(course_heard - course_sent);
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

process_trace run_trace::take() const {
  const std::lock_guard lock{mutex_};
  auto result = head_;
  for (const auto& ring : rings_)
    result.lanes.push_back(ring->lane());
  for (const auto& [process, samples] : clocks_)
    result.clocks.push_back({process, samples});
  return result;
}

std::shared_ptr<trace_ring> ring_of(const std::shared_ptr<run_trace>& trace,
                                    const std::string& actor, const std::string& waits_for,
                                    const std::string& sends) {
  trace_lane lane;
  lane.actor = actor;
  lane.waits_for = waits_for;
  lane.sends = sends;
  return trace ? trace->new_ring(std::move(lane)) : nullptr;
}

} // namespace troupe
