// Client model: a client's own rows, read as the server says, and the model it trains on them. `client_training` runs one
// order at a time on a thread of its own.

#pragma once

#include "actors/tasks/client_steps.hpp"
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

class client_model {
public:
  /// `reading` and `job_text`: what the server says. `path`, `sets`: the client's rows, and how they are read. Throws
  /// failure: bad_data, missing_input for rows that cannot be read so; mismatch for a job that is none for clients.
  client_model(const std::string& reading, const std::string& job_text, const std::string& path,
               const std::vector<std::string>& sets);

  size_t parameter_count() const { return parameter_count_; }
  size_t row_count() const { return rows_.size(); }
  /// Trains from `start`. Nothing: `stop_requested` ended it.
  std::optional<computed_update> train(const order_name& order, const const_buffer& start,
                                       uint32_t key, const std::function<bool()>& stop_requested);

private:
  std::shared_ptr<const prepared_data> data_;
  std::vector<uint32_t> rows_; ///< their numbers
  size_t parameter_count_ = 0;
  std::unique_ptr<client_steps> steps_;
};

class client_training {
public:
  /// `on_done` is called on the training thread.
  explicit client_training(std::function<void()> on_done) : on_done_(std::move(on_done)) {}
  ~client_training() { cancel(); }

  /// Ends what is under way, and begins this.
  void begin(client_model& model, const order_name& order, const const_buffer& start, uint32_t key);
  void cancel();
  /// The order under way.
  const std::optional<order_name>& order() const { return order_; }
  /// Once, when it is done. Throws what training threw.
  std::optional<computed_update> take();

private:
  std::function<void()> on_done_;
  std::optional<order_name> order_;
  std::optional<computed_update> result_;
  std::exception_ptr problem_;
  std::atomic<bool> is_cancelled_ = false, is_done_ = false;
  std::thread thread_;
};

} // namespace troupe
