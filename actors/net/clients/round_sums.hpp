// Round sums: the updates of a round's clients, measured, checked and added exactly as they come. What comes of a round is
// in order of groups and names, so the order of arrival does not show.

#pragma once

#include "coordinators/clients/gathered_round.hpp"
#include "coordinators/clients/round_server.hpp"
#include "models/base/buffer.hpp"
#include "models/merging/ring_sum.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// What a client says of its update.
struct client_update {
  std::string name;
  uint64_t group = 0;
  uint64_t rows = 0;     ///< that it trained on, each once
  double loss = 0;       ///< mean over the rows it trained on
  uint64_t correct = 0;  ///< right rows, of classes
  std::string announced; ///< SHA-256 of its model's values
  const_buffer values;   ///< P
};

class round_sums {
public:
  round_sums(const federated_options& rules, const ring_bounds& bounds)
    : rules_(rules), bounds_(bounds) {}

  void begin(const const_buffer& start);
  const const_buffer& start() const { return start_; }
  /// Needs a default_rounding around it.
  receipt_kind add(const client_update& x);
  gathered_round take(const round_absences& others);

private:
  struct counted_client {
    client_update said; ///< without its values
    client_figure figure;
  };

  federated_options rules_;
  ring_bounds bounds_;
  const_buffer start_;
  std::vector<counted_client> clients_;
  std::vector<ring_sum> groups_;
};

} // namespace troupe
