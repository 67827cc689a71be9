// What a client of a federated run is given by its application: where the server is, its rows, or a training of its own.

#pragma once

#include "coordinators/base/moment.hpp"
#include "data/identity/certificate.hpp"
#include "data/table/dataset.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct client_options {
  std::string server;           ///< "host:port"
  std::string name;             ///< empty: the certificate's, else what the file is called
  std::optional<tls_files> tls; ///< nothing: the connection is plain
  std::string server_name;      ///< that the server's certificate proves; empty: the server's host
  milliseconds patience{3'600'000};            ///< without a server, before it gives up
  std::function<void(const std::string&)> say; ///< of news for people; empty: nobody listens
};

/// How the server has its clients' rows: P parameters of its model, F features.
struct client_table {
  uint64_t parameter_count = 0; ///< P
  dataset form;                 ///< without rows: names of the F features, classes or targets
};

/// Gives the rows once the table's form is known; called on the thread of `run`, again whenever the server has another.
using row_maker = std::function<dataset(const dataset& form)>;

/// What a client with a training of its own is asked.
struct own_order {
  uint64_t round = 0;           ///< from 0 on
  std::span<const float> start; ///< P: the model of the round
  std::function<bool()>
    stop_requested; ///< the result is wanted no more: ask often, from any thread
};

/// What came of it.
struct own_update {
  std::vector<float> values; ///< P: the model after training
  uint64_t rows = 0;         ///< that it was trained on, at least 1: its weight in the round
  double loss = 0;           ///< mean over the rows
  uint64_t correct = 0;      ///< right rows, of classes
};

/// Called on a thread of its own, for one order at a time.
using own_training = std::function<own_update(const own_order&)>;

} // namespace troupe
