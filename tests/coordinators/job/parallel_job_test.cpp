// How a job's layers are cut and who carries them: what cannot work is refused in a sentence, what can
// is resolved, and only the cut is part of the job's identity.

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/resolve.hpp"
#include "models/segments/segment_chain.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::parallel_job_test {
namespace {

using cuts = std::vector<layer_cut>;

cuts cut(auto... layers) {
  return {layers...};
}

std::vector<size_t> stages(auto... segments) {
  return {size_t{segments}...};
}

constexpr auto none = layer_cut::none;
constexpr auto outputs = layer_cut::outputs;
constexpr auto inputs = layer_cut::inputs;

const data_shape classes{100, 0, 4, 3, true, {50, 30, 20}};

/// Four parts: the first two layers are a pair, the last is whole.
job cut_job() {
  job x;
  x.data.synthetic = synthetic_kind::classification;
  x.model.hidden = {16, 16};
  x.model.cuts = 4;
  x.model.cut = {outputs, inputs, none};
  return x;
}

job whole_job() {
  auto x = cut_job();
  x.model.cuts.reset();
  x.model.cut.clear();
  return x;
}

std::string text_of(const std::vector<job_problem>& found) {
  std::string result;
  for (const auto& x : found)
    result += (result.empty() ? "" : "\n") + x.key + ": " + x.why + " (" + x.hint + ")";
  return result;
}

/// As a run finds them: those of the job alone, else those beside its data.
std::string problems_of(const job& x) {
  const auto found = problems(x);
  return text_of(found.empty() ? problems_with_data(resolve(x, classes, 4), classes) : found);
}

struct refusal {
  std::function<void(job&)> change;
  std::string sentence;
};

void expect_refused(const job& good, const std::vector<refusal>& refusals) {
  EXPECT_EQ(problems_of(good), "");
  for (const auto& [change, sentence] : refusals) {
    auto x = good;
    change(x);
    EXPECT_EQ(problems_of(x), sentence);
  }
}

parallel_options split_by(size_t tensor, size_t pipeline, std::optional<size_t> data = {}) {
  parallel_options result;
  result.tensor = tensor;
  result.pipeline = pipeline;
  result.data = data;
  return result;
}

std::string problem_of(const parallel_options& x, size_t replicas) {
  const auto found = groups_problem(x, replicas);
  return found ? found->key + ": " + found->why : "";
}

TEST(parallel_job, a_cut_that_is_none_is_refused) {
  expect_refused(
    cut_job(),
    {{[](job& x) { x.model.cuts.reset(); },
      "model.cut: says how layers are cut, but not in how many parts "
      "(set model.cuts to 2 or more, or leave model.cut out)"},
     {[](job& x) { x.model.cuts = 1; },
      "model.cut: says how layers are cut, but not in how many parts "
      "(set model.cuts to 2 or more, or leave model.cut out)"},
     {[](job& x) { x.model.cuts = 65; },
      "model.cuts: 65 is out of range (use a whole number from 1 to 64)"},
     {[](job& x) { x.model.cut = cut(outputs, inputs); },
      "model.cut: 2 cuts for 3 layers "
      "(name none, outputs or inputs for each of the 3 layers, or leave it out)"},
     {[](job& x) { x.model.cut = cut(outputs, none, none); },
      "model.cut: layer 0 is cut by outputs, so layer 1 must be cut by inputs "
      "(name none, outputs or inputs for each of the 3 layers, or leave it out)"},
     {[](job& x) { x.model.cut = cut(none, inputs, none); },
      "model.cut: layer 1 is cut by inputs, so layer 0 must be cut by outputs "
      "(name none, outputs or inputs for each of the 3 layers, or leave it out)"},
     {[](job& x) {
        x.model.hidden.clear();
        x.model.kind = model_kind::logistic_regression;
        x.model.cut = {outputs};
      },
      "model.cut: the last layer has one output, which cannot be cut (cut it by inputs, or not)"}});
}

TEST(parallel_job, what_needs_layers_whole_refuses_cuts) {
  const std::string advice = " needs layers whole (set model.cuts = 1)";
  const auto alone = "model.cuts: a mode where each replica trains on its own" + advice;
  expect_refused(cut_job(),
                 {{[](job& x) { x.training.consistency = consistency_kind::asynchronous; }, alone},
                  {[](job& x) { x.training.strategy = strategy_kind::parameters; }, alone},
                  {[](job& x) { x.optimizer.kind = optimizer_kind::adafactor; },
                   "model.cuts: adafactor" + advice},
                  {[](job& x) {
                     x.model.hidden.clear();
                     x.model.kind = model_kind::linear_regression;
                     x.model.cut = {inputs};
                     x.optimizer.kind = optimizer_kind::closed_form;
                   },
                   "model.cuts: closed-form" + advice}});
}

TEST(parallel_job, more_replicas_than_there_is_to_carry_are_refused) {
  expect_refused(
    cut_job(),
    {{[](job& x) { x.parallel.tensor = 5; },
      "parallel.tensor: 5 replicas for layers that are cut in 4 "
      "(set model.cuts = 5: another job, with other bits)"},
     {[](job& x) { x.parallel.pipeline = 3; },
      "parallel.pipeline: 3 stages for 2 segments "
      "(use at most 2: two layers cut by outputs and inputs are one segment)"},
     {[](job& x) { x.parallel.tensor = x.parallel.pipeline = 2, x.parallel.data = 257; },
      "parallel.tensor: with data and pipeline makes more than 1024 replicas (split over fewer)"},
     {[](job& x) { x.parallel.tensor = 0; },
      "parallel.tensor: 0 is out of range (use a whole number from 1 to 64)"}});
  expect_refused(
    cut_job(),
    {{[](job& x) { x.parallel.tensor = 2, x.parallel.sharded = true; },
      "parallel.sharded: is for replicas that compute whole models, these carry parts or stages "
      "(use it instead of parallel.tensor and parallel.pipeline, or set it to false)"}});
  expect_refused(whole_job(), {{[](job& x) {
                                  x.parallel.sharded = true,
                                  x.training.consistency = consistency_kind::asynchronous;
                                },
                                "parallel.sharded: each replica of this mode has a whole model "
                                "(set parallel.sharded = false, "
                                "or use synchronous gradients)"}});
  expect_refused(whole_job(), {{[](job& x) { x.parallel.tensor = 2; },
                                "parallel.tensor: 2 replicas for layers that are cut in 1 "
                                "(set model.cuts = 2: another job, with other bits)"}});
}

TEST(parallel_job, stages_that_do_not_fit_the_model_are_refused) {
  auto x = cut_job();
  x.parallel.pipeline = 2;
  x.parallel.stages = {1, 1};
  expect_refused(x, {{[](job& y) { y.parallel.stages = {2}; },
                      "parallel.stages: names 1 stages of 2 "
                      "(say of each stage how many segments it has, or leave it out)"},
                     {[](job& y) { y.parallel.stages = stages(2u, 1u); },
                      "parallel.stages: names 3 segments, the model has 2 "
                      "(share them all out, or leave it out)"},
                     {[](job& y) { y.parallel.stages = stages(0u, 2u); },
                      "parallel.stages: 0 is out of range (use a whole number from 1 to 1001)"}});
}

TEST(parallel_job, two_numbers_of_groups_are_refused) {
  auto x = cut_job();
  x.parallel.data = x.training.replicas = 3;
  expect_refused(x, {{[](job& y) { y.training.replicas = 2; },
                      "parallel.data: is another number than training.replicas (name one of the "
                      "two: both are how many groups have slices of their own)"}});
}

TEST(parallel_job, replicas_that_have_a_whole_model_each_share_none) {
  auto x = whole_job();
  x.parallel.pipeline = 2;
  const std::string sentence =
    "parallel.tensor: each replica of this mode has a whole model (set parallel.tensor = 1 and "
    "parallel.pipeline = 1, or use synchronous gradients)";
  expect_refused(
    x, {{[](job& y) { y.training.consistency = consistency_kind::asynchronous; }, sentence},
        {[](job& y) { y.training.strategy = strategy_kind::parameters; }, sentence},
        {[](job& y) {
           y.model.kind = model_kind::linear_regression;
           y.model.hidden.clear();
           y.optimizer.kind = optimizer_kind::closed_form;
         },
         sentence}});
}

TEST(parallel_job, good_ones_are_not_refused) {
  const std::vector<std::function<void(job&)>> changes{
    [](job& x) { x.parallel.tensor = 4; },
    [](job& x) { x.parallel.tensor = 3; },
    [](job& x) { x.parallel.tensor = x.parallel.pipeline = 2; },
    [](job& x) { x.parallel.data = 5; },
    [](job& x) { x.model.cut = cut(none, outputs, inputs), x.parallel.tensor = 2; },
    [](job& x) { x.model.cut = cut(inputs, none, outputs); },
    [](job& x) { x.model.cut.clear(); },
    [](job& x) {
      x = whole_job();
      x.parallel.pipeline = 3;
      x.parallel.schedule = pipeline_schedule::gpipe;
    },
    [](job& x) {
      x = whole_job();
      x.parallel.pipeline = 2;
      x.optimizer.kind = optimizer_kind::adafactor;
    },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    auto x = cut_job();
    changes[i](x);
    EXPECT_EQ(problems_of(x), "") << i;
  }
}

TEST(parallel_job, cuts_go_by_the_narrowest_hidden_layer) {
  const auto resolved_of = [](std::vector<size_t> hidden) {
    auto x = whole_job();
    x.model.hidden = std::move(hidden);
    return resolve(x, classes, 4).model;
  };
  EXPECT_EQ(resolved_of({1023}).cuts, 1u);
  EXPECT_EQ(resolved_of({2048, 512}).cuts, 1u);
  EXPECT_EQ(resolved_of({1024}).cuts, 2u);
  EXPECT_EQ(resolved_of({2048, 2048}).cuts, 4u);
  EXPECT_EQ(resolved_of({2048, 2048}).cut, (cuts{outputs, inputs, none}));
  EXPECT_EQ(resolved_of({100'000}).cuts, 8u);
  EXPECT_TRUE(resolved_of({64}).cut.empty()) << "not cut: nothing to say of layers";
}

TEST(parallel_job, what_needs_layers_whole_has_them_whole_by_default) {
  auto x = whole_job();
  x.model.hidden = {4096};
  x.optimizer.kind = optimizer_kind::adafactor;
  EXPECT_EQ(resolve(x, classes, 4).model.cuts, 1u);
  x.optimizer.kind = optimizer_kind::sgd;
  x.training.consistency = consistency_kind::asynchronous;
  EXPECT_EQ(resolve(x, classes, 4).model.cuts, 1u);
}

TEST(parallel_job, replicas_are_as_many_groups_as_cores_carry) {
  auto x = cut_job();
  x.training.slices = 8;
  x.parallel.tensor = x.parallel.pipeline = 2;
  EXPECT_EQ(resolve(x, classes, 8).training.replicas, 2u);
  EXPECT_EQ(resolve(x, classes, 2).training.replicas, 1u) << "more actors than cores: one group";
  x.parallel.data = 3;
  EXPECT_EQ(resolve(x, classes, 8).training.replicas, 3u);
}

TEST(parallel_job, the_cut_is_part_of_the_identity_and_who_carries_it_is_not) {
  const auto identity_of = [](const job& x) {
    return identity_text(resolve(x, classes, 4), "rows");
  };
  const auto before = identity_of(cut_job());
  EXPECT_NE(before.find("\nmodel.cuts = 4\nmodel.cut = outputs inputs none\n"), std::string::npos);
  auto placed = cut_job();
  placed.parallel = {2, 2, 2, pipeline_schedule::gpipe, {1, 1}};
  EXPECT_EQ(identity_of(placed), before);
  EXPECT_EQ(before.find("parallel"), std::string::npos);

  auto uncut = whole_job();
  EXPECT_EQ(identity_of(uncut).find("model.cut"), std::string::npos);
  uncut.model.cuts = 1;
  EXPECT_EQ(identity_of(uncut), identity_of(whole_job()));
  auto nowhere = cut_job();
  nowhere.model.cut = {none, none, none};
  EXPECT_EQ(identity_of(nowhere), identity_of(whole_job())) << "no layer is cut after all";
}

TEST(cluster_groups, are_as_many_as_are_whole_or_fewer_that_were_asked_for) {
  EXPECT_EQ(groups_of(split_by(2, 1), 5), 2u);
  EXPECT_EQ(groups_of(split_by(2, 2), 8), 2u);
  EXPECT_EQ(groups_of(split_by(2, 1, 1), 5), 1u);
  EXPECT_EQ(groups_of(split_by(2, 1, 3), 5), 2u) << "after a loss, say";
  EXPECT_EQ(groups_of(split_by(1, 1), 5), 5u) << "each has the whole model";
  EXPECT_EQ(problem_of(split_by(2, 1), 2), "");
  EXPECT_EQ(problem_of(split_by(2, 1, 2), 5), "");
  EXPECT_EQ(problem_of(split_by(1, 1, 5), 5), "");
}

TEST(cluster_groups, of_too_few_replicas_are_refused_by_name) {
  EXPECT_EQ(problem_of(split_by(2, 3), 5),
            "parallel.tensor: a group needs 6 replicas, the nodes have 5 in all");
  EXPECT_EQ(problem_of(split_by(1, 3), 2),
            "parallel.pipeline: a group needs 3 replicas, the nodes have 2 in all");
  EXPECT_EQ(problem_of(split_by(2, 1, 3), 5),
            "parallel.data: 3 groups of 2 replicas, the nodes have 5 in all");
  EXPECT_EQ(problem_of(split_by(1, 1, 4), 5),
            "parallel.data: is another number of replicas than the nodes have");
}

} // namespace
} // namespace troupe::parallel_job_test
