#include "coordinators/modes/online_learner.hpp"

#include "coordinators/step/timeline.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/rounding.hpp"
#include "models/math/tree_accumulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

online_report refusal(online_verdict verdict, uint64_t version, std::string reason) {
  online_report report;
  report.verdict = verdict;
  report.version = version;
  report.reason = std::move(reason);
  return report;
}

} // namespace

const char* name_of(online_verdict verdict) {
  switch (verdict) {
  case online_verdict::applied:
    return "applied";
  case online_verdict::loss_grew:
    return "loss-grew";
  case online_verdict::not_finite:
    return "not-finite";
  case online_verdict::refused_shape:
    return "refused-shape";
  case online_verdict::refused_full:
    return "refused-full";
  case online_verdict::refused_no_model:
    return "refused-no-model";
  }
  return "?";
}

online_learner::online_learner(std::shared_ptr<const model> network,
                               const online_learner_options& options)
  : network_(std::move(network)), options_(options), rule_(make_optimizer(options.optimizer)) {
  if (!network_)
    throw std::invalid_argument("online learner: there is no model");
  if (options.optimizer.plateau.is_on())
    throw std::invalid_argument("online learner: plateau needs evaluations, and there are none");
  if (!(options.loss_growth_max >= 1) || !(options.loss_floor >= 0) || options.queue_max == 0)
    throw std::invalid_argument("online learner: loss_growth_max must be at least 1, loss_floor "
                                "at least 0, queue_max at least 1");
  pool_ = std::make_unique<buffer_pool>(network_->layout().size());
}

void online_learner::set_parameters(std::span<const float> values) {
  if (values.size() != network_->layout().size())
    throw std::invalid_argument("online learner: the model has " +
                                std::to_string(network_->layout().size()) + " parameters, got " +
                                std::to_string(values.size()));
  if (find_not_finite(std::array{values}) == 0)
    throw std::invalid_argument("online learner: a parameter is not finite");
  auto copy = pool_->acquire();
  copy_values(values, copy.values().begin());
  parameters_ = copy;
  state_ = optimizer_state{rule_->slot_count(), values.size()};
  loss_.reset();
  version_ = 0;
}

void online_learner::set_validation(online_rows rows) {
  if (const auto why = misfit(rows); !why.empty())
    throw std::invalid_argument("online learner: the validation rows do not fit: " + why);
  // They would roll every update back.
  if (find_not_finite(std::array{std::span<const float>{rows.features}}) == 0 ||
      find_not_finite(std::array{std::span<const float>{rows.targets}}) == 0)
    throw std::invalid_argument("online learner: a value of the validation rows is not finite");
  validation_ = std::move(rows);
  loss_.reset();
}

// Why rows do not fit the model; empty when they do.
std::string online_learner::misfit(const online_rows& rows) const {
  const auto features = network_->feature_count(), outputs = network_->output_count();
  const auto count = rows.features.size() / features;
  if (count == 0 || count * features != rows.features.size())
    return std::to_string(rows.features.size()) + " feature values are no rows of " +
           std::to_string(features);
  if (!is_classification(network_->loss()))
    return rows.targets.size() == count * outputs && rows.labels.empty()
             ? ""
             : std::to_string(rows.targets.size()) + " targets for " + std::to_string(count) +
                 " rows of " + std::to_string(outputs);
  if (rows.labels.size() != count || !rows.targets.empty())
    return std::to_string(rows.labels.size()) + " labels for " + std::to_string(count) + " rows";
  // A model of two classes may have one output.
  const auto classes = static_cast<int32_t>(std::max<size_t>(outputs, 2));
  for (auto label : rows.labels)
    if (label < 0 || label >= classes)
      return "label " + std::to_string(label) + " is not below " + std::to_string(classes);
  return {};
}

batch online_learner::batch_of(const online_rows& rows) const {
  batch result;
  result.row_count = rows.features.size() / network_->feature_count();
  result.features = rows.features;
  result.labels = rows.labels;
  result.targets = rows.targets;
  return result;
}

std::optional<online_report> online_learner::enqueue(online_rows rows) {
  if (!parameters_)
    return refusal(online_verdict::refused_no_model, version_, "no parameters are set yet");
  if (auto why = misfit(rows); !why.empty())
    return refusal(online_verdict::refused_shape, version_,
                   "the batch does not fit the model: " + why);
  if (queue_.size() == options_.queue_max)
    return refusal(online_verdict::refused_full, version_,
                   std::to_string(queue_.size()) + " batches wait already");
  queue_.push_back({enqueued_count_++, std::move(rows)});
  return std::nullopt;
}

// In the fixed chunks of evaluation, so that a row's part does not depend on how many there are.
double online_learner::validation_loss(std::span<const float> parameters) {
  const auto all = batch_of(*validation_);
  tree_accumulator<batch_sums> sums;
  for (size_t begin = 0; begin < all.row_count; begin += evaluation_chunk_rows) {
    batch part;
    part.row_count = std::min(evaluation_chunk_rows, all.row_count - begin);
    const auto cut = [&](auto values) {
      const auto width = values.size() / all.row_count;
      return values.subspan(begin * width, part.row_count * width);
    };
    part.features = cut(all.features);
    part.labels = cut(all.labels);
    part.targets = cut(all.targets);
    sums.push(network_->evaluate(parameters, part, memory_));
  }
  return sums.total().loss_sum / static_cast<double>(all.row_count);
}

optimizer_state online_learner::copy_of_state() const {
  optimizer_state copy{state_.slot_count(), parameters_.size()};
  for (size_t i = 0; i < state_.slot_count(); ++i)
    copy_values(state_.slot(i), copy.slot(i).begin());
  return copy;
}

std::optional<online_report> online_learner::learn_next() {
  if (queue_.empty())
    return std::nullopt;
  const default_rounding rounding;
  const auto next_batch = std::move(queue_.front());
  queue_.pop_front();
  online_report report;
  report.batch = next_batch.number;
  const auto gradient = pool_->acquire();
  const auto sums =
    network_->gradient(parameters_.values(), batch_of(next_batch.rows), gradient.values(), memory_);
  report.batch_loss = sums.loss_sum / static_cast<double>(sums.sample_count);
  // The rule moves its state as it goes: it is given a copy, which is kept if all went well.
  const auto state = copy_of_state();
  const auto next = pool_->acquire();
  const auto step = rule_->begin_step(version_, sums.sample_count, direction::descent);
  const std::array<std::span<const float>, 1> inputs{gradient.values()};
  if (!std::isfinite(report.batch_loss) || find_not_finite(inputs) == 0) {
    report.verdict = online_verdict::not_finite;
    report.reason = "rolled back: the batch's loss or gradient is not finite";
  } else if (!reducer_.reduce_and_update({{0}}, inputs, *rule_, step, state, parameters_.values(),
                                         next.values())) {
    report.verdict = online_verdict::not_finite;
    report.reason = "rolled back: a new parameter would not be finite";
  }
  return judge(std::move(report), next, state);
}

online_report online_learner::judge(online_report report, const buffer& next,
                                    const optimizer_state& state) {
  if (validation_) {
    if (!loss_)
      loss_ = validation_loss(parameters_.values());
    report.loss_before = *loss_;
  }
  if (report.verdict == online_verdict::applied && validation_) {
    report.loss_after = validation_loss(next.values());
    const auto limit = options_.loss_growth_max * std::max(report.loss_before, options_.loss_floor);
    if (!(report.loss_after <= limit)) {
      report.verdict = online_verdict::loss_grew;
      report.reason =
        "rolled back: the validation loss would go from " +
        fmt::format("{:.6g} to {:.6g}, above {:.6g}", report.loss_before, report.loss_after, limit);
    }
  }
  if (report.verdict == online_verdict::applied) {
    parameters_ = next;
    state_ = state;
    ++version_;
    if (validation_)
      loss_ = report.loss_after;
    report.reason = "applied";
  } else {
    ++rolled_back_count_;
  }
  report.version = version_;
  return report;
}

} // namespace troupe
