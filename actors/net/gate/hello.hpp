// The hello: the lines that two processes exchange over a fresh connection, before anything else
// may cross it. One line of JSON each way has the process's facts, and one the verdict:
//
//   dialling                                     accepting
//      | {"troupe":1,"node":"b",...}                 |
//      |-------------------------------------------->|
//      |        {"troupe":1,"node":"a",...,"answer":{"verdict":"admitted"}}
//      |<--------------------------------------------|
//      | {"answer":{"verdict":"admitted"}}           |
//      |-------------------------------------------->|
//      |         from here on: the actor system      |
//
// The actor system of the dialling side may write right behind the last line, so the accepting side
// reads no further than that. Any other byte that comes too early is a violation, like a line that
// is too long or no hello: the gate closes the connection without an answer. If only one of the two
// processes secures its connections, the dialling one gets one line with the answer alone.
//
// Proof comes first. A peer at a dialled address must prove the dialled name, and give no other.
// Else it learns nothing of this process and is not believed. Its connection has failed, like one
// that no process accepts, and is tried again. On a plain connection there is no proof: the peer is
// believed.
//
// A line has a checksum ("check": the CRC-32 of the line without it, keys in order, no blanks), so
// that a flipped bit never makes it another hello. An answer alone needs no checksum.
//
// The lines are made and read here; `greeting` is the exchange as a state machine without sockets:
// bytes in, bytes out.

#pragma once

#include "actors/net/gate/visit.hpp"
#include "coordinators/links/admission.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Maximum bytes of a line with its end; a peer that sends more is no process of Troupe. The facts
/// that both must share fit in (process_gate.cpp). Doubled, strangers can make a gate keep twice as
/// much.
inline constexpr size_t hello_bytes_max = 16'384;

/// Maximum bytes of a refusal's reason; longer ones are cut.
inline constexpr size_t reason_bytes_max = 1'000;

/// The content of a line.
struct hello_line {
  std::optional<process_facts> facts;
  std::optional<verdict> answer;

  friend bool operator==(const hello_line&, const hello_line&) = default;
};

/// The line with its end.
std::string write_hello(const hello_line& x);

/// Reads a line; nothing when it is no hello. `text` is without its end.
std::optional<hello_line> read_hello(std::string_view text);

class greeting {
public:
  /// Accepts a connection.
  greeting(const process_facts& mine, const cluster_plan& plan);
  /// Dials the process of this name.
  greeting(const process_facts& mine, const cluster_plan& plan, const std::string& dialled_name);

  /// The connection is secured: the peer has proven these names, and its hello must use one of
  /// them. If the dialled name is not among them, the hello is over before it begins.
  void on_proof(std::vector<std::string> names);

  /// True if the peer is believed: connections are plain, or it has proven the dialled name. An
  /// accepted peer is always believed, because its words concern only itself.
  bool believes() const;

  /// Refuses a peer whose bytes cannot be read, with the reason.
  void turn_away(const verdict& why);

  /// The run is over: refuses every peer that could have taken part. Or it has not begun, and all come later.
  void refuse_all(const verdict& over) { over_ = over; }

  enum class phase : uint8_t {
    talking, ///< the peer must send something
    asking,  ///< the caller must decide whether the peer's name is free: `on_answer`
    visited, ///< the caller must answer a visitor (visit.hpp): `on_visit_answer`
    over,    ///< `outcome` is the verdict; the rest of `output` may still be sent
    broken,  ///< the peer broke the protocol: `problem`; nothing may be sent
  };
  phase state() const { return phase_; }

  void on_bytes(std::string_view bytes);
  void on_answer(const verdict& answer);
  /// Answers a visitor with this line, with its end, and ends the connection.
  void on_visit_answer(const std::string& line);

  /// What the visitor wants.
  const visit_request& visit() const { return visit_; }
  /// Bytes of a line that the peer may send.
  size_t line_bytes_max() const {
    return !begins_with_card(input_) ? hello_bytes_max
           : proven_                 ? proven_card_bytes_max
                                     : card_bytes_max;
  }

  /// Bytes to send to the peer; the caller erases the sent ones.
  std::string& output() { return output_; }
  /// The peer's facts, once they have come.
  const std::optional<process_facts>& peer() const { return peer_; }
  const verdict& outcome() const { return outcome_; }
  const std::string& problem() const { return problem_; }
  const process_facts& mine() const { return mine_; }

private:
  void on_line(std::string_view text);
  void on_visit(const visit_request& request);
  void on_accepted_hello(const hello_line& line);
  void on_dialled_hello(const hello_line& line);
  void on_strange_line(std::string_view text);
  void leave(const verdict& why);
  verdict proof_of(const std::string& name) const;
  verdict or_over(const verdict& found) const;
  void end(const verdict& how);
  void break_off(const std::string& why);

  process_facts mine_;
  cluster_plan plan_;
  std::optional<std::string> dialled_name_;
  phase phase_ = phase::talking;
  std::string input_;
  std::string output_;
  std::optional<process_facts> peer_;
  std::optional<std::vector<std::string>> proven_;
  std::optional<verdict> over_;
  visit_request visit_;
  verdict outcome_;
  std::string problem_;
};

} // namespace troupe
