// Federated client: takes part in a run's rounds with rows that stay on this machine. It dials the server, which never
// dials it; learns from the server how rows are read and what to compute; trains when it is invited, and sends its model.
//
//   dial --report--> plan: rows are read --here--> order --train--> ready --send--> update --receipt--> ..
//     ^                                              |
//     +---- the connection is lost: later again -----+        a model that was computed is kept until it was received
//
// What leaves the machine: the client's name, that it is here, its model after a round's steps, with the number of its
// rows, its mean loss and its right rows; a digest of these. Nothing else, and no size depends on the rows.

#pragma once

#include "actors/net/socket/dial.hpp"
#include "coordinators/base/moment.hpp"
#include "data/identity/certificate.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct client_options {
  std::string server; ///< "host:port"
  std::string data;   ///< path of its rows
  /// How the file is written: "data.separator=;". Other keys are the server's to say.
  std::vector<std::string> sets;
  std::string name;             ///< empty: the certificate's, else what the file is called
  std::optional<tls_files> tls; ///< nothing: the connection is plain
  std::string server_name;      ///< that the server's certificate proves; empty: the server's host
  milliseconds patience{3'600'000};            ///< without a server, before it gives up
  std::function<void(const std::string&)> say; ///< of news for people; empty: nobody listens
};

class federated_client {
public:
  /// Throws failure(usage) for a name or an address that is none; what reading certificates throws.
  explicit federated_client(const client_options& options);
  ~federated_client();
  federated_client(const federated_client&) = delete;
  federated_client& operator=(const federated_client&) = delete;

  /// Takes part until the server says that it is over, or `stop` is called. Blocks; training runs on a thread of its own.
  /// Throws failure: with the server's code and reason when it refuses the client or the run failed; unavailable when no
  /// server was there for as long as `patience`; bad_data for rows that are not as the server reads them; mismatch for
  /// another protocol or model.
  void run();

  /// From any thread, and from a handler of a signal: `run` returns soon.
  void stop();

private:
  class conversation;
  std::unique_ptr<conversation> conversation_;
};

} // namespace troupe
