// Frames between the server of a federated run and its clients: what each kind holds, and how it lies on the wire.
//
//   head    4 bytes "TRPC", kind (2), 0 (2), bytes of the body (8), XXH3 of the head before it and the body (8), 0 (8)
//   body    whole numbers (8 bytes each), then the length of each text (8), then the texts, then float32 values
//
// All numbers are little-endian. `client_frame_forms` has a row for each kind: who sends it, how many numbers and texts it has,
// how long a text may be, and whether values come with it, which then are as many as the model has parameters. A frame of
// another form is refused, by its head alone if its length is wrong: nothing is allocated for what may not come.

#pragma once

#include "models/base/buffer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class client_frame_kind : uint16_t {
  report, ///< client: protocol; name, SHA-256 of the plan it has
  here,   ///< client: it has read its rows, and may be invited
  ready,  ///< client: round, term; SHA-256 of its update
  update, ///< client: round, term, rows, loss (float64), right rows; its model
  plan,  ///< server: protocol, parameters; how rows are read, the job; empty if the client has both
  wait,  ///< server: milliseconds; why
  order, ///< server: round, term, group, milliseconds left; the model to start from
  send,  ///< server: round, term: a place is free for the update
  receipt, ///< server: round, term, receipt_kind
  over,    ///< server: exit code; why
  ping,    ///< either: a sign of life
};

struct client_frame_form {
  client_frame_kind kind;
  bool from_client; ///< a ping comes from both
  uint8_t numbers;
  std::array<size_t, 2> text_max; ///< 0: no such text
  bool has_values;
};

inline constexpr size_t plan_bytes_max = size_t{64}
                                         << 20; ///< how rows are read: names of columns, categories
inline constexpr size_t job_bytes_max = size_t{64} << 10;

inline constexpr std::array client_frame_forms{
  client_frame_form{client_frame_kind::report, true, 1, {64, 64}, false},
  client_frame_form{client_frame_kind::here, true, 0, {}, false},
  client_frame_form{client_frame_kind::ready, true, 2, {64}, false},
  client_frame_form{client_frame_kind::update, true, 5, {}, true},
  client_frame_form{client_frame_kind::plan, false, 2, {plan_bytes_max, job_bytes_max}, false},
  client_frame_form{client_frame_kind::wait, false, 1, {1024}, false},
  client_frame_form{client_frame_kind::order, false, 4, {}, true},
  client_frame_form{client_frame_kind::send, false, 2, {}, false},
  client_frame_form{client_frame_kind::receipt, false, 3, {}, false},
  client_frame_form{client_frame_kind::over, false, 1, {1024}, false},
  client_frame_form{client_frame_kind::ping, true, 0, {}, false},
};

inline constexpr size_t client_head_bytes = 32;

struct client_frame {
  client_frame_kind kind = client_frame_kind::ping;
  std::vector<uint64_t> numbers{};
  std::array<std::string, 2> texts{};
  const_buffer values{};
};

/// What is read before a frame's body: its kind and length.
struct client_frame_head {
  const client_frame_form* form = nullptr;
  size_t body_bytes = 0;
  uint64_t checksum = 0;
};

/// The first bytes of a frame, without its values, which follow on the wire. Throws std::invalid_argument for another form
/// than the kind's.
std::string client_frame_front(const client_frame& x);

/// Of `client_head_bytes` bytes; `problem` says why it is no head, or none of a frame with so many values.
std::optional<client_frame_head> read_client_head(std::string_view bytes, size_t value_count,
                                                  std::string& problem);

/// Of the head's bytes and the whole body; `problem` says why these are no frame.
std::optional<client_frame> read_client_frame(const client_frame_head& head,
                                              std::string_view head_bytes, std::string_view body,
                                              size_t value_count, std::string& problem);

/// The same of a body of the head's length, whatever its checksum.
std::optional<client_frame> read_client_body(const client_frame_head& head, std::string_view body,
                                             size_t value_count, std::string& problem);

} // namespace troupe
