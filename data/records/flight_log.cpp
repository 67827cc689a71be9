#include "troupe/data/records/flight_log.hpp"

#include "troupe/data/records/flight_layout.hpp"
#include "troupe/data/text/failure.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace troupe {

namespace {

template <class T>
T taken(std::span<const std::byte> bytes) {
  T result;
  std::memcpy(&result, bytes.data(), sizeof result);
  return result;
}

template <size_t N>
std::string text(const std::array<char, N>& x) {
  return {x.begin(), std::find(x.begin(), x.end(), '\0')};
}

/// Where rings lie, one after the other.
class ring_walk {
public:
  explicit ring_walk(std::span<const std::byte> bytes)
    : rest_(bytes.subspan(std::min(bytes.size(), flight_header_bytes))) {}

  /// The next one, if all of it is there.
  std::optional<flight_ring_header> next() {
    if (rest_.size() < flight_ring_header_bytes)
      return std::nullopt;
    const auto head = taken<flight_ring_header>(rest_);
    const auto behind = rest_.subspan(flight_ring_header_bytes);
    if (!std::has_single_bit(head.cell_count) ||
        head.cell_count > behind.size() / sizeof(flight_cell))
      return std::nullopt;
    cells_ = behind.first(head.cell_count * sizeof(flight_cell));
    rest_ = behind.subspan(cells_.size());
    return head;
  }
  flight_cell cell(uint64_t number) const {
    const auto count = cells_.size() / sizeof(flight_cell);
    return taken<flight_cell>(cells_.subspan(number % count * sizeof(flight_cell)));
  }
  size_t rest_bytes() const { return rest_.size(); }

private:
  std::span<const std::byte> rest_;
  std::span<const std::byte> cells_; ///< of the last one
};

std::optional<flight_record> record_of(const flight_cell& x) {
  const auto kind = (x.what >> 48) & 0xff;
  if (kind == 0 || kind > name_table<trace_kind>::entries.size() || x.what >> 56 != 0)
    return std::nullopt;
  flight_record result;
  result.kind = static_cast<trace_kind>(kind - 1);
  result.step = static_cast<uint32_t>(x.what);
  result.object = static_cast<uint16_t>(x.what >> 32);
  result.begin = static_cast<uint32_t>(x.times);
  if (const auto end = static_cast<uint32_t>(x.times >> 32); end > 0)
    result.end = end - 1;
  return result;
}

// In a full ring the oldest record's place may be half written over by one that is not counted yet.
flight_lane lane_of(const flight_ring_header& head, const ring_walk& cells) {
  flight_lane result{text(head.actor), text(head.waits_for), text(head.sends), head.recorded, {}};
  const auto count = std::min(head.recorded, head.cell_count > 1 ? head.cell_count - 1 : 1);
  for (auto number = head.recorded - count; number < head.recorded; ++number)
    if (const auto record = record_of(cells.cell(number)))
      result.records.push_back(*record);
  return result;
}

flight_header header_of(std::span<const std::byte> bytes, const std::string& where) {
  constexpr auto hint = "give a .flight file, or flight-NODE.bin of a run directory";
  if (bytes.size() < flight_mark.size() ||
      std::memcmp(bytes.data(), flight_mark.data(), flight_mark.size()) != 0)
    throw failure(failure_code::bad_data, "this is no flight recorder's file", where, hint);
  if (bytes.size() < flight_header_bytes)
    throw failure(failure_code::bad_data,
                  "of this flight recorder's file only " + std::to_string(bytes.size()) +
                    " bytes are there: not even whose it is",
                  where, hint);
  return taken<flight_header>(bytes);
}

} // namespace

flight_log read_flight(std::span<const std::byte> bytes, const std::string& where) {
  const auto head = header_of(bytes, where);
  flight_log result;
  result.process = text(head.process);
  result.job = text(head.job);
  result.job_sha256 = text(head.job_sha256);
  result.run_directory = text(head.run_directory);
  result.process_id = head.process_id;
  result.begin_unix_ms = head.begin_unix_ms;
  result.last_sign = static_cast<uint32_t>(head.now);
  result.actors_left_out = head.rings_left_out;
  ring_walk rings{bytes};
  for (uint64_t i = 0; i < head.ring_count && !result.is_cut; ++i)
    if (const auto ring = rings.next())
      result.lanes.push_back(lane_of(*ring, rings));
    else
      result.is_cut = true;
  return result;
}

size_t used_flight_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < flight_header_bytes)
    return bytes.size();
  ring_walk rings{bytes};
  for (auto left = taken<flight_header>(bytes).ring_count; left > 0 && rings.next(); --left) {
  }
  return bytes.size() - rings.rest_bytes();
}

} // namespace troupe
