// Whose rows they are: the training rows dealt out to the clients of a federated run. A function of
// the rows' labels, the seed and the options alone, the same on every machine.
//
//   iid            rows in random order, clients' numbers of rows differ by one at most
//   labels k       rows sorted by class are cut into k shards a client of (nearly) one size, and each
//                  client gets k of them at random: it sees about k classes (McMahan et al. 2017)
//   dirichlet a    each class is cut among the clients by proportions from Dirichlet(a, .., a): few
//                  classes and very different numbers of rows for a small a (Yurochkin et al. 2019)
//   sizes s        rows in random order, numbers of rows proportional to e^(s z), z normal
//
// Every row belongs to exactly one client and every client has a row: one that would have none gets
// one of whoever has most. Rows that are held out are dealt out by the same draws, so that a client's are
// of the classes, and as many in proportion, as those it trains on; there some have none.

#pragma once

#include "data/table/dataset.hpp"
#include "models/training/client_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// `labels` are the classes of the rows, from 0; empty when they have none, for iid and sizes alone.
/// Throws std::invalid_argument when there are fewer rows than clients (or shards), for classes that
/// are missing, and for options out of range.
client_rows partition_rows(const partition_options& options, size_t row_count,
                           std::span<const int32_t> labels);

/// The same of a data set, whose rows may say themselves whose they are.
client_rows clients_of(const partition_options& options, const dataset& rows);

/// Rows that say whose they are: `owners` (N) are clients' numbers in the data. Who has none of these
/// rows is left out, the others are clients 0, 1, .. in order of their numbers.
client_rows rows_of_owners(std::span<const uint32_t> owners);

/// How many clients that are.
size_t owner_count(std::span<const uint32_t> owners);

} // namespace troupe
