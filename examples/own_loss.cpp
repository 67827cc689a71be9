// A loss, an activation, a schedule, a merge rule and a rule that ends training, all of your own, in the troupe command:
//
//   build/bin/example_own_loss train examples/diabetes.toml --set model.loss=quantile --set model.tau=0.9
//
// They take part in every mode, in clusters, checkpoints and model files (docs/open.md).

#include <troupe/command.hpp>

#include <algorithm>
#include <cmath>

namespace {

using namespace troupe;

struct quantile_options {
  double tau = 0.5;
};

// The pinball loss (Koenker & Bassett 1978): its least expectation is at the quantile tau.
own_loss quantile(const quantile_options& x) {
  return {each_score([tau = x.tau](double score, double target) {
    return target > score ? loss_value{tau * (target - score), -tau}
                          : loss_value{(1 - tau) * (score - target), 1 - tau};
  })};
}

struct saw_options {
  size_t period = 100;
};

own_schedule saw(const saw_options& x) {
  return {[period = x.period](uint64_t step, uint64_t) {
    return 1 - 0.9 * static_cast<double>(step % period) / static_cast<double>(period);
  }};
}

// Of each parameter the model that moved it least.
void nearest(std::span<const merged_part> parts, std::span<const float> main,
             std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::ranges::min_element(parts, {}, [&](const merged_part& x) {
               return std::abs(x.values[i] - main[i]);
             })->values[i];
}

struct level_options {
  double below = 1e-4;
  size_t count = 3;
};

// The last results lie within a narrow band.
own_result_rule level(const level_options& x) {
  return {[x](std::span<const seen_result> seen) {
    if (seen.size() < x.count)
      return false;
    const auto [least, most] = std::ranges::minmax(seen.last(x.count), {}, &seen_result::figure);
    return most.figure - least.figure <= x.below;
  }};
}

} // namespace

int main(int argc, char** argv) {
  losses().add<quantile_options>(
    "quantile", {1, "pinball: the quantile tau"},
    {option("tau", &quantile_options::tau, within(0, 1), "share of targets below")}, &quantile);
  activations().add(
    "softsign", {1, "x / (1 + |x|)"},
    {each_value([](float x) { return x / (1 + std::abs(x)); },
                [](float x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); })});
  schedules().add<saw_options>("saw", {1, "falls to a tenth, again and again"},
                               {option("period", &saw_options::period, at_least(1), "steps")},
                               &saw);
  merge_rules().add("nearest", {1, "each parameter of who moved it least"}, {.merge = &nearest});
  result_rules().add<level_options>(
    "level", {1, "the last results are alike"},
    {option("below", &level_options::below, at_least(0), "how far apart they may be"),
     option("count", &level_options::count, at_least(1), "how many")},
    &level);
  return run_command(argc, argv);
}
