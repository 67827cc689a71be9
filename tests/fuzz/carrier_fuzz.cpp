// What comes over a carrier's stream. The first byte says whether there are shared slots, and whether
// heads are given the checksum they should have: whoever writes so is of another mind, not damaged.

#include "actors/net/carriers/piece_stream.hpp"
#include "data/text/checksum.hpp"
#include "tests/fuzz/hostile.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

using namespace troupe;

namespace {

std::shared_ptr<shared_slots> slots_of_nobody() {
  owned_socket mine, theirs;
  auto here = slot_memory::make(mine);
  const auto there = slot_memory::make(theirs);
  return std::make_shared<shared_slots>(std::move(here), slot_memory::map(theirs));
}

void set_checksum(std::byte* head) {
  const auto sum = short_checksum_of({head, frame_head_bytes - sizeof(uint64_t)});
  std::memcpy(head + frame_head_bytes - sizeof(uint64_t), &sum, sizeof(sum));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0)
    return 0;
  std::vector<std::byte> said(size - 1);
  std::memcpy(said.data(), bytes + 1, size - 1);
  if ((bytes[0] & 1) != 0)
    for (size_t at = 0; at + frame_head_bytes <= said.size(); at += frame_head_bytes)
      set_checksum(said.data() + at);
  static const auto slots = slots_of_nobody();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return 0;
  const owned_socket bare{ends[0]};
  piece_stream stream{channel{owned_socket{ends[1]}}, (bytes[0] & 2) != 0 ? slots : nullptr};
  const auto count = std::min<size_t>(said.size(), 1 << 16); // the socket takes so much
  if (::write(bare.get(), said.data(), count) < 0)
    return 0;
  size_t bytes_of_values = 0;
  stream.receive([&](carried_frame&& frame) {
    fuzz::require(frame.piece.values.size() == frame.count, "as many values as it says");
    fuzz::require(frame.is_piece() == (frame.count > 0), "values are those of pieces");
    fuzz::require(frame.count <= piece_elements_max, "no more than a piece has");
    if (frame.is_piece() && frame.kind != frame_kind::slot)
      bytes_of_values += frame.count * bytes_of(frame.format());
    frame.piece.values.intact(); // every value can be read
  });
  fuzz::require(bytes_of_values <= count, "no value that was not said");
  return 0;
}
