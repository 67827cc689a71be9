// Federated client: takes part in a run's rounds with rows that stay on this machine. It dials the server, which never
// dials it; learns from the server how rows are read and what to compute; trains when it is invited, and sends its model.
//
//   dial --report--> plan: rows are read --here--> order --train--> ready --send--> update --receipt--> ..
//     ^                                              |
//     +---- the connection is lost: later again -----+        a model that was computed is kept until it was received
//
// What leaves the machine: the client's name, that it is here, its model after a round's steps, with the number of its
// rows, its mean loss and its right rows; a digest of these. Nothing else, and no size depends on the rows.
//
//   troupe::federated_client client{{.server = "hub:7000", .name = "ward-3"}};
//   client.use_file("ward.csv");                    // or use_rows, or train_by
//   client.run();

#pragma once

#include "app/client/client_options.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe {

class federated_client {
public:
  /// Throws failure(usage) for a name or an address that is none; what reading certificates throws.
  explicit federated_client(const client_options& options);
  ~federated_client();
  federated_client(const federated_client&) = delete;
  federated_client& operator=(const federated_client&) = delete;

  // One of three, before `run`; the last call counts.

  /// The client's rows are in this file. `sets` say how it is written: "data.separator=;". Other keys are the server's to
  /// say.
  void use_file(const std::string& path, std::vector<std::string> sets = {});
  /// The client's rows are the application's: their columns may come in any order, by `feature_names`, and they may lack
  /// classes of the table.
  void use_rows(row_maker make);
  void use_rows(dataset rows);
  /// The application trains, on rows that nobody else knows of: such a run has no replay.
  void train_by(own_training train);

  /// Asks the server how rows are read. Blocks and throws as `run` does. Needs a name, of the options or the certificate.
  client_table table();

  /// Takes part until the server says that it is over, or `stop` is called. Blocks; training runs on a thread of its own.
  /// Throws failure: with the server's code and reason when it refuses the client or the run failed; unavailable when no
  /// server was there for as long as `patience`; bad_data for rows that are not as the server reads them; mismatch for
  /// another protocol or model; usage without rows or training; what the application's functions throw.
  void run();

  /// From any thread, and from a handler of a signal: `run` and `table` return soon, at once if they are yet to begin;
  /// `run` waits for a training of the application's own to return. The table is then empty (P = 0).
  void stop();

private:
  class conversation;
  std::unique_ptr<conversation> conversation_;
};

} // namespace troupe
