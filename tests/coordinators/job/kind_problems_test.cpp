// Jobs with kinds of an application: what is checked, what their identity says, and what their
// processes compare.

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/memory_need.hpp"
#include "coordinators/job/resolve.hpp"
#include "models/kinds/optimizer_kinds.hpp"
#include "tests/support/wave.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::kind_problems_test {
namespace {

const data_shape rows{200, 50, 1, 1, false};

struct slow_options {
  double beta1 = 0.5;
  bool wrong = false;
};

// As sgd does, at a share of the rate.
class slow : public optimizer {
public:
  slow(const slow_options& x, const optimizer_options& common)
    : optimizer(common), share_(static_cast<float>(x.beta1)) {}
  size_t slot_count() const override { return 2; }
  void update(const update_step& step, const update_piece& x,
              const optimizer_state&) const override {
    for (size_t i = 0; i < x.count; ++i)
      x.next[i] =
        x.parameters[i] - share_ * step.learning_rate * step.gradient_factor * x.gradient_sum[i];
  }

private:
  float share_;
};

void add_kinds() {
  static const bool added = [] {
    add_wave(3);
    optimizers().add<slow_options>(
      "slow", {2, ""},
      {option("beta1", &slow_options::beta1, within(0, 1), ""),
       option("wrong", &slow_options::wrong, anything(), "")},
      [](const auto& x, const auto& common) { return std::make_unique<slow>(x, common); });
    return true;
  }();
  (void)added;
}

job own_job() {
  add_kinds();
  job x;
  x.name = "own";
  x.data.file = "wave.csv";
  x.model.own = {"wave", {{"harmonics", int64_t{2}}}};
  x.optimizer.own.kind = "slow";
  return x;
}

std::string keys_of_problems(const std::function<void(job&)>& change) {
  auto x = own_job();
  change(x);
  std::string result;
  for (const auto& problem : problems(x))
    result += (result.empty() ? "" : " ") + problem.key;
  return result;
}

TEST(own_kinds, a_job_of_them_has_no_problems) {
  EXPECT_EQ(keys_of_problems([](job&) {}), "");
  EXPECT_EQ(keys_of_problems([](job& x) { x.optimizer.beta1 = 0.25; }), "");
  EXPECT_EQ(keys_of_problems([](job& x) { x.optimizer.clip_norm = 1; }), "");
}

TEST(own_kinds, what_is_no_option_of_theirs_is_refused_by_key) {
  const std::pair<const char*, std::function<void(job&)>> all[] = {
    {"model.kind", [](job& x) { x.model.own.kind = "ripple"; }},
    {"model.harmonics", [](job& x) { x.model.own.options["harmonics"] = int64_t{0}; }},
    {"model.color", [](job& x) { x.model.own.options["color"] = true; }},
    {"model.harmonics", [](job& x) { x.model.own.kind.clear(); }},
    {"model.hidden", [](job& x) { x.model.hidden = {4}; }},
    {"model.activation", [](job& x) { x.model.activation = activation_kind::tanh; }},
    {"model.bias", [](job& x) { x.model.bias = false; }},
    {"model.initialization", [](job& x) { x.model.initialization = initialization_kind::he; }},
    {"model.initialization_scale", [](job& x) { x.model.initialization_scale = 0.5; }},
    {"parallel.tensor", [](job& x) { x.parallel.tensor = 2; }},
    {"parallel.pipeline", [](job& x) { x.parallel.pipeline = 2; }},
    {"parallel.sharded", [](job& x) { x.parallel.sharded = true; }},
    {"optimizer.kind", [](job& x) { x.optimizer.own.kind = "slower"; }},
    {"optimizer.kind", [](job& x) { x.optimizer.kind = optimizer_kind::adam; }},
    {"optimizer.beta1", [](job& x) { x.optimizer.own.options["beta1"] = 2.0; }},
    {"optimizer.beta2", [](job& x) { x.optimizer.beta2 = 0.5; }},
    {"optimizer.momentum", [](job& x) { x.optimizer.momentum = 0.5; }},
    {"optimizer.history_size", [](job& x) { x.optimizer.history_size = 3; }}};
  for (const auto& [key, change] : all)
    EXPECT_EQ(keys_of_problems(change), key);
}

TEST(own_kinds, solvers_do_not_solve_them) {
  const auto found = keys_of_problems(
    [](job& x) { x.optimizer.own = {}, x.optimizer.kind = optimizer_kind::gauss_newton; });
  EXPECT_EQ(found, "optimizer.kind");
}

TEST(own_kinds, a_resolved_job_has_every_option) {
  auto x = own_job();
  x.optimizer.beta1 = 0.25;
  const auto resolved = resolve(x, rows, 2);
  EXPECT_EQ(resolved.model.own.options.size(), 5u);
  EXPECT_EQ(resolved.model.own.options.at("frequency"), option_value{1.0});
  EXPECT_EQ(resolved.optimizer.own.options.at("beta1"), option_value{0.25});
  EXPECT_EQ(resolved.model.cuts, 1u);
  EXPECT_EQ(resolve(resolved, rows, 2), resolved);
}

TEST(own_kinds, an_identity_has_their_versions_and_options_and_nothing_of_networks) {
  const auto text = identity_text(resolve(own_job(), rows, 2), "0123abcd");
  for (const auto* line :
       {"model.kind = wave 3\n", "model.wave.harmonics = 2\n", "model.wave.shifts = false\n",
        "model.wave.frequency = 3ff0000000000000\n", "model.loss = squared\n",
        "optimizer.kind = slow 2\n", "optimizer.slow.beta1 = 3fe0000000000000\n",
        "optimizer.learning_rate = 3f847ae147ae147b\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  for (const auto* key : {"model.hidden", "model.initialization", "optimizer.momentum"})
    EXPECT_EQ(text.find(key), std::string::npos) << key;
}

TEST(own_kinds, a_whole_number_for_a_double_makes_no_other_job) {
  auto x = own_job(), y = own_job();
  x.model.own.options["frequency"] = int64_t{2};
  y.model.own.options["frequency"] = 2.0;
  EXPECT_EQ(identity_text(resolve(x, rows, 2), ""), identity_text(resolve(y, rows, 2), ""));
}

TEST(own_kinds, processes_compare_what_they_compute) {
  const auto words = [](const job& x) { return kind_words(resolve(x, rows, 2), rows); };
  EXPECT_EQ(words({}), "");
  auto x = own_job();
  const auto first = words(x);
  EXPECT_EQ(first.find("model wave 3 = "), 0u);
  EXPECT_NE(first.find("\noptimizer slow 2 = "), std::string::npos);
  EXPECT_EQ(words(x), first);
  x.optimizer.own.options["beta1"] = 0.75;
  EXPECT_EQ(words(x).substr(0, 31), first.substr(0, 31));
  EXPECT_NE(words(x), first);
  x = own_job();
  x.model.own.options["harmonics"] = int64_t{3};
  EXPECT_NE(words(x).substr(0, 31), first.substr(0, 31));
}

TEST(own_kinds, their_parameters_count) {
  EXPECT_EQ(parameter_count_of(resolve(own_job(), rows, 2), rows), 5u);
}

} // namespace
} // namespace troupe::kind_problems_test
