// Clients of a federated run: which training rows each has, and how rows are dealt out
// (data/training_rows/client_partition.hpp).

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// The rows of clients: 4 bytes a row and 4 a client.
struct client_rows {
  std::vector<uint32_t> rows;    ///< of client 0, then of client 1, ..
  std::vector<uint32_t> offsets; ///< C + 1: where in `rows` each begins, and the end

  size_t client_count() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  uint32_t row_count(size_t client) const { return offsets[client + 1] - offsets[client]; }
  std::span<const uint32_t> of(size_t client) const {
    return std::span{rows}.subspan(offsets[client], row_count(client));
  }

  friend bool operator==(const client_rows&, const client_rows&) = default;
};

/// The last two are natural: a cell or the file of a row names its client.
enum class partition_kind : uint8_t { iid, labels, dirichlet, sizes, column, files };

constexpr bool is_natural(partition_kind kind) {
  return kind == partition_kind::column || kind == partition_kind::files;
}

template <>
struct name_table<partition_kind> {
  static constexpr std::array entries{named(partition_kind::iid, "iid"),
                                      named(partition_kind::labels, "labels"),
                                      named(partition_kind::dirichlet, "dirichlet"),
                                      named(partition_kind::sizes, "sizes"),
                                      named(partition_kind::column, "column"),
                                      named(partition_kind::files, "files")};
};

struct partition_options {
  uint64_t seed = 0;
  size_t client_count = 1; ///< C, 1 to the number of rows
  partition_kind kind = partition_kind::iid;
  size_t labels = 2; ///< k >= 1: shards of a client; C k at most the number of rows
  double spread = 1; ///< dirichlet: a > 0; sizes: s >= 0
  /// Rows that no client trains on, to judge the clients' model by: there may be fewer than clients.
  bool held_out = false;
};

} // namespace troupe
