#include "coordinators/job/memory_need.hpp"

#include "coordinators/job/training_modes.hpp"
#include "models/base/saturating.hpp"
#include "models/network/chained_model.hpp"
#include "models/optimizers/optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

/// Updates of clients that a server receives at a time (coordinators/clients/round_server.hpp).
constexpr uint64_t uploads_of_clients = 16;

/// Rows that a replica computes on at a time. Where clients compute it only evaluates, by chunks.
uint64_t rows_at_once(const job& resolved) {
  const auto rows = resolved.training.batch_size / *resolved.training.slices + 1;
  return resolved.federated.has_port() ? std::min<uint64_t>(rows, evaluation_chunk_rows) : rows;
}

/// For each output of a layer: what it is, what the next layer reads, and a derivative.
constexpr uint64_t floats_of_output = 3;

struct network_size {
  uint64_t parameters = 0;
  uint64_t outputs = 0; ///< of all layers, for one row
};

network_size size_of(const job& resolved, const data_shape& shape) {
  const auto& model = resolved.model;
  if (model.own.is_set())
    try {
      const auto made = make_model(resolved, shape);
      const auto* known = dynamic_cast<const chained_model*>(made.get());
      if (!known) // what it keeps of rows nobody but itself knows
        return {made->layout().size(), shape.output_count};
      const auto& chain = known->chain();
      const auto of_row =
        chain.memory_floats({0, chain.size()}, 2, 2) - chain.memory_floats({0, chain.size()}, 1, 1);
      return {made->layout().size(), of_row / floats_of_output};
    } catch (const std::invalid_argument&) {
      return {}; // problems_with_data says why there is none
    }
  auto layers = model.kind == model_kind::neural_network ? model.hidden : std::vector<size_t>{};
  layers.push_back(is_binary(*model.loss) ? 1 : shape.output_count);
  network_size result;
  uint64_t inputs = shape.feature_count;
  for (const uint64_t outputs : layers) {
    const auto weights = saturated_product(saturated_sum(inputs, model.bias ? 1 : 0), outputs);
    result.parameters = saturated_sum(result.parameters, weights);
    result.outputs = saturated_sum(result.outputs, outputs);
    inputs = outputs;
  }
  return result;
}

uint64_t floats(uint64_t count) {
  return saturated_product(count, sizeof(float));
}

/// What people may do about it: where, and how.
struct remedy {
  const char* key;
  const char* hint;
};

remedy remedy_of(memory_cause cause) {
  switch (cause) {
  case memory_cause::activations:
    return {"training.batch_size", "use a smaller training.batch_size or more training.slices, or "
                                   "share the model by parallel.tensor or parallel.pipeline"};
  case memory_cause::boundaries:
  case memory_cause::kept:
    return {"training.batch_size",
            "use a smaller training.batch_size, or fewer processes for each group"};
  case memory_cause::checkpoints:
    return {"checkpoint.every_steps", "give shards to more processes, or write no checkpoints"};
  case memory_cause::copies:
    return {"recovery.copies", "give shards to more processes, or keep no copies (0)"};
  case memory_cause::data:
    return {"data", "use fewer rows, or a machine with more memory"};
  case memory_cause::process:
    return {"runtime.threads", "use fewer threads, or a machine with more memory"};
  default:
    return {"model.hidden", "share the model among more processes by parallel.tensor or "
                            "parallel.pipeline, or use fewer units"};
  }
}

std::string limit_text(const memory_limit& x) {
  const auto bytes = bytes_text(x.bytes);
  switch (x.kind) {
  case memory_limit_kind::machine:
    return bytes + " are available";
  case memory_limit_kind::group:
    return bytes + " are left to its control group";
  case memory_limit_kind::address_space:
    return bytes + " are left of its address space (ulimit -v)";
  case memory_limit_kind::stated:
    break;
  }
  return "node.memory says " + bytes;
}

std::string text_of(const memory_need& need, memory_cause cause, bool is_all) {
  return fmt::format("about {} of memory{}, most of it, {}, for {}",
                     bytes_text(is_all ? need.sum() : need.to_come()),
                     is_all ? "" : " beside the data", bytes_text(need.of(cause)), name_of(cause));
}

} // namespace

void memory_need::add(memory_cause cause, uint64_t more) {
  auto& own = bytes[static_cast<size_t>(cause)];
  own = saturated_sum(own, more);
}

uint64_t memory_need::sum() const {
  uint64_t result = 0;
  for (const auto one : bytes)
    result = saturated_sum(result, one);
  return result;
}

uint64_t memory_need::to_come() const {
  return sum() - of(memory_cause::data) - of(memory_cause::process);
}

memory_cause memory_need::largest() const {
  const auto end = bytes.begin() + static_cast<size_t>(memory_cause::data);
  return static_cast<memory_cause>(std::max_element(bytes.begin(), end) - bytes.begin());
}

std::optional<job_problem> memory_problem(const memory_need& need, const memory_limit& limit,
                                          const std::string& who) {
  const bool is_stated = limit.kind == memory_limit_kind::stated;
  if ((is_stated ? need.sum() : need.to_come()) <= limit.bytes)
    return std::nullopt;
  auto cause = need.largest();
  if (is_stated && need.of(memory_cause::data) > need.of(cause))
    cause = memory_cause::data;
  const auto [key, hint] = remedy_of(cause);
  return job_problem{key, who + ' ' + text_of(need, cause, is_stated) + "; " + limit_text(limit),
                     hint};
}

std::string need_text(const memory_need& need) {
  return text_of(need, need.largest(), false);
}

std::string remedy_for(const memory_need& need) {
  return remedy_of(need.largest()).hint;
}

namespace {

/// Of what a parameter server remembers: two that may be asked for, and one in the making.
constexpr uint64_t checkpoint_copies = 3;

} // namespace

memory_need need_of_whole_models(const job& resolved, const data_shape& shape, size_t replica_count,
                                 const owned_part& own) {
  const auto size = size_of(resolved, shape);
  const auto& training = resolved.training;
  const auto slots = optimizer_value_count(resolved.optimizer);
  const auto of_whole = [&](uint64_t count) {
    return floats(saturated_product(count, size.parameters));
  };
  const auto of_models = [&](uint64_t count) { // of the part that it owns
    const auto owners = std::max<uint64_t>(own.owner_count, 1);
    return floats(saturated_product(count, (size.parameters + owners - 1) / owners));
  };
  memory_need result;
  if (replica_count > 0 || own.owner_count <= 1) {
    // Tasks of asynchronous training begin with different versions.
    const bool is_apart = training.consistency != consistency_kind::synchronous;
    result.add(memory_cause::parameters,
               of_whole(is_apart ? std::max<uint64_t>(replica_count + 1, 2) : 2));
    result.add(memory_cause::gradients, of_whole(replica_count + 1));
  }
  if (own.owner_count > 1)
    result.add(memory_cause::parameters, of_models(3));
  if (own.owner_count > 0) {
    if (has_server(training)) {
      result.add(memory_cause::parameters, of_models(own.other_workers));
      result.add(memory_cause::gradients, of_models(own.other_workers));
    }
    const auto members = training.members.value_or(0);
    if (training.strategy == strategy_kind::federated) { // a sum of 64-bit words for each group
      const auto& federated = resolved.federated;
      const auto groups = federated.groups == 0 ? federated.cohort : federated.groups;
      result.add(memory_cause::parameters, of_models(3 * (groups + replica_count)));
      result.add(memory_cause::data, 4 * shape.train_row_count + 12 * federated.clients);
      if (federated.has_port()) // and updates on their way
        result.add(memory_cause::parameters, of_models(2 * groups + uploads_of_clients));
    }
    result.add(memory_cause::parameters, of_models(members));
    result.add(memory_cause::optimizer, of_models(slots * (members + 1)));
    if (has_server(training) && resolved.checkpoint.are_written())
      result.add(memory_cause::checkpoints,
                 of_models(checkpoint_copies * (1 + server_state_of(resolved).vector_count)));
  }
  const auto slice_rows = rows_at_once(resolved);
  result.add(memory_cause::activations,
             floats(saturated_product(floats_of_output * replica_count,
                                      saturated_product(slice_rows, size.outputs))));
  if (scope_of(resolved.optimizer.kind) == optimizer_scope::solver)
    result.add(
      memory_cause::optimizer,
      saturated_product(sizeof(double), saturated_product(size.parameters, size.parameters)));
  result.add(memory_cause::data, bytes_of_rows(shape));
  result.add(memory_cause::process, program_bytes);
  return result;
}

uint64_t bytes_of_rows(const data_shape& shape) {
  const auto outputs = (shape.classification ? 1 : shape.output_count) + (shape.weighted ? 1 : 0);
  if (shape.sparse) { // features and values; where rows begin
    const auto rows = shape.train_row_count + shape.test_row_count + shape.validation_row_count;
    return saturated_sum(
      saturated_product(8, shape.entry_count),
      saturated_sum(saturated_product(8, rows), floats(saturated_product(rows, outputs))));
  }
  // Of rows in a file two windows of each lane are in memory.
  const auto row_bytes = std::max<uint64_t>(shape.feature_count * sizeof(float), 1);
  const auto train =
    shape.stays_in_file
      ? std::min<uint64_t>(shape.train_row_count, 2 * window_bytes_by_default / row_bytes)
      : shape.train_row_count;
  const auto rows = train + shape.test_row_count + shape.validation_row_count;
  const auto words = shape.feature_count + outputs;
  return floats(saturated_product(rows, words));
}

uint64_t parameter_count_of(const job& resolved, const data_shape& shape) {
  return size_of(resolved, shape).parameters;
}

std::optional<memory_need> beyond_counting(const job& resolved, const data_shape& shape) {
  const auto size = size_of(resolved, shape);
  const auto rows = rows_at_once(resolved);
  memory_need least;
  least.add(memory_cause::parameters, floats(saturated_product(3, size.parameters)));
  least.add(memory_cause::activations, floats(saturated_product(rows, size.outputs)));
  return least.sum() > countable_bytes ? std::optional{least} : std::nullopt;
}

uint64_t optimizer_value_count(const optimizer_options& x) {
  if (x.kind == optimizer_kind::lbfgs)
    return 2 * x.history_size + 4; // moves, their changes of gradient, the point
  return scope_of(x.kind) == optimizer_scope::element_wise ? make_optimizer(x)->slot_count() : 1;
}

std::string bytes_text(uint64_t bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit)
    value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit > 0 && value < 9.95 ? 1 : 0, units[unit]);
}

} // namespace troupe
