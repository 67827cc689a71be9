#include "app/client/client_model.hpp"

#include "actors/run/job_data.hpp"
#include "app/job/job_file.hpp"
#include "app/toml/parse_toml.hpp"
#include "coordinators/job/client_job.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/rounding.hpp"
#include "models/optimizers/optimizer.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace troupe {

namespace {

/// Of a client: a server takes no more (actors/net/clients/round_sums.cpp).
constexpr uint64_t rows_max = 1'000'000'000;

constexpr const char* server_job = "the server's job";

/// What a client may say of its file. Other keys would train other rows than a replay knows of.
constexpr std::array<std::string_view, 10> own_keys{
  "data.format",  "data.target",  "data.header",     "data.separator",  "data.quote",
  "data.decimal", "data.comment", "data.skip_lines", "data.index_base", "data.labels_file"};

job job_of(const std::string& text, const client_source& rows) {
  auto parsed = parse_toml(text);
  if (const auto* problem = std::get_if<toml_problem>(&parsed))
    throw failure(failure_code::mismatch, problem->why, server_job);
  job_draft draft;
  draft.read_sections(std::get<toml_value::table>(parsed), server_job);
  for (const auto& [key, place] : draft.places.by_key)
    if (find_job_key(key) && !is_client_key(key))
      throw failure(failure_code::mismatch, "it says " + key + ", which is no server's to say",
                    server_job);
  if (!draft.errors.empty())
    throw failure(failure_code::mismatch, draft.errors.front().why, server_job,
                  "the server's program may be newer than this one");
  draft.value.data.file = rows.path;
  for (const auto& set : rows.sets)
    if (std::ranges::find(own_keys, set.substr(0, set.find('='))) == own_keys.end())
      throw failure(
        failure_code::usage,
        "a client says how its file is written, and nothing else: data.format, target, "
        "header, separator, quote, decimal, comment, skip_lines, index_base, labels_file",
        "--set " + set, "ask whoever runs the server for the rest");
  draft.apply_sets(rows.sets);
  if (!draft.errors.empty())
    throw job_errors{draft.errors};
  return draft.value;
}

} // namespace

client_model::client_model(const std::string& reading, const std::string& job_text,
                           const client_source& rows) {
  const auto wanted = job_of(job_text, rows);
  data_ =
    rows.make ? load_client_rows(wanted, reading, rows.make) : load_client_rows(wanted, reading);
  const auto shape = shape_of(*data_);
  const auto resolved = resolve(wanted, shape, 1);
  const std::shared_ptr<const model> network = make_model(resolved, shape);
  parameter_count_ = network->layout().size();
  rows_.resize(data_->train.row_count);
  std::iota(rows_.begin(), rows_.end(), 0u);
  steps_ = std::make_unique<client_steps>(
    client_steps_options{rows_of(data_).train,
                         {network, make_optimizer(resolved.optimizer),
                          changes_of(resolved, *network), resolved.federated.proximal},
                         federated_options_of(resolved).cohort.schedule,
                         resolved.seed});
}

std::optional<computed_update> client_model::train(const order_name& order,
                                                   const const_buffer& start, uint32_t key,
                                                   const std::function<bool()>& stop_requested) {
  const default_rounding rounding;
  const auto size = parameter_count_;
  steps_->begin(order.round, start.values(), {buffer{size}, buffer{size}, buffer{size}});
  const bool is_whole = steps_->train(rows_, key, stop_requested);
  if (!is_whole && stop_requested())
    return std::nullopt; // else a value is not finite, which the server sees
  const auto& sums = steps_->sums();
  computed_update result;
  result.order = order;
  result.rows = rows_.size();
  result.loss = sums.loss_sum / static_cast<double>(sums.sample_count);
  result.correct = sums.correct_count;
  result.values = steps_->parameters();
  result.digest = sha256_hex(std::as_bytes(result.values.values()));
  steps_->let_go();
  return result;
}

client_computation own_computation(const own_training& train, size_t parameter_count) {
  return [=](const order_name& order, const const_buffer& start,
             const std::function<bool()>& stop_requested) -> std::optional<computed_update> {
    const auto own = train({order.round, start.values(), stop_requested});
    if (stop_requested())
      return std::nullopt;
    if (own.values.size() != parameter_count || own.rows == 0 || own.rows > rows_max)
      throw failure(failure_code::usage,
                    "the client's own training gave " + std::to_string(own.values.size()) +
                      " values after " + std::to_string(own.rows) + " rows",
                    {},
                    "give " + std::to_string(parameter_count) +
                      " values, as many as there are parameters, and the number of rows, 1 to " +
                      std::to_string(rows_max));
    buffer values{parameter_count};
    copy_values(own.values, values.values().begin());
    const const_buffer kept{std::move(values)};
    return computed_update{
      order, own.rows, own.loss, own.correct, sha256_hex(std::as_bytes(kept.values())), kept};
  };
}

void client_training::begin(const client_computation& compute, const order_name& order,
                            const const_buffer& start) {
  order_ = order;
  if (thread_.joinable()) {
    is_cancelled_ = true;
    next_ = [=, this] { launch(compute, start); };
  } else {
    launch(compute, start);
  }
}

void client_training::launch(const client_computation& compute, const const_buffer& start) {
  is_cancelled_ = is_done_ = false;
  thread_ = std::thread{[this, compute, order = *order_, start] {
    try {
      result_ = compute(order, start, [this] { return is_cancelled_.load(); });
    } catch (...) {
      problem_ = std::current_exception();
    }
    is_done_ = true;
    on_done_();
  }};
}

void client_training::cancel() {
  next_ = {};
  is_cancelled_ = true;
  if (thread_.joinable())
    thread_.join();
  order_.reset();
  result_.reset();
  problem_ = {};
  is_done_ = false;
}

std::optional<computed_update> client_training::take() {
  if (!is_done_)
    return std::nullopt;
  is_done_ = false;
  thread_.join();
  if (const auto next = std::exchange(next_, {})) { // what comes of the earlier order is for nobody
    result_.reset();
    problem_ = {};
    next();
    return std::nullopt;
  }
  order_.reset();
  if (problem_)
    std::rethrow_exception(std::exchange(problem_, {}));
  return std::exchange(result_, {});
}

} // namespace troupe
