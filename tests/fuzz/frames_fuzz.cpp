// Frames of a federated run's clients: of each side, with bytes in one piece.

#include "actors/net/clients/client_frames.hpp"
#include "tests/fuzz/hostile.hpp"

#include <cstring>

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  for (const size_t value_count : {0, 3}) {
    std::string problem;
    const auto head = read_client_head(text.substr(0, client_head_bytes), value_count, problem);
    fuzz::require(head.has_value() == problem.empty(), "a refusal has a reason");
    if (!head || text.size() < client_head_bytes + head->body_bytes)
      continue;
    // The checksum keeps nobody out who can compute one: what it protects is read without it, too.
    auto trusted = *head;
    const auto body = text.substr(client_head_bytes, head->body_bytes);
    for (const bool is_checked : {true, false}) {
      const auto found = is_checked ? read_client_frame(trusted, text.substr(0, client_head_bytes),
                                                        body, value_count, problem)
                                    : read_client_body(trusted, body, value_count, problem);
      if (!found)
        continue;
      auto written = client_frame_front(*found);
      const auto values = std::as_bytes(found->values.values());
      written.append(reinterpret_cast<const char*>(values.data()), values.size());
      fuzz::require(written.substr(client_head_bytes) == body, "a frame survives being written");
    }
  }
  return 0;
}
