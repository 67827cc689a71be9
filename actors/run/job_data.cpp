#include "troupe/actors/run/job_data.hpp"

#include "troupe/actors/base/guard.hpp"
#include "troupe/coordinators/job/job_check.hpp"
#include "troupe/coordinators/step/placement.hpp"
#include "troupe/data/formats/read_data.hpp"
#include "troupe/data/source/reading_stop.hpp"
#include "troupe/data/table/memory_room.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/shown_text.hpp"
#include "troupe/data/training_rows/synthetic.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

namespace troupe {

namespace {

void require_no_problems(const std::vector<job_problem>& found) {
  if (found.empty())
    return;
  std::string text;
  for (const auto& problem : found)
    text += (text.empty() ? "" : "\n") + problem.key + ": " + problem.why + "; " + problem.hint;
  throw failure(failure_code::bad_job, text);
}

csv_header header_of(header_kind kind) {
  switch (kind) {
  case header_kind::yes:
    return csv_header::yes;
  case header_kind::no:
    return csv_header::no;
  case header_kind::automatic:
    break;
  }
  return csv_header::automatic;
}

std::optional<file_format> format_of(data_format format) {
  switch (format) {
  case data_format::csv:
    return file_format::csv;
  case data_format::libsvm:
    return file_format::libsvm;
  case data_format::idx:
    return file_format::idx;
  case data_format::npy:
    return file_format::npy;
  case data_format::by_name:
    break;
  }
  return std::nullopt;
}

table read_rows(const data_options& x) {
  return read_data(
    x.file, {format_of(x.format), header_of(x.header), x.target, x.index_base, x.labels_file});
}

/// What the model and its loss want of the target column.
target_use use_of(const model_options& options) {
  if (const auto classes = wants_classes(options))
    return *classes ? target_use::labels : target_use::numbers;
  return target_use::by_content;
}

dataset make_synthetic(const job& x) {
  const synthetic_options options{x.seed,         x.data.rows,    x.data.features,
                                  x.data.classes, x.data.targets, x.data.noise};
  return x.data.synthetic == synthetic_kind::classification ? make_classification(options)
                                                            : make_regression(options);
}

} // namespace

std::shared_ptr<const prepared_data> load_data(const job& x, std::function<bool()> stop_requested) {
  require_no_problems(problems(x));
  const reading_stop stop{std::move(stop_requested)};
  auto source = x.data.synthetic != synthetic_kind::none
                  ? make_synthetic(x)
                  : to_dataset(read_rows(x.data), use_of(x.model));
  reading_stop::check();
  auto result = prepare_data(x, std::move(source));
  reading_stop::check();
  return result;
}

std::shared_ptr<const prepared_data> prepare_data(const job& x, dataset source) {
  return std::make_shared<const prepared_data>(
    prepare(std::move(source),
            {x.seed, x.data.test_fraction, x.data.standardize, x.data.validation_fraction}));
}

data_shape shape_of(const prepared_data& data) {
  const auto& train = data.train;
  data_shape shape;
  shape.train_row_count = train.row_count;
  shape.test_row_count = data.test.row_count;
  shape.validation_row_count = data.validation.row_count;
  shape.feature_count = train.feature_count;
  shape.classification = train.is_classification();
  shape.output_count = shape.classification ? train.classes.size() : train.target_count;
  if (shape.classification) {
    shape.class_counts.resize(train.classes.size());
    for (auto label : train.labels)
      ++shape.class_counts[static_cast<size_t>(label)];
    shape.class_rows = shape.class_counts;
    for (const auto* part : {&data.test, &data.validation})
      for (auto label : part->labels)
        ++shape.class_rows[static_cast<size_t>(label)];
    for (const auto& name : train.classes)
      shape.class_names.push_back(shown_text(name));
    return shape;
  }
  shape.target_minimum = std::numeric_limits<double>::infinity();
  for (const auto* targets : {&train.targets, &data.test.targets, &data.validation.targets})
    for (auto target : *targets)
      shape.target_minimum = std::min(shape.target_minimum, static_cast<double>(target));
  return shape;
}

namespace {

void refuse(const job_problem& found) {
  throw failure(failure_code::bad_job, found.why, found.key, found.hint);
}

} // namespace

void require_trainable(const job& resolved, const prepared_data& data, const run_place& where) {
  const auto shape = shape_of(data);
  const auto left = memory_left();
  const memory_room room{left.machine, left.groups, left.address_space};
  // The model first: what cannot be counted cannot be looked at more closely.
  if (const auto found = countless_problem(resolved, shape, room))
    refuse(*found);
  if (const auto found = problems_with_data(resolved, shape); !found.empty())
    refuse(found.front());
  if (const auto found =
        memory_problem(memory_plan_of(resolved, shape, {1, where.cluster.nodes}), where, room))
    refuse(*found);
}

size_t threads_of(const job& x, const job& resolved, const data_shape& shape) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return x.runtime.threads.value_or(useful_threads(
    timeline_of(resolved, shape).batch_size * resolved.training.local_steps.value_or(1),
    make_model(resolved, shape)->layout().size(), cores));
}

failure with_plan(const failure& error, const job& resolved, const data_shape& shape,
                  const run_place& where) {
  if (error.code() != failure_code::bad_job ||
      error.reason().find(memory_shortage) == std::string::npos)
    return error;
  const auto plan = memory_plan_of(resolved, shape, {1, where.cluster.nodes});
  const auto& need = plan.at(where.own.value_or(0)).memory;
  return {error.code(), error.reason() + "; the plan counts on " + need_text(need), error.where(),
          remedy_for(need)};
}

double total_squares(const dataset& source) {
  if (source.is_classification() || source.row_count == 0)
    return 0;
  double total = 0;
  for (size_t t = 0; t < source.target_count; ++t) {
    double mean = 0;
    for (size_t i = 0; i < source.row_count; ++i)
      mean += source.targets[i * source.target_count + t];
    mean /= static_cast<double>(source.row_count);
    for (size_t i = 0; i < source.row_count; ++i) {
      const double difference = source.targets[i * source.target_count + t] - mean;
      total += difference * difference;
    }
  }
  return total;
}

} // namespace troupe
