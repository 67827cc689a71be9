#include "tests/simulation/oracle.hpp"

#include "coordinators/job/stop_rule.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace troupe::simulation {

namespace {

constexpr size_t violations_max = 5;

/// A stop names a version that somebody has begun; nobody passes the horizon meanwhile, which is at
/// most one epoch or checkpoint away.
constexpr uint64_t stop_delay_steps_max = 8;

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// A row without what clocks say.
history_row timeless(history_row row) {
  row.seconds = 0;
  return row;
}

std::string in_words(const history_row& row) {
  return "epoch " + std::to_string(row.epoch) + ", steps " + std::to_string(row.steps) +
         ", train loss " + std::to_string(row.train_loss.value_or(0)) + ", test loss " +
         (row.test_loss ? std::to_string(*row.test_loss) : "-") + ", validation loss " +
         (row.validation_loss ? std::to_string(*row.validation_loss) : "-");
}

} // namespace

oracle::oracle(const timeline& plan, size_t parameter_count, const twin* reference,
               agreement with_twin, uint64_t checkpoint_every)
  : plan_(plan), reference_(reference), with_twin_(with_twin), checkpoint_every_(checkpoint_every) {
  if (!reference)
    seen_.versions.assign(
      plan.last_version() + 1,
      std::vector<float>(parameter_count, std::numeric_limits<float>::quiet_NaN()));
}

void oracle::report(const std::string& what) {
  if (violations_.size() < violations_max)
    violations_.push_back(what);
}

void oracle::on_applied(const applied_step& x) {
  ++steps_applied_;
  highest_version_ = std::max(highest_version_, x.step + 1);
  highest_of_[x.term] = std::max(highest_of_[x.term], x.step + 1);
  check_order(x);
  check_coverage(x);
  if (!std::ranges::all_of(x.parameters, [](float value) { return std::isfinite(value); }))
    report("step " + std::to_string(x.step) + " led to a parameter that is not finite");
  if (!reference_) {
    std::ranges::copy(x.parameters, seen_.versions.at(x.step + 1).begin() +
                                      static_cast<std::ptrdiff_t>(x.elements.begin));
    return;
  }
  check_parameters(x.step + 1, x.elements.begin, x.parameters, "a shard");
}

void oracle::check_order(const applied_step& x) {
  const auto key = std::pair{x.term, x.elements.begin};
  const auto known = next_step_.find(key);
  uint64_t expected = 0;
  if (known != next_step_.end())
    expected = known->second;
  else if (const auto view = views_.lower_bound({x.term, 0});
           view != views_.end() && view->first.term == x.term)
    expected = view->second.start_version;
  if (x.step != expected)
    report("in term " + std::to_string(x.term) + " the span at element " +
           std::to_string(x.elements.begin) + " applied step " + std::to_string(x.step) +
           " instead of " + std::to_string(expected));
  next_step_[key] = x.step + 1;
}

void oracle::check_coverage(const applied_step& x) {
  for (size_t slice = 0; slice < plan_.slice_count; ++slice) {
    const auto times = std::ranges::count_if(
      x.nodes, [&](const tree_node& node) { return node.begin <= slice && slice < node.end; });
    if (plan_.slice_exists(x.step, slice) && times != 1)
      report("slice " + std::to_string(slice) + " went into step " + std::to_string(x.step) + " " +
             std::to_string(times) + " times");
  }
  size_t sample_count = 0;
  for (size_t slice = 0; slice < plan_.slice_count; ++slice)
    sample_count += plan_.rows_of_slice(x.step, slice).size();
  if (x.sample_count != sample_count)
    report("step " + std::to_string(x.step) + " counted " + std::to_string(x.sample_count) +
           " samples instead of " + std::to_string(sample_count));
}

void oracle::check_parameters(uint64_t version, size_t first, std::span<const float> values,
                              const std::string& whose) {
  const auto& known = reference_->versions;
  if (version >= known.size() || known[version].size() < first + values.size())
    return report(whose + " has a version " + std::to_string(version) + " that the twin never had");
  if (!same_bits(values, std::span{known[version]}.subspan(first, values.size())))
    report(whose + " has a version " + std::to_string(version) +
           " that is not the twin's, at elements from " + std::to_string(first) + " on");
}

void oracle::on_view(const cluster_view& x) {
  const auto [known, is_new] = views_.emplace(x.id, x);
  if (!is_new) {
    if (known->second != x)
      report("there are two views " + std::to_string(x.id.term) + "." +
             std::to_string(x.id.number));
    return;
  }
  if (views_.size() > 1)
    ++view_changes_;
  if (x.id.number == 1 && views_.begin()->first.term != x.id.term)
    ++roll_backs_;
  if (undoes_nothing_ && x.id.number == 1)
    check_nothing_undone(x);
}

// A shard that has not heard of a term yet may go on in the last one.
void oracle::check_nothing_undone(const cluster_view& x) {
  const auto behind = views_.lower_bound({x.id.term, 0});
  if (behind == views_.begin())
    return;
  const auto& before = std::prev(behind)->second;
  const auto highest = std::max(before.start_version, highest_of_[before.id.term]);
  if (x.start_version != highest)
    report("term " + std::to_string(x.id.term) + " begins at version " +
           std::to_string(x.start_version) + " while a shard is at " + std::to_string(highest) +
           ", and nobody was lost");
}

void oracle::on_resumed(const checkpoint& x) {
  if (reference_ &&
      with_twin_ == agreement::every_version) // a parameter server's versions are not seen
    check_parameters(x.version, 0, x.parameters.values(), "the checkpoint that was loaded");
}

void oracle::on_directive(const directive& x) {
  const auto every = checkpoint_every_;
  if (every > 0 && x.rule.version > (highest_version_ / every + 1) * every)
    report("the horizon is at version " + std::to_string(x.rule.version) +
           " while no span is beyond " + std::to_string(highest_version_));
}

void oracle::check_stop(const training_finished& x) {
  if (!stop_asked_at_ || x.version <= *stop_asked_at_ + stop_delay_steps_max || x.is_best)
    return;
  report("a stop asked for at version " + std::to_string(*stop_asked_at_) + " came at version " +
         std::to_string(x.version));
}

void oracle::on_finished(const training_finished& x, const std::vector<float>& parameters) {
  if (!reference_) {
    seen_.finished = x;
    seen_.parameters = parameters;
    return;
  }
  if (with_twin_ == agreement::end)
    check_rows(x);
  else
    check_history(x);
  check_stop(x);
  const bool interrupted = x.reason == static_cast<uint8_t>(stop_reason::interrupt);
  if (!interrupted &&
      (x.version != reference_->finished.version || x.reason != reference_->finished.reason))
    report("training ended at version " + std::to_string(x.version) + " instead of " +
           std::to_string(reference_->finished.version));
  if (with_twin_ == agreement::every_version)
    check_parameters(x.version, 0, parameters, "the result");
  if (parameters.size() != reference_->parameters.size())
    report("the result has " + std::to_string(parameters.size()) + " parameters");
  else if (!interrupted && with_twin_ != agreement::end &&
           !same_bits(parameters, reference_->parameters))
    report("the result is not the twin's");
}

// Their figures depend on who came first; that they are there, and evaluated, does not.
void oracle::check_rows(const training_finished& x) {
  const auto& expected = reference_->finished.history;
  const bool interrupted = x.reason == static_cast<uint8_t>(stop_reason::interrupt);
  if (!interrupted && x.history.size() != expected.size())
    return report("the history has " + std::to_string(x.history.size()) + " rows instead of " +
                  std::to_string(expected.size()));
  for (size_t i = 0; i < x.history.size() && !interrupted; ++i)
    if (x.history[i].steps != expected[i].steps ||
        x.history[i].test_loss.has_value() != expected[i].test_loss.has_value())
      report("the history has " + in_words(x.history[i]) + " instead of " + in_words(expected[i]));
}

// An interrupted run ends with a row that the twin need not have.
void oracle::check_history(const training_finished& x) {
  const bool interrupted = x.reason == static_cast<uint8_t>(stop_reason::interrupt);
  const auto& expected = reference_->finished.history;
  for (size_t i = 0; i < x.history.size(); ++i) {
    const auto& row = x.history[i];
    if (interrupted && i + 1 == x.history.size() && !plan_.is_row(row.steps))
      return;
    if (i >= expected.size())
      return report("the history has a row too many: " + in_words(row));
    if (interrupted && i + 1 == x.history.size())
      return; // it was evaluated because training ended there
    if (timeless(row) != timeless(expected[i]))
      return report("the history has " + in_words(row) + " instead of " + in_words(expected[i]));
  }
  if (!interrupted && x.history.size() < expected.size())
    report("the history lacks " + in_words(expected[x.history.size()]));
}

} // namespace troupe::simulation
