// What of a resolved job does not fit its data (resolve.hpp).

#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/network/chained_model.hpp"
#include "models/segments/segment_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>

namespace troupe {

namespace {

/// ": 'B' 357, 'benign' 1, 'M' 212": the classes found, with their rows; empty when they are
/// unknown.
std::string classes_text(const data_shape& shape) {
  constexpr size_t shown_max = 8;
  std::string result;
  const auto count = std::min(shape.class_names.size(), shape.class_rows.size());
  for (size_t c = 0; c < std::min(count, shown_max); ++c)
    result +=
      (c == 0 ? ": " : ", ") + shape.class_names[c] + ' ' + std::to_string(shape.class_rows[c]);
  return result + (count > shown_max ? ", .." : "");
}

/// A class that is nowhere in training has no balanced weight: its mistakes would count nothing.
void check_balance(const data_shape& shape, std::vector<job_problem>& result) {
  const auto absent = std::ranges::find(shape.class_counts, size_t{0});
  if (absent == shape.class_counts.end())
    return;
  const auto place = static_cast<size_t>(absent - shape.class_counts.begin());
  const auto name =
    place < shape.class_names.size() ? shape.class_names[place] : "number " + std::to_string(place);
  result.push_back(
    {"training.class_weights",
     "class " + name + " has no training rows, so there is no balanced weight for it",
     "leave its rows out, give a list of weights, or keep more rows for training"});
}

void check_classes(const job& x, const data_shape& shape, std::vector<job_problem>& result) {
  const auto loss = *x.model.loss;
  if (is_binary(loss) && shape.output_count != 2)
    result.push_back({"model.loss",
                      std::string{name_of(loss)} + " needs exactly two classes, the data has " +
                        std::to_string(shape.output_count) + classes_text(shape),
                      "use softmax-regression or categorical-cross-entropy; classes that are one "
                      "want one spelling"});
  const auto& weights = x.training.class_weights;
  if (weights.kind == class_weight_kind::balanced)
    check_balance(shape, result);
  if (weights.kind == class_weight_kind::list && weights.values.size() != shape.output_count)
    result.push_back({"training.class_weights",
                      std::to_string(weights.values.size()) + " weights for " +
                        std::to_string(shape.output_count) + " classes",
                      "give one number for each class, in the order of the classes"});
}

void check_numbers(const job& x, const data_shape& shape, std::vector<job_problem>& result) {
  const auto loss = *x.model.loss;
  if (!accepts_target(loss, shape.target_minimum))
    result.push_back({"model.loss",
                      std::string{name_of(loss)} + " needs targets " +
                        std::string{target_demand(loss)} + ", the lowest is " +
                        fmt::format("{:.9g}", shape.target_minimum),
                      "use squared, or another target"});
  if (x.training.class_weights.kind != class_weight_kind::none)
    result.push_back({"training.class_weights", "the targets are numbers, not classes",
                      "leave training.class_weights out"});
}

/// The normal equations are a matrix of doubles: 128 MiB and 32 MiB at these sizes.
constexpr size_t closed_form_features_max = 4096;
constexpr size_t gauss_newton_parameters_max = 2048;

void check_solver(const job& x, const data_shape& shape, std::vector<job_problem>& result) {
  const auto name = std::string{name_of(x.optimizer.kind)};
  if (x.model.loss != loss_kind::squared)
    result.push_back(
      {"model.loss", name + " needs the squared loss", "use another optimizer.kind"});
  const auto refuse_size = [&](const char* what, size_t count, size_t count_max) {
    if (count > count_max)
      result.push_back({"optimizer.kind",
                        name + " is for at most " + std::to_string(count_max) + ' ' + what +
                          ", there are " + std::to_string(count),
                        "use optimizer.kind = \"lbfgs\" with training.batch_size = \"all\""});
  };
  if (x.optimizer.kind == optimizer_kind::closed_form)
    refuse_size("features", shape.feature_count, closed_form_features_max);
  else
    refuse_size("parameters", make_model(x, shape)->layout().size(), gauss_newton_parameters_max);
}

void check_metrics(const job& x, const data_shape& shape, std::vector<job_problem>& result) {
  if (x.training.metrics.empty())
    return;
  if (shape.test_row_count + shape.validation_row_count == 0)
    result.push_back({"training.metrics", "there are no rows to judge",
                      "set data.validation_fraction or data.test_fraction, to 0.25 say"});
  try {
    metrics_of(x, shape);
  } catch (const std::invalid_argument& problem) {
    result.push_back({"training.metrics", problem.what(), "leave it out"});
  }
}

void check_parallel(const job& x, size_t parts, size_t segments, const char* parts_key,
                    std::vector<job_problem>& result) {
  const auto& parallel = x.parallel;
  if (parallel.tensor > parts)
    result.push_back({"parallel.tensor",
                      std::to_string(parallel.tensor) + " replicas for layers that are cut in " +
                        std::to_string(parts),
                      "set " + std::string{parts_key} + " = " + std::to_string(parallel.tensor) +
                        ": another job, with other bits"});
  if (parallel.pipeline > segments)
    result.push_back(
      {"parallel.pipeline",
       std::to_string(parallel.pipeline) + " stages for " + std::to_string(segments) + " segments",
       "use at most " + std::to_string(segments) +
         ": two layers cut by outputs and inputs are one segment"});
  const auto named = std::reduce(parallel.stages.begin(), parallel.stages.end(), size_t{0});
  if (!parallel.stages.empty() && named != segments)
    result.push_back(
      {"parallel.stages",
       "names " + std::to_string(named) + " segments, the model has " + std::to_string(segments),
       "share them all out, or leave it out"});
}

// Rows that say whose they are also say how many clients there are.
void check_natural_clients(const job& x, const data_shape& shape,
                           std::vector<job_problem>& result) {
  if (!is_natural(x.federated.partition))
    return;
  if (shape.client_count == 0)
    result.push_back({"federated.partition", "the rows do not say whose they are",
                      "use \"iid\", or rows that do"});
  else if (x.federated.clients != shape.client_count)
    result.push_back(
      {"federated.clients",
       "the training rows are those of " + std::to_string(shape.client_count) + " clients",
       "leave it out: the rows say how many there are"});
}

/// What a kind's factory has against the data.
void check_own_model(const job& resolved, const data_shape& shape,
                     std::vector<job_problem>& result) {
  try {
    const auto made = make_model(resolved, shape);
    const auto parts = made->chain().part_count();
    check_parallel(resolved, parts, made->chain().size(), "model.parts", result);
    if (parts > 1 &&
        (has_server(resolved.training) || resolved.optimizer.kind == optimizer_kind::adafactor))
      result.push_back(
        {"model.parts",
         "a mode where each replica trains on its own, and adafactor, need layers whole",
         "set model.parts = 1"});
    const auto* const chain = dynamic_cast<const chained_model*>(made.get());
    if (shape.weighted && !chain)
      result.push_back({"data.weight",
                        "nobody knows whether a model of kind '" + resolved.model.own.kind +
                          "' heeds the weights of rows",
                        "leave it out"});
    if (resolved.optimizer.kind == optimizer_kind::lbfgs && chain && chain->is_random())
      result.push_back({"model.layers",
                        "lbfgs needs a loss that is the same at each look, dropout changes it",
                        "leave dropout out, or use another optimizer.kind such as \"adam\""});
  } catch (const std::invalid_argument& problem) {
    result.push_back({"model.kind", resolved.model.own.kind + ": " + problem.what(),
                      "change the model's options, or its data"});
  }
}

} // namespace

std::vector<job_problem> problems_with_data(const job& resolved, const data_shape& shape) {
  std::vector<job_problem> result;
  check_natural_clients(resolved, shape, result);
  const bool classes = is_classification(*resolved.model.loss);
  if (classes != shape.classification)
    result.push_back({"model.loss",
                      std::string{name_of(*resolved.model.loss)} + " needs " +
                        (shape.classification ? "numbers as targets, these are classes"
                                              : "classes as targets, these are numbers"),
                      shape.classification ? "use categorical-cross-entropy" : "use squared"});
  else if (classes)
    check_classes(resolved, shape, result);
  else
    check_numbers(resolved, shape, result);
  if (classes == shape.classification && resolved.model.own.is_set())
    check_own_model(resolved, shape, result);
  if (classes == shape.classification)
    check_metrics(resolved, shape, result);
  if (!resolved.model.own.is_set())
    check_parallel(resolved, *resolved.model.cuts,
                   resolved.model.cut.empty() ? resolved.model.hidden.size() + 1
                                              : segments_of(resolved.model.cut).size(),
                   "model.cuts", result);
  if (scope_of(resolved.optimizer.kind) == optimizer_scope::solver)
    check_solver(resolved, shape, result);
  std::ranges::move(mode_problems_with_data(resolved, shape.train_row_count, shape.classification),
                    std::back_inserter(result));
  if (resolved.federated.evaluate_clients && shape.test_row_count == 0)
    result.push_back({"federated.evaluate_clients", "there are no test rows to judge clients by",
                      "set data.test_fraction, to 0.25 say, or data.test_file"});
  problem_list privacy;
  check_privacy_with_data(privacy, resolved, shape.test_row_count + shape.validation_row_count > 0,
                          shape.sparse);
  std::ranges::move(privacy.found, std::back_inserter(result));
  if (needs_all_rows(resolved.optimizer.kind) &&
      resolved.training.batch_size < shape.train_row_count)
    result.push_back({"optimizer.kind",
                      std::string{name_of(resolved.optimizer.kind)} +
                        " needs the gradient of all rows, not of a batch",
                      "set training.batch_size = \"all\""});
  return result;
}

} // namespace troupe
