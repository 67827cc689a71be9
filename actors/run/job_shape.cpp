// What a job needs to know of its data: their shape, and whether it can be trained on them.

#include "actors/run/job_data.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/job_check.hpp"
#include "coordinators/job/training_modes.hpp"
#include "coordinators/step/placement.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/shown_text.hpp"
#include "data/training_rows/client_partition.hpp"
#include "models/optimizers/optimizer.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

namespace troupe {

namespace {

/// Adds the rows of parts that are counted here.
void count_rows(const std::vector<const dataset*>& parts, data_shape& shape) {
  for (const auto* part : parts) {
    shape.entry_count += part->sparse.values.size();
    for (const auto label : part->labels)
      ++shape.class_rows[static_cast<size_t>(label)];
    for (const auto target : part->targets)
      shape.target_minimum = std::min(shape.target_minimum, static_cast<double>(target));
  }
}

/// Adds what all holdings have, and of other rows those that came in files of their own.
void count_holdings(const prepared_data& data, data_shape& shape) {
  const auto& all = data.held_facts;
  for (size_t i = 0; i < data.holdings.size(); ++i) {
    shape.held.sizes.push_back(data.holdings[i].size);
    for (const auto& holder : data.holdings[i].holders)
      shape.held.by_process[holder] = i;
  }
  shape.train_row_count = all.size.train;
  shape.entry_count = all.entry_count;
  shape.class_counts.assign(all.train_class_rows.begin(), all.train_class_rows.end());
  shape.class_rows.assign(all.class_rows.begin(), all.class_rows.end());
  shape.target_minimum = all.target_minimum;
  shape.weighted = all.is_weighted;
  std::vector<const dataset*> given;
  if (all.size.test == 0)
    given.push_back(&data.test);
  if (all.size.validation == 0)
    given.push_back(&data.validation);
  count_rows(given, shape);
  shape.test_row_count = std::max(all.size.test, data.test.row_count);
  shape.validation_row_count = std::max(all.size.validation, data.validation.row_count);
}

} // namespace

data_shape shape_of(const prepared_data& data) {
  const auto& train = data.train;
  data_shape shape;
  shape.train_row_count = train.row_count;
  shape.test_row_count = data.test.row_count;
  shape.validation_row_count = data.validation.row_count;
  shape.feature_count = train.feature_count;
  shape.sparse = train.is_sparse();
  shape.classification = train.is_classification();
  shape.output_count = shape.classification ? train.classes.size() : train.target_count;
  shape.chunk_rows = data.chunk_rows;
  shape.stays_in_file = data.stays_in_file();
  shape.client_count = owner_count(train.clients);
  shape.weighted = !train.weights.empty();
  shape.scale = data.scale;
  shape.start = data.start;
  for (const auto& name : train.classes)
    shape.class_names.push_back(shown_text(name));
  shape.class_texts = train.classes;
  shape.target_minimum =
    data.stays_in_file() ? data.facts.target_minimum : std::numeric_limits<double>::infinity();
  if (!data.holdings.empty()) {
    count_holdings(data, shape);
  } else {
    shape.class_counts.resize(train.classes.size());
    for (const auto label : train.labels)
      ++shape.class_counts[static_cast<size_t>(label)];
    if (data.stays_in_file() && shape.classification)
      shape.class_counts = data.facts.train_class_rows;
    shape.class_rows.resize(train.classes.size());
    if (data.stays_in_file() && shape.classification)
      shape.class_rows = shape.class_counts;
    count_rows({&train, &data.test, &data.validation}, shape);
  }
  if (shape.classification)
    shape.target_minimum = 0;
  return shape;
}

namespace {

void refuse(const job_problem& found) {
  throw failure(failure_code::bad_job, found.why, found.key, found.hint);
}

// Subtracts what rows that stay in a file take once training begins: two windows of each lane, and a reader thread.
memory_room beside_windows(memory_room room, const job& resolved, const data_shape& shape) {
  if (!shape.stays_in_file)
    return room;
  const auto rows = std::min<uint64_t>(2 * *resolved.training.slices * window_chunks_of(resolved) *
                                         shape.chunk_rows,
                                       shape.train_row_count);
  const auto windows = rows * (shape.feature_count + shape.output_count) * sizeof(float);
  for (auto* bytes : {&room.machine, &room.groups, &room.address_space})
    *bytes -= std::min(*bytes, windows);
  room.address_space -= std::min(room.address_space, address_bytes_of_stack);
  return room;
}

} // namespace

void require_trainable(const job& resolved, const prepared_data& data, const run_place& where) {
  const auto shape = shape_of(data);
  spare_address_space();
  const auto left = memory_left();
  const auto room =
    beside_windows({left.machine, left.groups, left.address_space}, resolved, shape);
  // The model's size first: the other checks need it.
  if (const auto found = countless_problem(resolved, shape, room))
    refuse(*found);
  if (const auto found = problems_with_data(resolved, shape); !found.empty())
    refuse(found.front());
  if (const auto found = memory_problem(
        memory_plan_of(resolved, shape, {1, where.cluster.nodes, where.cluster.recovery}), where,
        room))
    refuse(*found);
}

size_t threads_of(const job& x, const data_shape& shape) {
  if (x.runtime.threads)
    return *x.runtime.threads;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const auto resolved = resolve(x, shape, cores);
  if (!problems_with_data(resolved, shape).empty()) // `require_trainable` refuses this job later
    return cores;
  step_work work;
  work.batch_rows = is_federated(resolved.training) ? rows_of_round(resolved, shape.train_row_count)
                                                    : timeline_of(resolved, shape).batch_size *
                                                        resolved.training.local_steps.value_or(1);
  work.parameter_count = make_model(resolved, shape)->layout().size();
  const auto replicas = *resolved.training.replicas * resolved.parallel.group_size();
  work.has_one_replica = replicas == 1 && !has_server(resolved.training) &&
                         scope_of(resolved.optimizer.kind) == optimizer_scope::element_wise;
  if (work.has_one_replica)
    work.slot_count = make_optimizer(resolved.optimizer)->slot_count();
  return useful_threads(work, cores);
}

failure with_plan(const failure& error, const job& resolved, const data_shape& shape,
                  const run_place& where) {
  if (error.code() != failure_code::bad_job ||
      error.reason().find(memory_shortage) == std::string::npos)
    return error;
  const auto plan =
    memory_plan_of(resolved, shape, {1, where.cluster.nodes, where.cluster.recovery});
  const auto& need = plan.at(where.own.value_or(0)).memory;
  return {error.code(), error.reason() + "; the plan counts on " + need_text(need), error.where(),
          remedy_for(need)};
}

} // namespace troupe
