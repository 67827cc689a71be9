// The command with kinds of an application's own, for own_kinds_test.py: a model, an optimizer, a loss, an activation, a
// schedule, a merge rule, rules of results. "verify" as the only argument holds them against their contract. The environment makes others of them:
// TROUPE_TEST_KIND_VERSION (1), and TROUPE_TEST_KIND_CHANGED for other arithmetic under the same version.

#include "app/commands/run_command.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/kinds/optimizer_kinds.hpp"
#include "models/verify/verify.hpp"
#include "tests/support/wave.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace {

using namespace troupe;

struct drag_options {
  double share = 0.9;
};

// m' = share m + g;  p' = p - a m'
class drag : public optimizer {
public:
  drag(const drag_options& x, const optimizer_options& common)
    : optimizer(common),
      share_(static_cast<float>(x.share)),
      factor_(std::getenv("TROUPE_TEST_KIND_CHANGED") ? 1.000001f : 1) {}

  size_t slot_count() const override { return 1; }

  void update(const update_step& step, const update_piece& x,
              const optimizer_state& state) const override {
    float* m = state.slot(0).data() + x.offset;
    for (size_t i = 0; i < x.count; ++i) {
      m[i] = share_ * m[i] + step.gradient_factor * x.gradient_sum[i];
      x.next[i] = x.parameters[i] - factor_ * step.learning_rate * m[i];
    }
  }

private:
  float share_, factor_;
};

// The library's once more: squared, relu, step by halves, median of an odd number, patience.

struct power_options {
  double power = 2;
};

own_loss power(const power_options& x) {
  if (x.power != 1 && x.power != 2)
    throw std::invalid_argument("the power is 1 or 2");
  return {each_score([n = x.power, changed = std::getenv("TROUPE_TEST_LOSS_CHANGED") !=
                                             nullptr](double score, double target) {
    const double e = score - target;
    if (n == 2)
      return loss_value{e * e, changed ? 2.0001 * e : 2 * e};
    const double size = e < 0 ? -e : e;
    return loss_value{size, e > 0 ? 1.0 : e < 0 ? -1.0 : 0.0};
  })};
}

struct halves_options {
  size_t every = 10;
};

own_schedule halves(const halves_options& x) {
  return {[every = x.every](uint64_t step, uint64_t) {
    return std::ldexp(1.0, -static_cast<int>(step / every));
  }};
}

void middle(std::span<const merged_part> parts, std::span<const float> main, std::span<float> out) {
  if (main.size() != out.size())
    throw std::invalid_argument("the main model is not there");
  std::vector<float> values(parts.size());
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < parts.size(); ++k)
      values[k] = parts[k].values[i];
    std::ranges::sort(values);
    out[i] = values[values.size() / 2];
  }
}

struct count_options {
  size_t count = 2;
};

own_result_rule rises(const count_options& x) {
  return {[count = x.count](std::span<const seen_result> seen) {
    const auto least = std::ranges::min_element(seen, {}, &seen_result::figure);
    return static_cast<size_t>(seen.end() - least) > count;
  }};
}

own_result_rule each(const count_options& x) {
  return {[count = x.count](std::span<const seen_result> seen) { return seen.size() == count; }};
}

void add_values(uint32_t version) {
  losses().add<power_options>("power", {version, "of the error"},
                              {option("power", &power_options::power, within(1, 2), "1 or 2")},
                              &power);
  activations().add("hinge", {version, "max(x, 0)"},
                    {each_value([](float x) { return x <= 0 ? 0.0f : x; },
                                [](float x) { return x > 0 ? 1.0f : 0.0f; }),
                     true});
  schedules().add<halves_options>("halves", {1, "half, and half again"},
                                  {option("every", &halves_options::every, at_least(1), "steps")},
                                  &halves);
  merge_rules().add("middle", {1, "the middle one"}, {&middle, 3});
  const auto count = option("count", &count_options::count, at_least(1), "evaluations");
  result_rules().add<count_options>("rises", {1, "no less for so long"}, {count}, &rises);
  result_rules().add<count_options>("each", {1, "after so many"}, {count}, &each);
}

template <class Table, class Check>
void verify_all(std::vector<finding>& found, Table& table, Check check) {
  for (const auto value : table.values())
    if (is_added(value))
      for (auto& one : check(table.made(value)))
        found.push_back(one);
}

int verify() {
  const auto mine =
    make_own_model({"wave", {{"harmonics", int64_t{3}}}}, {1, 1, loss_kind::squared});
  optimizer_options options;
  options.own.kind = "drag";
  auto found = verify_model(*mine);
  for (auto& one : verify_optimizer(*make_own_optimizer(options)))
    found.push_back(one);
  verify_all(found, losses(), [](const own_loss& x) { return verify_loss(x); });
  verify_all(found, activations(), [](const own_activation& x) { return verify_activation(x); });
  verify_all(found, schedules(), [](const own_schedule& x) { return verify_schedule(x); });
  verify_all(found, merge_rules(), [](const own_merge& x) { return verify_merge(x); });
  verify_all(found, result_rules(), [](const own_result_rule& x) { return verify_result_rule(x); });
  std::fputs(findings_text(found).c_str(), stdout);
  return found.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  const char* text = std::getenv("TROUPE_TEST_KIND_VERSION");
  const auto version = text ? static_cast<uint32_t>(std::atoi(text)) : 1;
  add_wave(version);
  add_values(version);
  optimizers().add<drag_options>(
    "drag", {1, "momentum"},
    {option("share", &drag_options::share, from_to_below(0, 1), "of m that a step keeps")},
    [](const auto& x, const auto& common) { return std::make_unique<drag>(x, common); });
  if (argc == 2 && std::string_view{argv[1]} == "verify")
    return verify();
  return run_command(argc, argv);
}
