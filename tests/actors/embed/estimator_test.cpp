// fit, predict, score: what they learn, what they refuse, and that a file holds all of it.

#include "actors/embed/estimator.hpp"

#include "actors/embed/verify_in_company.hpp"
#include "actors/protocol/training_progress.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/train.hpp"
#include "data/text/failure.hpp"
#include "models/segments/segment_chain.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"
#include "tests/support/wave.hpp"

#include <caf/event_based_actor.hpp>

#include <gtest/gtest.h>

#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include <cmath>
#include <limits>
#include <thread>

namespace troupe::estimator_test {
namespace {

constexpr size_t row_count = 300;

std::vector<float> plane_rows() {
  std::vector<float> rows;
  for (size_t i = 0; i < row_count; ++i) {
    rows.push_back(std::sin(static_cast<float>(i)) * 3 + 10);
    rows.push_back(std::cos(static_cast<float>(7 * i)) * 2);
  }
  return rows;
}

matrix_view view_of(const std::vector<float>& rows) {
  return {rows, rows.size() / 2, 2};
}

// y = 2 a - b + 1
std::vector<float> plane_targets(const std::vector<float>& rows) {
  std::vector<float> targets;
  for (size_t i = 0; i < rows.size(); i += 2)
    targets.push_back(2 * rows[i] - rows[i + 1] + 1);
  return targets;
}

// -3 where y is below 21, else 7
std::vector<int32_t> sides(const std::vector<float>& rows) {
  std::vector<int32_t> labels;
  for (auto y : plane_targets(rows))
    labels.push_back(y < 21 ? -3 : 7);
  return labels;
}

estimator_options quick() {
  estimator_options options;
  options.optimizer.learning_rate = 0.05;
  options.training.epochs = 200;
  return options;
}

struct estimators : testing::Test {
  const std::vector<float> rows = plane_rows();
};

TEST_F(estimators, learns_a_plane_and_predicts_points_it_has_not_seen) {
  estimator plane{quick()};
  plane.fit(view_of(rows), plane_targets(rows));
  EXPECT_GT(plane.score(view_of(rows), plane_targets(rows)), 0.9999);
  const std::vector<float> point{11, 1};
  EXPECT_NEAR(plane.predict(view_of(point)).front(), 2 * 11 - 1 + 1, 0.05);
  EXPECT_EQ(plane.history().size(), 200u);
  EXPECT_EQ(plane.model().features.mean.size(), 2u);
}

TEST_F(estimators, learns_several_targets_at_once) {
  std::vector<float> targets;
  for (auto y : plane_targets(rows)) {
    targets.push_back(y);
    targets.push_back(-y);
  }
  estimator planes{quick()};
  planes.fit(view_of(rows), matrix_view{targets, row_count, 2});
  EXPECT_GT(planes.score(view_of(rows), targets), 0.999);
  const auto out = planes.predict(view_of({11, 1}));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_NEAR(out[1], -22, 0.1);
}

TEST_F(estimators, gives_labels_back_as_they_were) {
  estimator halves{quick()};
  halves.fit(view_of(rows), sides(rows));
  EXPECT_GT(halves.score(view_of(rows), sides(rows)), 0.97);
  const std::vector<float> ends{7, 2, 13, -2};
  EXPECT_EQ(halves.predict_labels(view_of(ends)), (std::vector<int32_t>{-3, 7}));
  const auto probabilities = halves.predict_probabilities(view_of(ends));
  ASSERT_EQ(probabilities.size(), 4u);
  EXPECT_GT(probabilities[0], 0.9f);
  EXPECT_NEAR(probabilities[2] + probabilities[3], 1, 1e-6);
}

TEST_F(estimators, learns_the_same_bits_in_an_application_of_any_size) {
  estimator alone{quick()};
  alone.fit(view_of(rows), sides(rows));
  for (size_t threads : {1, 3}) {
    test::real_system host{threads};
    estimator guest{*host.system, quick()};
    guest.fit(view_of(rows), sides(rows));
    EXPECT_EQ(guest.model().data_sha256, alone.model().data_sha256);
  }
  auto options = quick();
  options.seed = 1;
  estimator other{options};
  other.fit(view_of(rows), sides(rows));
  EXPECT_NE(other.model().data_sha256, alone.model().data_sha256);
}

TEST_F(estimators, stops_when_asked_and_keeps_the_model_it_reached) {
  auto options = quick();
  options.training.epochs = 100'000'000;
  size_t epochs_told = 0;
  options.on_progress = [&](const training_progress& news) {
    epochs_told += news.finished_epoch ? 1 : 0;
  };
  options.stop_requested = [&] { return epochs_told >= 3; };
  estimator halves{options};
  halves.fit(view_of(rows), sides(rows));
  EXPECT_GE(halves.history().size(), 3u);
  EXPECT_LT(halves.history().size(), options.training.epochs);
  EXPECT_EQ(halves.predict_labels(view_of(rows)).size(), row_count);
}

TEST_F(estimators, predicts_from_its_file_what_it_predicted_before) {
  const temporary_folder folder;
  estimator before{quick()};
  before.fit(view_of(rows), sides(rows));
  before.save(folder.path("m.safetensors"));
  const auto after = estimator::load(folder.path("m.safetensors"));
  EXPECT_EQ(after.predict_probabilities(view_of(rows)),
            before.predict_probabilities(view_of(rows)));
  EXPECT_EQ(after.predict_labels(view_of(rows)), before.predict_labels(view_of(rows)));
  EXPECT_EQ(after.model().data_sha256, before.model().data_sha256);
  EXPECT_THROW(estimator::load(folder.path("none")), failure);
}

TEST_F(estimators, takes_xtensor_expressions) {
  estimator::matrix table = xt::zeros<float>({row_count, size_t{2}});
  std::copy(rows.begin(), rows.end(), table.data());
  estimator plain{quick()}, scaled{quick()};
  plain.fit(view_of(rows), sides(rows));
  scaled.fit(table * 1.0f, sides(rows));
  EXPECT_EQ(scaled.model().data_sha256, plain.model().data_sha256);
  EXPECT_EQ(scaled.predict_labels(xt::view(table, xt::range(0, 9), xt::all())).size(), 9u);
  EXPECT_EQ(scaled.score(table, sides(rows)), plain.score(view_of(rows), sides(rows)));
}

TEST_F(estimators, learns_targets_of_an_expression_row_by_row_whatever_its_layout) {
  const auto targets = plane_targets(rows);
  // Features in the first two columns, targets in the others.
  estimator::matrix table = xt::zeros<float>({row_count, size_t{4}});
  for (size_t i = 0; i < row_count; ++i)
    for (size_t j = 0; j < 4; ++j)
      table(i, j) = j < 2 ? rows[2 * i + j] : j == 2 ? targets[i] : -targets[i];
  const auto features = xt::view(table, xt::all(), xt::range(0, 2));
  const auto one = xt::view(table, xt::all(), 2);
  const auto two = xt::view(table, xt::all(), xt::range(2, 4));
  auto options = quick();
  options.training.epochs = 5;
  const auto bits_of = [&](const auto& y) {
    estimator plane{options};
    plane.fit(features, y);
    EXPECT_EQ(plane.score(features, y), plane.score(view_of(rows), [&] {
      std::vector<float> values;
      for (size_t i = 0; i < row_count; ++i)
        for (size_t j = 0; j < plane.model().network->output_count(); ++j)
          values.push_back(table(i, 2 + j));
      return values;
    }()));
    return plane.model().data_sha256;
  };
  estimator plain{options};
  plain.fit(view_of(rows), targets);
  const auto expected = plain.model().data_sha256;
  EXPECT_EQ(bits_of(targets), expected);
  EXPECT_EQ(bits_of(one), expected);
  EXPECT_EQ(bits_of(1.0f * one), expected);
  EXPECT_EQ(bits_of(xt::xarray<double>{xt::cast<double>(one)}), expected);
  plain.fit(view_of(rows), matrix_view{std::vector<float>(two.begin(), two.end()), row_count, 2});
  EXPECT_EQ(bits_of(two), plain.model().data_sha256);
  EXPECT_EQ(bits_of(xt::xtensor<float, 2, xt::layout_type::column_major>{two}),
            plain.model().data_sha256);
  EXPECT_THROW(bits_of(xt::transpose(two)), std::invalid_argument);
  EXPECT_THROW(plain.fit(xt::xarray<float>{one}, one), std::invalid_argument);
}

TEST_F(estimators, learns_labels_of_any_whole_type_that_32_bits_hold) {
  const auto labels = sides(rows);
  estimator::matrix table = xt::zeros<float>({row_count, size_t{2}});
  std::copy(rows.begin(), rows.end(), table.data());
  auto options = quick();
  options.training.epochs = 5;
  estimator plain{options}, wide{options};
  plain.fit(view_of(rows), labels);
  xt::xtensor<int64_t, 1> sixty_four{xt::zeros<int64_t>({row_count})};
  std::copy(labels.begin(), labels.end(), sixty_four.begin());
  wide.fit(table, sixty_four);
  EXPECT_EQ(wide.model().data_sha256, plain.model().data_sha256);
  EXPECT_EQ(wide.score(table, sixty_four), plain.score(view_of(rows), labels));
  wide.fit(table, xt::greater(sixty_four, 0));
  EXPECT_EQ(wide.model().classes, (std::vector<std::string>{"0", "1"}));
  sixty_four(3) = int64_t{1} << 32;
  EXPECT_THROW(wide.fit(table, sixty_four), std::invalid_argument);
}

TEST_F(estimators, tells_which_value_is_not_finite) {
  auto broken = rows;
  broken[5] = std::numeric_limits<float>::quiet_NaN();
  estimator plane;
  const auto problem = test::failure_of([&] { plane.fit(view_of(broken), sides(rows)); });
  EXPECT_EQ(problem.code(), failure_code::bad_data);
  EXPECT_EQ(problem.reason(), "the data set does not hold together: row 2, '1': nan is not finite");
}

TEST_F(estimators, learns_scaled_targets_and_tells_them_in_their_unit) {
  auto targets = plane_targets(rows);
  for (auto& y : targets)
    y = 1e5f * y + 1e6f;
  auto options = quick();
  options.model.hidden = {4};
  options.training.epochs = 50;
  options.target_scale = target_scale_kind::none;
  estimator as_given{options};
  as_given.fit(view_of(rows), targets);
  EXPECT_LT(as_given.score(view_of(rows), targets), 0.5);
  options.target_scale = std::nullopt;
  estimator scaled{options};
  scaled.fit(view_of(rows), targets);
  EXPECT_GT(scaled.score(view_of(rows), targets), 0.99);
  const temporary_folder folder;
  scaled.save(folder.path("model"));
  EXPECT_EQ(estimator::load(folder.path("model")).predict(view_of(rows)),
            scaled.predict(view_of(rows)));
  scaled.fit(view_of(rows), sides(rows));
  EXPECT_GT(scaled.score(view_of(rows), sides(rows)), 0.9) << "labels have no scale";
  options.model.loss = loss_kind::gamma;
  options.target_scale = target_scale_kind::log;
  EXPECT_THROW(estimator{options}.fit(view_of(rows), targets), failure);
}

TEST_F(estimators, begins_from_a_model_in_the_units_of_its_features_and_targets) {
  auto targets = plane_targets(rows);
  for (auto& y : targets)
    y = 1e5f * y + 1e6f;
  auto options = quick();
  options.model.hidden = {4};
  estimator first{options};
  first.fit(view_of(rows), targets);
  const std::span later{rows.data(), 2 * size_t{50}};
  const std::span later_targets{targets.data(), size_t{50}};
  options.start = &first.model();
  options.training.epochs = 1;
  options.training.slices = 4;
  options.optimizer.learning_rate = 1e-9;
  std::string bits;
  for (const size_t replicas : {1, 3}) {
    options.training.replicas = replicas;
    estimator second{options};
    second.fit({later, 50, 2}, later_targets);
    EXPECT_NEAR(second.score(view_of(rows), targets), first.score(view_of(rows), targets), 1e-4);
    EXPECT_EQ(second.model().features, first.model().features);
    EXPECT_TRUE(bits.empty() || bits == second.model().data_sha256);
    bits = second.model().data_sha256;
  }
  options.training.epochs = 30;
  options.optimizer.learning_rate = 0.01;
  const auto job_of = [&](const saved_model* start) {
    options.start = start;
    estimator second{options};
    second.fit({later, 50, 2}, later_targets);
    EXPECT_TRUE(!start || second.score({later, 50, 2}, later_targets) > 0.99);
    return second.model().metadata.at("job_sha256");
  };
  estimator third{options};
  third.fit({later, 50, 2}, later_targets);
  EXPECT_NE(job_of(&first.model()), job_of(&third.model())) << "they have different identities";
  EXPECT_NE(job_of(&first.model()), job_of(nullptr));
}

TEST_F(estimators, refuse_to_begin_from_another_model) {
  estimator first{quick()};
  first.fit(view_of(rows), sides(rows));
  auto options = quick();
  options.start = &first.model();
  options.model.hidden = {4};
  const auto problem =
    test::failure_of([&] { estimator{options}.fit(view_of(rows), sides(rows)); });
  EXPECT_EQ(problem.code(), failure_code::bad_job);
  EXPECT_EQ(problem.reason(),
            "the given tensor 'layers.0.weight' (2 x 2) has another shape than the model's "
            "'layers.0.weight' (4 x 2)");
  options.model.hidden = {};
  auto others = sides(rows);
  for (auto& label : others)
    label += 1;
  EXPECT_THROW(estimator{options}.fit(view_of(rows), others), failure) << "classes -2 and 8";
  EXPECT_THROW(estimator{options}.fit({rows, rows.size() / 3, 3}, std::vector<int32_t>(200)),
               failure);
  options.model.start_fresh = {"layers.0.*"};
  estimator fresh{options};
  EXPECT_NO_THROW(fresh.fit(view_of(rows), others)) << "nothing is left of the other model";
}

TEST_F(estimators, learn_a_data_set_with_weights_and_sparse_rows) {
  dataset plane;
  plane.row_count = row_count;
  plane.feature_count = 2;
  plane.sparse.starts = {0};
  for (size_t i = 0; i < rows.size(); ++i) {
    plane.sparse.features.push_back(i % 2);
    plane.sparse.values.push_back(rows[i]);
    if (i % 2 == 1)
      plane.sparse.starts.push_back(i + 1);
  }
  plane.targets = plane_targets(rows);
  plane.target_count = 1;
  plane.target_names = {"y"};
  for (size_t i = 0; i < row_count; ++i) {
    plane.weights.push_back(i % 3 == 0 ? 0.0f : 1.0f);
    plane.targets[i] = i % 3 == 0 ? 1000 : plane.targets[i];
  }
  auto options = quick();
  options.optimizer.learning_rate = 0.3;
  estimator learned{options};
  learned.fit(plane);
  EXPECT_TRUE(learned.model().network->chain().reads_sparse());
  EXPECT_GT(learned.score(view_of(rows), plane_targets(rows)), 0.99) << "rows of weight 0 are none";
  options.start = &learned.model();
  options.optimizer.learning_rate = 1e-6;
  estimator again{options};
  again.fit(plane);
  EXPECT_GT(again.score(view_of(rows), plane_targets(rows)), 0.99);
  EXPECT_THROW(estimator{options}.fit(view_of(rows), plane_targets(rows)), failure)
    << "dense rows have another scale";
  plane.weights.pop_back();
  EXPECT_THROW(learned.fit(plane), failure);
}

TEST_F(estimators, refuses_to_wait_in_a_handler_of_the_system_it_needs) {
  test::real_system host{2};
  std::string reason;
  auto actor = host.system->spawn([&](caf::event_based_actor* self) -> caf::behavior {
    return {[&, self](int) {
      try {
        estimator{self->system(), quick()}.fit(view_of(rows), sides(rows));
      } catch (const failure& problem) {
        reason = problem.reason();
      }
      return 0;
    }};
  });
  caf::scoped_actor self{*host.system};
  self->request(actor, std::chrono::minutes{1}, 1).receive([](int) {}, [](const caf::error&) {});
  EXPECT_NE(reason.find("was called in a handler"), std::string::npos) << reason;
}

TEST_F(estimators, stops_when_asked_on_the_one_thread_of_an_application) {
  caf::actor_system_config config;
  configure(config); // and nothing else
  config.set("scheduler.max-threads", size_t{1});
  caf::actor_system system{config};
  auto options = quick();
  options.training.epochs = 200'000;
  bool is_reported = false;
  options.on_progress = [&](const training_progress& news) {
    is_reported = news.finished_epoch || is_reported;
  };
  options.stop_requested = [&] { return is_reported; };
  estimator plane{system, options};
  plane.fit(view_of(plane_rows()), plane_targets(plane_rows()));
  EXPECT_LT(plane.history().size(), options.training.epochs / 2);
}

TEST_F(estimators, refuses_what_does_not_fit) {
  estimator empty;
  EXPECT_THROW(empty.predict(view_of(rows)), std::logic_error);
  EXPECT_THROW(empty.save("m"), std::logic_error);
  EXPECT_THROW(empty.fit(view_of(rows), std::vector<int32_t>(3)), std::invalid_argument);
  EXPECT_THROW(empty.fit(view_of(rows), std::vector<float>(row_count + 1)), std::invalid_argument);
  EXPECT_THROW(empty.fit(matrix_view{rows, 7, 2}, sides(rows)), std::invalid_argument);
  EXPECT_THROW(empty.fit(view_of(rows), std::vector<int32_t>(row_count, 1)), failure);
  auto broken = rows;
  broken[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(empty.fit(view_of(broken), sides(rows)), failure);
  estimator plane{quick()};
  plane.fit(view_of(rows), plane_targets(rows));
  EXPECT_THROW(plane.predict_labels(view_of(rows)), std::logic_error);
  EXPECT_THROW(plane.predict(matrix_view{rows, rows.size(), 1}), std::invalid_argument);
}

TEST_F(estimators, tells_wrong_options_by_their_key) {
  auto options = quick();
  options.optimizer.learning_rate = -1;
  estimator wrong{options};
  const auto problem = test::failure_of([&] { wrong.fit(view_of(rows), sides(rows)); });
  EXPECT_EQ(problem.code(), failure_code::bad_job);
  EXPECT_TRUE(problem.reason().starts_with("optimizer.learning_rate: "));
}

TEST_F(estimators, takes_the_epoch_with_the_least_validation_loss) {
  auto options = quick();
  options.validation_fraction = 0.25;
  options.training.patience = 2;
  options.training.epochs = 50;
  options.optimizer.learning_rate = 0.5;
  estimator watched{options};
  watched.fit(view_of(rows), sides(rows));
  const auto best = std::ranges::min_element(
    watched.history(), {}, [](const history_row& row) { return row.validation_loss.value(); });
  EXPECT_LT(best->steps, watched.history().back().steps);
  EXPECT_EQ(watched.model().metadata.at("steps"), std::to_string(best->steps));
  options.validation_fraction = 1;
  EXPECT_THROW(estimator{options}.fit(view_of(rows), sides(rows)), failure);
}

TEST_F(estimators, keeps_its_model_when_another_fit_diverges) {
  auto options = quick();
  options.standardize = false;
  options.optimizer = {};
  options.optimizer.learning_rate = 1e-3;
  estimator plane{options};
  plane.fit(view_of(rows), plane_targets(rows));
  const auto sha256 = plane.model().data_sha256;
  auto huge = rows;
  for (auto& x : huge)
    x *= 1e15f;
  const auto problem = test::failure_of([&] { plane.fit(view_of(huge), plane_targets(rows)); });
  EXPECT_EQ(problem.code(), failure_code::diverged);
  EXPECT_EQ(plane.model().data_sha256, sha256);
}

struct no_options {};

// A wave that counts its calls where it should keep nothing: in the workspace, of which each replica
// has its own.
class counting_wave : public model {
public:
  explicit counting_wave(const model_input& input)
    : model(input.features, input.outputs, input.loss), inner_({}, input) {
    layout_ = inner_.layout();
  }
  batch_sums evaluate(std::span<const float> p, const batch& rows,
                      workspace& memory) const override {
    return inner_.evaluate(p, rows, memory);
  }

private:
  void do_initialize(uint64_t seed, const index_range& elements,
                     std::span<float> out) const override {
    inner_.initialize(seed, elements, out);
  }
  batch_sums do_gradient(std::span<const float> p, const batch& rows, std::span<float> out,
                         workspace& memory, const gradient_listener*) const override {
    const auto sums = inner_.gradient(p, rows, out, memory);
    auto& calls = memory.slot(9, 1)[0];
    out[0] += 1e-3f * ++calls;
    return sums;
  }
  void do_predict(std::span<const float> p, const batch& rows, std::span<float> out,
                  workspace& memory) const override {
    inner_.predict(p, rows, out, memory);
  }

  wave inner_;
};

job job_of(const std::string& kind) {
  auto x = test::small_job();
  x.data.synthetic = synthetic_kind::regression;
  x.data.features = 1;
  x.model = {};
  x.model.own.kind = kind;
  x.training.slices.reset();
  return x;
}

/// Texts for classes, and raw features far from 0, which the job standardises.
training_result trained_on_cities() {
  dataset rows;
  rows.row_count = 60;
  rows.feature_count = 2;
  rows.feature_names = {"x", "y"};
  rows.classes = {"Bergen", "Oslo"};
  rows.target_names = {"city"};
  for (size_t i = 0; i < rows.row_count; ++i) {
    rows.labels.push_back(static_cast<int32_t>(i % 2));
    rows.features.push_back(static_cast<float>(1000 + 100 * (i % 2) + i));
    rows.features.push_back(-5);
  }
  job x;
  x.data.standardize = true;
  x.optimizer.learning_rate = 0.5;
  x.training.epochs = 20;
  return train(x, prepare_data(x, std::move(rows)));
}

TEST(fitted_model, predicts_from_rows_as_they_are_in_any_thread_and_from_its_file) {
  const auto result = trained_on_cities();
  const fitted_model model{result};
  const auto rows = xt::xtensor<double, 2, xt::layout_type::column_major>{{1010, -5}, {1130, -5}};
  EXPECT_EQ(model.predict_classes(rows), (std::vector<std::string>{"Bergen", "Oslo"}));
  EXPECT_EQ(model.predict_labels(rows), (std::vector<int32_t>{0, 1})) << "texts have places";
  const row_matrix shares = model.predict_probabilities(rows);
  EXPECT_EQ(shares.shape(), (row_matrix::shape_type{2, 2}));
  EXPECT_NEAR(shares(0, 0) + shares(0, 1), 1, 1e-6);
  EXPECT_GT(shares(1, 1), 0.5);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([copy = model, &rows, &shares] {
      for (int k = 0; k < 50; ++k)
        EXPECT_EQ(copy.predict_probabilities(rows), shares);
    });
  for (auto& one : threads)
    one.join();
  const temporary_folder folder;
  model.save(folder.path("city.safetensors"));
  EXPECT_EQ(fitted_model::load(folder.path("city.safetensors")).predict_probabilities(rows),
            shares);
  EXPECT_THROW(model.predict(rows), std::logic_error);
  EXPECT_THROW(model.predict_labels(matrix_view{{}, 0, 3}), std::invalid_argument);
}

TEST(verify_in_company, finds_nothing_in_a_model_that_keeps_nothing) {
  add_wave();
  test::real_system host{3};
  EXPECT_EQ(findings_text(verify_in_company(*host.system, job_of("wave"))), "");
  auto members = job_of("wave");
  members.training.strategy = strategy_kind::parameters;
  members.training.members = 3;
  EXPECT_EQ(findings_text(verify_in_company(*host.system, members)), "");
}

TEST(verify_in_company, finds_a_model_whose_gradient_depends_on_who_asked_before) {
  models().add<no_options>("counting", {}, {}, [](const no_options&, const model_input& input) {
    return std::make_unique<counting_wave>(input);
  });
  test::real_system host{3};
  const auto found = verify_in_company(*host.system, job_of("counting"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].where, "replicas: 2");
  EXPECT_EQ(found[1].where, "replicas: 3");
}

} // namespace
} // namespace troupe::estimator_test
