// Admission: whether two processes may train together. Each sends its name and what it was started
// with; both must send the same of everything that decides the bits, or that both must know.
//
//   my facts, the peer's facts, the plan --> admitted
//                                            refused {reason, exit code}: for good
//                                            later {reason}: come again
//
// The reason reads the same whichever of the two finds it: it names both, in order of the plan.
// Facts come from strangers: nothing here trusts their lengths or contents.

#pragma once

#include "coordinators/membership/cluster_plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Rises with each change of the protocol: processes with other numbers do not understand each other.
inline constexpr uint64_t protocol_number = 21;

/// What a process sends of itself before anything else.
struct process_facts {
  uint64_t protocol = protocol_number;
  std::string version;      ///< of the program
  std::string node;         ///< its name in the plan
  uint64_t incarnation = 0; ///< random, drawn for each connection
  bool is_director = false; ///< the director is in this process
  std::string data;         ///< the rows as they were read; this and the next three in words
  std::string job;          ///< what determines version v + 1 from version v
  std::string cluster;      ///< of the plan, what all must have in common: `cluster_words`
  std::string directive;    ///< lengths and intervals that all must have in common
  std::string arithmetic;   ///< its name, or what is wrong with the process's
  uint64_t term = 0;        ///< the highest it knows of
  std::string process;      ///< which the actor system takes it for
  uint64_t life = 0;        ///< random, drawn when the process starts
  uint64_t carrier = 0;     ///< it brings the carrier with this token to a link; 0: a link
  /// "host:port", where others dial a node that no file lists; ":port": on the host that it comes from.
  std::string address = {};
  std::string kinds = {}; ///< what the application's own kinds compute (`kind_words`), if any

  friend bool operator==(const process_facts&, const process_facts&) = default;
};

enum class verdict_kind : uint8_t { admitted, later, refused };

/// Exit codes of a refusal.
enum class refusal_code : uint8_t {
  finished = 0,       ///< the run is over, and ended well
  unavailable = 69,   ///< it cannot take part now
  agree_first = 75,   ///< the nodes agree on their rows: it tells of its own, and comes again
  mismatch = 76,      ///< versions, jobs, data, or arithmetics differ
  no_permission = 77, ///< it is not the process that it should be
};

struct verdict {
  verdict_kind kind = verdict_kind::admitted;
  std::string reason; ///< in words, unless admitted
  refusal_code code = refusal_code::unavailable;

  bool is_admitted() const { return kind == verdict_kind::admitted; }
  friend bool operator==(const verdict&, const verdict&) = default;
};

/// Whether `peer` may take part in a run with the process of these facts. Symmetric but for names.
verdict admit(const process_facts& mine, const process_facts& peer, const cluster_plan& plan);

/// Whether the process that answered the dial of `dialled_name` has that name. If not, that is the
/// fault of neither: an address has changed hands, and the right process may come back (later).
verdict admit_name(const process_facts& peer, const std::string& dialled_name);

/// Whether a process proves that it is `name` with a certificate for `proven`, the DNS names in it. A node that no file
/// lists proves the one name of all that may join, and no name of the file is proven so.
verdict admit_proof(const std::string& name, const std::vector<std::string>& proven,
                    const cluster_plan& plan = {});

/// The verdicts on both sides when the process `name` secures its connections and the caller does
/// not, and the reverse.
verdict comes_unsecured(const std::string& name);
verdict comes_secured(const std::string& name);

/// The verdict for another process of this name while the name's holder is alive.
verdict name_in_use(const std::string& name);

/// The verdict for a node that no file lists while as many as may are here.
verdict cluster_is_full(const cluster_plan& plan);

/// The verdict for every process that comes when the run is over; `how` in words.
verdict run_is_over(const std::string& how);

/// The verdict for every process that would join before the nodes have agreed on their rows.
verdict agree_on_rows_first();

/// The verdict while the name's holder no longer answers but is not known to be lost.
verdict name_not_free_yet(const std::string& name);

/// A refusal, as both sides know it. With secured connections `peer` is a proven name: without a
/// proof its word does not count (hello.hpp).
struct refusal {
  std::string peer; ///< its name, as far as it is known
  verdict why;
  bool was_dialled = false; ///< this process dialled the peer

  friend bool operator==(const refusal&, const refusal&) = default;
};

/// True when the process `own_name` cannot go on after this. Either it and the director refuse each
/// other, whichever of the two dialled or found the reason. Or a peer that it dialled has another
/// process of its name. The director judges what else workers find, and never ends for what others
/// are. Strangers end no process.
bool ends_process(const refusal& x, const cluster_plan& plan, const std::string& own_name);

// Facts in words: what processes must have in common, as lines "key = value". So a reason can say
// what differs.
//
//   steps = 5                            steps = 5
//   checkpoint.every_steps = 100         checkpoint.every_steps = 7
//     --> "checkpoint.every_steps = 100 and 7"
//
// They come from strangers: nothing here trusts their lengths or contents.

/// Foreign text for people: at most 40 bytes of printable ASCII; "nothing" when there is none.
std::string shown_fact(std::string_view text);

/// The first line that differs, as "key = value of a and value of b", with "nothing" for the side
/// that lacks it; of facts that are one word, both words. Empty when they are equal.
std::string first_difference(std::string_view of_a, std::string_view of_b);

} // namespace troupe
