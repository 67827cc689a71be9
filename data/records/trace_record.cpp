#include "data/records/trace_record.hpp"

#include "data/text/failure.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

namespace troupe {

std::string trace_words(trace_kind kind, const trace_track& track) {
  const std::string name{name_of(kind)};
  switch (kind) {
  case trace_kind::wait:
    return track.waits_for.empty() ? name : "wait for " + track.waits_for;
  case trace_kind::receive:
    return track.waits_for.empty() ? name : "receive " + track.waits_for;
  case trace_kind::send:
    return track.sends.empty() ? name : "send " + track.sends;
  default:
    return name;
  }
}

const char* trace_object_name(trace_kind kind) {
  switch (kind) {
  case trace_kind::slice:
    return "slice";
  case trace_kind::send:
    return "to";
  case trace_kind::receive:
    return "from";
  case trace_kind::clients:
    return "piece";
  default:
    return nullptr;
  }
}

namespace {

template <class T>
T taken(std::span<const std::byte> from) {
  T result;
  std::memcpy(&result, from.data(), sizeof result);
  return result;
}

template <size_t N>
std::string text(const std::array<char, N>& x) {
  return {x.begin(), std::find(x.begin(), x.end(), '\0')};
}

constexpr uint64_t hundredth_ns = 10'000'000;

std::optional<trace_record> record_of(const flight_cell& x) {
  const auto kind = (x.what >> 48) & 0xff;
  if (kind == 0 || kind > name_table<trace_kind>::entries.size() || x.what >> 56 != 0)
    return std::nullopt;
  const auto begin = x.times & 0xffffffff, end = x.times >> 32;
  const auto length = end > begin ? (end - 1 - begin) * hundredth_ns : 0;
  return trace_record{begin * hundredth_ns,
                      end > 0 ? length : trace_record::no_end,
                      0,
                      static_cast<uint32_t>(x.what),
                      static_cast<uint16_t>(x.what >> 32),
                      static_cast<trace_kind>(kind - 1)};
}

// In a full ring the oldest record's place may be half written over by one that is not counted yet.
trace_track track_of(const flight_ring_header& head, std::span<const std::byte> cells) {
  trace_track result{text(head.actor), text(head.waits_for), text(head.sends), 1, 0, {}};
  const auto count = std::min(head.recorded, head.cell_count > 1 ? head.cell_count - 1 : 1);
  for (auto number = head.recorded - count; number < head.recorded; ++number)
    if (const auto record = record_of(
          taken<flight_cell>(cells.subspan(number % head.cell_count * sizeof(flight_cell)))))
      result.records.push_back(*record);
  result.dropped = head.recorded - result.records.size();
  return result;
}

flight_header header_of(std::span<const std::byte> file, const std::string& where) {
  constexpr auto hint = "give a .flight file, or flight-NODE.bin of a run directory";
  if (file.size() < flight_mark.size() ||
      std::memcmp(file.data(), flight_mark.data(), flight_mark.size()) != 0)
    throw failure(failure_code::bad_data, "this is no flight recorder's file", where, hint);
  if (file.size() < flight_header_bytes)
    throw failure(failure_code::bad_data,
                  "of this flight recorder's file only " + std::to_string(file.size()) +
                    " bytes are there: not even whose it is",
                  where, hint);
  return taken<flight_header>(file);
}

} // namespace

flight_log read_flight(std::span<const std::byte> file, const std::string& where) {
  const auto head = header_of(file, where);
  flight_log result;
  result.process = text(head.process);
  result.job = text(head.job);
  result.job_sha256 = text(head.job_sha256);
  result.run_directory = text(head.run_directory);
  result.process_id = head.process_id;
  result.begin_unix_ms = head.begin_unix_ms;
  result.last_sign_ns = (head.now & 0xffffffff) * hundredth_ns;
  result.actors_left_out = head.rings_left_out;
  auto rest = file.subspan(flight_header_bytes);
  for (uint64_t i = 0; i < head.ring_count; ++i) {
    const auto ring = rest.size() < flight_ring_header_bytes ? flight_ring_header{}
                                                             : taken<flight_ring_header>(rest);
    if (!std::has_single_bit(ring.cell_count) ||
        ring.cell_count > (rest.size() - flight_ring_header_bytes) / sizeof(flight_cell)) {
      result.is_cut = true;
      break;
    }
    const auto cells = rest.subspan(flight_ring_header_bytes);
    result.tracks.push_back(track_of(ring, cells));
    rest = cells.subspan(ring.cell_count * sizeof(flight_cell));
  }
  result.used_bytes = file.size() - rest.size();
  return result;
}

} // namespace troupe
