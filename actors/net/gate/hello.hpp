// The hello: the lines two processes exchange over a fresh connection, before anything else may
// cross it. One line of JSON each way says who they are, and one what came of it:
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
// The actor system of the dialling side may greet right behind the last line, so the accepting side
// reads no further than that. Whatever else comes too early is a violation, like a line that is too
// long or no hello: the connection is closed without an answer. Who dials a process that secures
// its connections, and does not do so itself, or the reverse, gets one line with the answer alone.
//
// Proof comes first. Whoever was dialled and does not prove that it is the one, or says that it is
// another, is told nothing of this process, and believed nothing: its connection has failed, like
// one that nobody accepts, and is tried again. On a plain connection there is no proof, and what is
// said there is believed.
//
// A line has a checksum ("check": the CRC-32 of the line without it, keys in order, no blanks), so
// that a flipped bit makes it no hello, and not another one. An answer alone may do without.
//
// Who only compares says so in its facts, and is told what differs or that nothing does.
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

/// Bytes of a line with its end; who sends more is no process of ours. What both must have in
/// common fits in words (process_gate.cpp); doubled, strangers can make a gate keep twice as much.
inline constexpr size_t hello_bytes_max = 16'384;

/// Bytes of a reason that are read; who refuses has a sentence.
inline constexpr size_t reason_bytes_max = 1'000;

/// What a line says.
struct hello_line {
  std::optional<process_facts> facts;
  std::optional<verdict> answer;

  friend bool operator==(const hello_line&, const hello_line&) = default;
};

/// The line with its end.
std::string write_hello(const hello_line& x);

/// Nothing when it is no such line. `text` is without its end.
std::optional<hello_line> read_hello(std::string_view text);

class greeting {
public:
  /// Accepts a connection.
  greeting(const process_facts& mine, const cluster_plan& plan);
  /// Dials the process of this name.
  greeting(const process_facts& mine, const cluster_plan& plan, const std::string& dialled_name);

  /// The connection is secured: the peer has proven these names, and must say one of them. If it is
  /// not who was dialled all is over, before anything is said.
  void on_proof(std::vector<std::string> names);

  /// A word of the peer counts: connections are plain, or it has proven that it is who was dialled.
  /// Of who came by itself always: what it says concerns itself alone.
  bool believes() const;

  /// Whoever came cannot be understood, but is told why it is turned away.
  void turn_away(const verdict& why);

  /// The run is over: whoever could have taken part is told so.
  void refuse_all(const verdict& over) { over_ = over; }

  enum class phase : uint8_t {
    talking, ///< the peer is to say something
    asking,  ///< somebody must say whether the peer's name is free: `on_answer`
    visited, ///< a visitor (visit.hpp) is to be answered: `on_visit_answer`
    over,    ///< `outcome` says how it ended; what is left of `output` may still be sent
    broken,  ///< the peer said something else: `problem`; nothing is to be sent
  };
  phase state() const { return phase_; }

  void on_bytes(std::string_view bytes);
  void on_answer(const verdict& answer);
  /// The line for a visitor, with its end; the connection is over then.
  void on_visit_answer(const std::string& line);

  /// To be sent to the peer; the caller takes away what it has sent.
  std::string& output() { return output_; }
  /// What the peer said of itself, once it has.
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
  verdict outcome_;
  std::string problem_;
};

} // namespace troupe
