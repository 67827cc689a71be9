#include "data/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace troupe {

namespace {

using misfit = std::optional<std::string>;

misfit unless_equal(uint64_t found, uint64_t expected, const std::string& what) {
  if (found == expected)
    return std::nullopt;
  return "it has " + std::to_string(found) + " " + what + ", the job has " +
         std::to_string(expected);
}

misfit unless_at_most(uint64_t found, uint64_t most, const std::string& what) {
  if (found <= most)
    return std::nullopt;
  return what + " is " + std::to_string(found) + ", at most " + std::to_string(most) +
         " is possible";
}

misfit unless_finite(double value, const std::string& what) {
  return std::isfinite(value) ? misfit{} : what + " is not finite";
}

misfit unless_all_finite(const stored_tensor& values, const std::string& what) {
  constexpr size_t step = size_t{1} << 18;
  std::vector<float> some(std::min(step, values.size()));
  for (size_t first = 0; first < values.size(); first += step) {
    const auto part = std::span(some).first(std::min(step, values.size() - first));
    values.read(first, part);
    const auto found = std::ranges::find_if(part, [](float x) { return !std::isfinite(x); });
    if (found != part.end())
      return "value " + std::to_string(first + static_cast<size_t>(found - part.begin())) + " of " +
             what + " is not finite";
  }
  return std::nullopt;
}

template <class... Checks>
misfit first_of(const Checks&... checks) {
  misfit result;
  (void)((result = checks()).has_value() || ...);
  return result;
}

misfit misfit_of_tensors(const checkpoint& x, const checkpoint_expectation& expected) {
  const auto size = expected.parameter_count;
  return first_of(
    [&] { return unless_equal(x.parameters.size(), size, "parameters"); },
    [&] { return unless_equal(x.slots.size(), expected.slot_count, "optimizer slots"); },
    [&]() -> misfit {
      for (const auto& slot : x.slots)
        if (auto found = unless_equal(slot.size(), size, "values in an optimizer slot"))
          return found;
      return std::nullopt;
    },
    [&] {
      return unless_equal(x.optimizer_numbers.size(), expected.number_count, "optimizer numbers");
    },
    [&] {
      return x.best_parameters ? unless_equal(x.best_parameters.size(), size, "best parameters")
                               : std::nullopt;
    },
    [&] { return unless_all_finite(x.parameters, "the parameters"); },
    [&] { return unless_all_finite(x.best_parameters, "the best parameters"); });
}

misfit misfit_of_row(const history_row& row, uint64_t before, uint64_t last, uint64_t per_epoch) {
  const auto name = "the history's row of step " + std::to_string(row.steps);
  if (row.steps <= before)
    return name + " stands behind that of step " + std::to_string(before);
  if (row.steps > last)
    return name + " is beyond its version, " + std::to_string(last);
  if (const auto epoch = (row.steps - 1) / per_epoch + 1; row.epoch != epoch)
    return name + " says epoch " + std::to_string(row.epoch) + ", it was epoch " +
           std::to_string(epoch);
  return unless_finite(row.seconds, name + ": its time");
}

misfit misfit_of_history(const checkpoint& x, uint64_t per_epoch) {
  uint64_t before = 0;
  for (const auto& row : x.history) {
    if (auto found = misfit_of_row(row, before, x.version, per_epoch))
      return found;
    before = row.steps;
  }
  return unless_finite(x.seconds, "its time");
}

// Each step trains a batch at most, and a version is evaluated once at most.
misfit misfit_of_sums(const checkpoint& x, uint64_t batch_size) {
  constexpr auto max = std::numeric_limits<uint64_t>::max();
  const auto samples = x.version > max / batch_size ? max : x.version * batch_size;
  return first_of(
    [&] {
      return unless_at_most(x.metrics.sample_count, samples,
                            "the number of samples in its metrics");
    },
    [&] {
      return unless_at_most(x.metrics.correct_count, x.metrics.sample_count,
                            "the number of right answers in its metrics");
    },
    [&] { return unless_finite(x.metrics.loss_sum, "the loss in its metrics"); },
    [&] { return unless_finite(x.metrics.squared_error_sum, "the squared error in its metrics"); });
}

misfit misfit_of_rule(const stop_rule_memory& rule, const std::string& whose, uint64_t version) {
  return first_of(
    [&] { return unless_at_most(rule.best_version, version, whose + " best version"); },
    [&] { return unless_at_most(rule.waited, version, whose + " wait"); },
    [&]() -> misfit {
      return std::isnan(rule.best_loss) ? misfit{whose + " best loss is no number"} : std::nullopt;
    });
}

misfit misfit_of_reductions(const checkpoint& x) {
  const auto& steps = x.reductions;
  if (std::ranges::adjacent_find(steps, std::greater_equal{}) != steps.end())
    return "the steps from which its rate is lower do not rise";
  return steps.empty() ? std::nullopt
                       : unless_at_most(steps.back(), x.version, "the last reduction of its rate");
}

misfit misfit_of_rules(const checkpoint& x) {
  return first_of([&] { return misfit_of_rule(x.stop, "the stop rule's", x.version); },
                  [&] { return misfit_of_rule(x.plateau, "the plateau rule's", x.version); },
                  [&] { return misfit_of_reductions(x); },
                  [&]() -> misfit {
                    if (!x.best_parameters)
                      return std::nullopt;
                    return std::isnan(x.best_loss)
                             ? misfit{"the best version's loss is no number"}
                             : unless_at_most(x.best_version, x.version, "the best version");
                  });
}

} // namespace

std::optional<std::string> misfit(const checkpoint& x, const checkpoint_expectation& expected) {
  return first_of([&] { return misfit_of_tensors(x, expected); },
                  [&] { return misfit_of_history(x, expected.steps_in_epoch); },
                  [&] { return misfit_of_sums(x, expected.batch_size); },
                  [&] { return misfit_of_rules(x); },
                  [&] {
                    return unless_at_most(x.replicas.size(), checkpoint_replicas_max,
                                          "the number of its replicas");
                  });
}

} // namespace troupe
