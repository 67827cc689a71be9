// Cohort: which clients take part in a round of federated training, and which of them count. A pure
// function of the job and the round: all callers get the same answer, so a task names positions
// alone, and clients that do not count are never computed.
//
//   clients --sampling--> invited --drop-out--> answering --deadline, over-selection--> counted
//                            \--> dropped            \--> late, surplus
//
// Nothing here waits for a clock. A client needs for a round the time (rows it trains on) x (its
// speed). The speeds of clients are e^(spread z), z normal, once for all rounds. A unit is the time
// a client of speed 1 needs for a row. A client that needs more than the deadline is late. Of those
// in time the first K count, by (time, client); with over-selection the others are surplus.
//
// sampling  uniform   K of C clients, each set alike: Fisher & Yates. Clients beyond K
//                     stand in for those that drop out, and do not change the first K
//           poisson   each client with probability K / C on its own
//           size      K clients one after the other, each time with a chance in proportion to rows
//                     (Efraimidis & Spirakis 2006: the K greatest of log(u) / n)

#pragma once

#include "models/base/index_range.hpp"
#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

enum class client_sampling : uint8_t { uniform, poisson, size };

template <>
struct name_table<client_sampling> {
  static constexpr std::array entries{named(client_sampling::uniform, "uniform"),
                                      named(client_sampling::poisson, "poisson"),
                                      named(client_sampling::size, "size")};
};

/// What a client does in a round: whole visits of its rows, or so many steps.
struct client_schedule {
  size_t batch_size = 32; ///< rows of a step, >= 1; its last of a visit may have fewer
  uint64_t epochs = 1;    ///< visits, >= 1
  std::optional<uint64_t> steps = std::nullopt; ///< instead of epochs, >= 1

  uint64_t steps_of_visit(size_t rows) const { return (rows + batch_size - 1) / batch_size; }
  uint64_t steps_of(size_t rows) const { return steps.value_or(epochs * steps_of_visit(rows)); }
  /// Rows it trains on, each as often as it does.
  uint64_t rows_of(size_t rows) const;
  /// Where in the client's order of rows a step's begin and end.
  index_range rows_of_step(size_t rows, uint64_t step) const;

  friend bool operator==(const client_schedule&, const client_schedule&) = default;
};

struct cohort_options {
  uint64_t seed = 0;
  size_t cohort_size = 1; ///< K >= 1, at most the number of clients
  client_sampling sampling = client_sampling::uniform;
  double over_selection = 0; ///< ceil(K (1 + this)) are invited, >= 0; not with poisson
  double drop_out = 0;       ///< chance that an invited client does not answer, [0, 1)
  std::optional<double> deadline = std::nullopt; ///< > 0, in rows of a client of speed 1
  double speed_spread = 0;                       ///< >= 0
  /// Parts that the counted are dealt into at random; 0: each is one of its own.
  size_t group_count = 1;
  client_schedule schedule = {};

  /// Clients that are invited, but with poisson.
  size_t invited_max() const;
  /// Clients that can count at most, out of `client_count`.
  size_t counted_max(size_t client_count) const {
    return sampling == client_sampling::poisson ? client_count : cohort_size;
  }

  friend bool operator==(const cohort_options&, const cohort_options&) = default;
};

/// A client with rows of its own, that dialled in or that a record has.
struct named_client {
  std::string name;
  uint64_t rows = 0;
  std::string update{}; ///< SHA-256 of the model that it handed in

  friend bool operator==(const named_client&, const named_client&) = default;
};

struct cohort {
  std::vector<uint32_t> counted; ///< in order of positions: those of a group are neighbours
  size_t invited = 0;
  size_t dropped = 0; ///< never answer
  size_t late = 0;
  size_t surplus = 0; ///< would have come in time, when enough had
  // Of clients that have names.
  bool has_no_draw = false;          ///< of a secret draw: nobody was there to be drawn
  bool is_in_vain = false;           ///< and nobody is waited for any more
  std::vector<std::string> lost{};   ///< that dropped out, or some of them
  std::vector<named_client> named{}; ///< by position
  std::vector<size_t> group_ends{};  ///< positions; none: groups are of nearly one size

  friend bool operator==(const cohort&, const cohort&) = default;
};

/// `offsets`: where in the rows of all each client's begin, and the end (C + 1 numbers, rising).
cohort cohort_of(const cohort_options& options, std::span<const uint32_t> offsets, uint64_t round);

/// The same for clients invited in another way (models/privacy/secret_stream.hpp).
cohort cohort_among(const cohort_options& options, std::span<const uint32_t> offsets,
                    uint64_t round, std::vector<uint32_t> invited);

/// Groups of so many counted clients; some may be empty.
size_t group_count_of(const cohort_options& options, size_t counted);

/// Positions of a group.
index_range group_positions(const cohort& who, size_t group_count, size_t group);

} // namespace troupe
