#include "coordinators/job/resolve.hpp"

#include <gtest/gtest.h>

namespace troupe::resolve_test {
namespace {

data_shape shape_of(size_t rows, bool classification = true) {
  return {rows, 0, 4, 3, classification};
}

job with_batch(size_t batch_size) {
  job x;
  x.training.batch_size = batch_size;
  return x;
}

TEST(resolve, a_full_batch_and_one_beyond_the_rows_are_all_rows) {
  EXPECT_EQ(resolve(with_batch(0), shape_of(150), 2).training.batch_size, 150u);
  EXPECT_EQ(resolve(with_batch(151), shape_of(150), 2).training.batch_size, 150u);
  EXPECT_EQ(resolve(with_batch(150), shape_of(150), 2).training.batch_size, 150u);
  EXPECT_EQ(resolve(with_batch(32), shape_of(150), 2).training.batch_size, 32u);
}

TEST(resolve, a_slice_has_64_rows_by_default_and_there_are_1_to_16) {
  const std::pair<size_t, size_t> cases[] = {{1, 1},    {63, 1},    {127, 1},  {128, 2},
                                             {640, 10}, {1024, 16}, {5000, 16}};
  for (const auto& [batch, slices] : cases)
    EXPECT_EQ(resolve(with_batch(batch), shape_of(10'000), 2).training.slices, slices) << batch;
  EXPECT_EQ(resolve(with_batch(1000), shape_of(130), 2).training.slices, 2u) << "of the cut batch";
  auto x = with_batch(1);
  x.training.slices = 40;
  EXPECT_EQ(resolve(x, shape_of(100), 2).training.slices, 40u) << "what is given stays";
}

TEST(resolve, there_is_a_replica_a_core_but_not_more_than_slices) {
  auto x = with_batch(32);
  x.training.slices = 8;
  EXPECT_EQ(resolve(x, shape_of(100), 4).training.replicas, 4u);
  EXPECT_EQ(resolve(x, shape_of(100), 64).training.replicas, 8u);
  EXPECT_EQ(resolve(x, shape_of(100), 0).training.replicas, 1u) << "the machine does not say";
  x.training.replicas = 20;
  EXPECT_EQ(resolve(x, shape_of(100), 4).training.replicas, 20u) << "spares, if asked for";
}

TEST(resolve, there_is_a_thread_a_core) {
  job x;
  EXPECT_EQ(resolve(x, shape_of(100), 6).runtime.threads, 6u);
  EXPECT_EQ(resolve(x, shape_of(100), 0).runtime.threads, 1u);
  x.runtime.threads = 3;
  EXPECT_EQ(resolve(x, shape_of(100), 6).runtime.threads, 3u);
}

TEST(resolve, the_best_version_is_kept_when_validation_rows_are_evaluated_on_the_way) {
  auto shape = shape_of(100);
  EXPECT_EQ(resolve({}, shape, 2).training.keep_best, false);
  shape.validation_row_count = 1;
  EXPECT_EQ(resolve({}, shape, 2).training.keep_best, true);
  job x;
  x.training.evaluate_every = 0;
  EXPECT_EQ(resolve(x, shape, 2).training.keep_best, false) << "else its own job file is refused";
  x.training.evaluate_every = 1;
  x.training.keep_best = false;
  EXPECT_EQ(resolve(x, shape, 2).training.keep_best, false) << "what is given stays";
}

TEST(resolve, the_loss_follows_the_target) {
  model_options x;
  EXPECT_EQ(loss_of(x, true), loss_kind::categorical_cross_entropy);
  EXPECT_EQ(loss_of(x, false), loss_kind::squared);
  x.kind = model_kind::softmax_regression;
  EXPECT_EQ(loss_of(x, false), loss_kind::categorical_cross_entropy) << "it has no other";
  x.loss = loss_kind::squared;
  EXPECT_EQ(loss_of(x, true), loss_kind::squared) << "what is given stays";
  job y;
  EXPECT_EQ(resolve(y, shape_of(10, true), 1).model.loss, loss_kind::categorical_cross_entropy);
  EXPECT_EQ(resolve(y, shape_of(10, false), 1).model.loss, loss_kind::squared);
}

TEST(resolve, weights_before_relu_begin_by_he_and_others_by_xavier) {
  job x;
  x.model.hidden = {4};
  EXPECT_EQ(resolve(x, shape_of(10), 1).model.initialization, initialization_kind::he);
  x.model.activation = activation_kind::tanh;
  EXPECT_EQ(resolve(x, shape_of(10), 1).model.initialization, initialization_kind::xavier);
  x.model.activation = activation_kind::relu;
  x.model.hidden.clear();
  EXPECT_EQ(resolve(x, shape_of(10), 1).model.initialization, initialization_kind::xavier)
    << "no layer has an activation";
  x.model.initialization = initialization_kind::zero;
  EXPECT_EQ(resolve(x, shape_of(10), 1).model.initialization, initialization_kind::zero);
}

TEST(resolve, a_resolved_job_stays_as_it_is) {
  job x;
  x.name = "kept";
  x.model.hidden = {4};
  const auto once = resolve(x, shape_of(200), 4);
  EXPECT_EQ(resolve(once, shape_of(200), 16), once) << "on another machine too";
  EXPECT_EQ(once.name, "kept");
}

TEST(resolve, a_loss_that_does_not_fit_the_target_is_a_problem) {
  job x;
  for (bool classification : {true, false}) {
    x.model.loss.reset();
    auto resolved = resolve(x, shape_of(10, classification), 1);
    EXPECT_TRUE(problems_with_data(resolved, shape_of(10, classification)).empty());
    const auto found = problems_with_data(resolved, shape_of(10, !classification));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].key, "model.loss");
    EXPECT_EQ(found[0].why,
              classification
                ? "categorical-cross-entropy needs classes as targets, these are numbers"
                : "squared needs numbers as targets, these are classes");
    EXPECT_EQ(found[0].hint, classification ? "use squared" : "use categorical-cross-entropy");
  }
}

TEST(resolve, the_timeline_is_made_of_the_jobs_numbers) {
  job x = with_batch(20);
  x.training.slices = 3;
  x.training.epochs = 7;
  x.training.steps = 11;
  x.training.evaluate_every = 2;
  const timeline expected{.row_count = 90,
                          .batch_size = 20,
                          .slice_count = 3,
                          .epoch_count = 7,
                          .step_limit = 11,
                          .evaluate_every = 2};
  EXPECT_EQ(timeline_of(resolve(x, shape_of(90), 1), shape_of(90)), expected);
}

TEST(resolve, the_model_has_the_layers_the_job_asks_for) {
  job x;
  x.model.hidden = {5, 2};
  const auto layout = make_model(resolve(x, shape_of(10), 1), shape_of(10))->layout();
  EXPECT_EQ(layout.size(), (4u * 5 + 5) + (5 * 2 + 2) + (2 * 3 + 3));
  x.model.kind = model_kind::softmax_regression; // hidden layers it has none
  EXPECT_EQ(make_model(resolve(x, shape_of(10), 1), shape_of(10))->layout().size(), 4u * 3 + 3);
}

TEST(resolve, the_model_begins_and_predicts_as_the_job_says) {
  const auto initial = [](const job& x) {
    const auto network = make_model(resolve(x, shape_of(10), 1), shape_of(10));
    std::vector<float> parameters(network->layout().size());
    network->initialize(1, parameters);
    return parameters;
  };
  const auto scores = [&](job x) {
    x.model.initialization = initialization_kind::he;
    const auto network = make_model(resolve(x, shape_of(10), 1), shape_of(10));
    const std::vector<float> features{1, -2, 3, -4};
    std::vector<float> out(3);
    workspace memory;
    network->predict(initial(x), features, out, memory);
    return out;
  };
  job x;
  x.model.hidden = {5};
  job zero = x, smooth = x;
  zero.model.initialization = initialization_kind::zero;
  smooth.model.activation = activation_kind::tanh;
  EXPECT_NE(initial(x), initial(zero));
  EXPECT_NE(scores(x), scores(smooth));
}

TEST(resolve, the_model_trains_with_the_jobs_loss) {
  job x;
  const auto shape = shape_of(1, false);
  const auto network = make_model(resolve(x, shape, 1), shape);
  std::vector<float> parameters(network->layout().size(), 0.0f), gradient(parameters.size());
  const std::vector<float> features{1, 1, 1, 1}, targets{3, 0, 0};
  workspace memory;
  const auto sums = network->gradient(
    parameters, {.row_count = 1, .features = features, .labels = {}, .targets = targets}, gradient,
    memory);
  EXPECT_EQ(sums.squared_error_sum, 9) << "numbers as targets";
}

} // namespace
} // namespace troupe::resolve_test
