// What a client computes for an order: `client_model` trains the server's model on the client's own rows, read as the server
// says; `own_computation` asks the application. `client_training` runs one order at a time on a thread of its own.

#pragma once

#include "actors/tasks/client_steps.hpp"
#include "app/client/client_options.hpp"
#include "coordinators/clients/round_server.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/base/buffer.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

/// What came of an order.
struct computed_update {
  order_name order;
  uint64_t rows = 0;
  double loss = 0;      ///< mean over the rows it trained on
  uint64_t correct = 0; ///< right rows, of classes
  std::string digest;   ///< SHA-256 of the values
  const_buffer values;  ///< P
};

/// Trains from `start`. Nothing: `stop_requested` ended it.
using client_computation = std::function<std::optional<computed_update>(
  const order_name& order, const const_buffer& start, const std::function<bool()>& stop_requested)>;

/// Where a client's rows are.
struct client_source {
  std::string path; ///< of a file; or of rows of the application what messages call them
  std::vector<std::string> sets; ///< how the file is written
  row_maker make;                ///< of rows of the application; empty: they are in the file
};

class client_model {
public:
  /// `reading` and `job_text`: what the server says. Throws failure: bad_data, missing_input for rows that cannot be read
  /// so; mismatch for a job that is none for clients.
  client_model(const std::string& reading, const std::string& job_text, const client_source& rows);

  size_t parameter_count() const { return parameter_count_; }
  size_t row_count() const { return rows_.size(); }
  std::optional<computed_update> train(const order_name& order, const const_buffer& start,
                                       uint32_t key, const std::function<bool()>& stop_requested);

private:
  std::shared_ptr<const prepared_data> data_;
  std::vector<uint32_t> rows_; ///< their numbers
  size_t parameter_count_ = 0;
  std::unique_ptr<client_steps> steps_;
};

/// The training of an application, of a model with so many parameters. Throws failure(usage) for an update of another
/// size, or of no rows; what the training throws.
client_computation own_computation(const own_training& train, size_t parameter_count);

class client_training {
public:
  /// `on_done` is called on the training thread.
  explicit client_training(std::function<void()> on_done) : on_done_(std::move(on_done)) {}
  ~client_training() { cancel(); }

  /// Begins this once what is under way has ended, which is told to.
  void begin(const client_computation& compute, const order_name& order, const const_buffer& start);
  /// Ends what is under way, and waits for it.
  void cancel();
  /// The order under way.
  const std::optional<order_name>& order() const { return order_; }
  /// Once, when it is done. Throws what training threw.
  std::optional<computed_update> take();

private:
  void launch(const client_computation& compute, const const_buffer& start);

  std::function<void()> on_done_;
  std::function<void()> next_; ///< begins it
  std::optional<order_name> order_;
  std::optional<computed_update> result_;
  std::exception_ptr problem_;
  std::atomic<bool> is_cancelled_ = false, is_done_ = false;
  std::thread thread_;
};

} // namespace troupe
