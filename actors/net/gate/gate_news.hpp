// What a gate (gate.hpp) tells: who came, who was let in or refused, and who cannot be reached.

#pragma once

#include "actors/net/socket/channel.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/links/admission.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

namespace troupe {

/// A peer says it is this process, and all but its name's freedom is settled: to be answered with
/// `answer`. The hello's deadline goes on.
struct candidate_news {
  uint64_t ticket = 0;
  process_facts peer;
};
/// A candidate went away, or its connection was not opened in the end.
struct withdrawn_news {
  uint64_t ticket = 0;
};
/// A visitor asks how training goes: to be answered with `answer_visit`. The hello's deadline goes
/// on, and whoever left is answered in vain.
struct visitor_news {
  uint64_t ticket = 0;
};
/// A connection both sides want: the receiver owns it.
struct opened_news {
  uint64_t ticket = 0;
  process_facts peer;
  uint64_t own_incarnation = 0; ///< of this process, on this connection
  bool was_dialled = false;
  std::shared_ptr<channel> connection;
  uint64_t carrier = 0; ///< the token of a carrier for a link that is there; 0: this is a link
};
/// For good: a dialled name is not dialled again by itself. With `tls` who refused, or was refused,
/// has proven its name, or has none here.
struct refused_news {
  refusal what;
  std::string host; ///< where it came from, unless dialled
};
/// Whoever came from there was no process of ours, or said nothing.
struct turned_away_news {
  std::string host;
  std::string reason;
};
/// Certificate files were replaced, and those that are there now do not fit: the old ones count.
struct files_unfit_news {
  std::string reason;
};
/// Dialling goes on without success.
struct failing_news {
  std::string name;
  moment since;
  std::string reason;
};
using gate_news = std::variant<candidate_news, withdrawn_news, visitor_news, opened_news,
                               refused_news, turned_away_news, files_unfit_news, failing_news>;

} // namespace troupe
