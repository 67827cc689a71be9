#include "actors/run/model_writer.hpp"

#include "data/formats/csv/csv.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/model_file/saved_model.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace troupe::model_writer_test {
namespace {

job digits_job() {
  job x;
  x.data.file = std::string{TROUPE_SOURCE_DIR} + "/examples/data/digits.csv.gz";
  x.data.test_fraction = 0.25;
  x.data.standardize = true;
  x.model.hidden = {32, 16};
  x.model.activation = activation_kind::tanh;
  x.optimizer.kind = optimizer_kind::adam;
  x.training.epochs = 3;
  return x;
}

std::string csv_text(std::span<const float> values, size_t columns) {
  std::ostringstream out;
  out.precision(9);
  for (size_t i = 0; i < values.size(); ++i)
    out << values[i] << ((i + 1) % columns == 0 ? '\n' : ',');
  return std::move(out).str();
}

/// Rows as they stand in the data file, standardised by the result's map where there is one.
std::vector<float> standardised(const training_result& result, std::vector<float> rows) {
  const auto& map = result.data->features;
  if (!map.empty())
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = (rows[i] - map.mean[i % map.mean.size()]) / map.deviation[i % map.mean.size()];
  return rows;
}

bool numpy_is_missing() {
  return std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0;
}

/// Trains `x`, predicts raw rows (dense, as in its data file), and lets NumPy do the same from the
/// model file: it standardises and links as the metadata says.
void expect_numpy_agrees(const job& x, const std::vector<float>& raw) {
  const auto result = test::train_on(2, x);
  const temporary_folder folder;
  write_model(folder.path("model.safetensors"), result);
  const auto network = make_model(result.resolved, shape_of(*result.data));
  const auto columns = network->feature_count();
  folder.write("features.csv", csv_text(raw, columns));
  std::vector<float> predictions(raw.size() / columns * network->prediction_count());
  workspace memory;
  network->predict(result.parameters.values(), standardised(result, raw), predictions, memory);
  folder.write("predictions.csv", csv_text(predictions, network->prediction_count()));
  const auto command = "/usr/bin/python3 -B '" + std::string{TROUPE_SOURCE_DIR} +
                       "/tests/reference/compare_predictions.py' '" +
                       folder.path("model.safetensors") + "' '" + folder.path("features.csv") +
                       "' '" + folder.path("predictions.csv") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0)
    << name_of(x.model.kind) << ' ' << name_of(*result.resolved.model.loss);
}

TEST(model_file, predicts_the_same_in_numpy_from_raw_features) {
  if (numpy_is_missing())
    GTEST_SKIP() << "needs NumPy: apt-get install python3-numpy";
  expect_numpy_agrees(digits_job(), read_csv(digits_job().data.file).features);
}

TEST(model_file, predicts_the_same_in_numpy_for_every_kind_of_model) {
  if (numpy_is_missing())
    GTEST_SKIP() << "needs NumPy: apt-get install python3-numpy";
  job network = test::small_job();
  network.training.epochs = 1;
  network.data.test_fraction = 0;
  const auto rows = load_data(network)->train.features;
  network.model.hidden = {6, 5, 4, 3, 3};
  using enum activation_kind;
  network.model.activation = std::vector{gelu, silu, elu, softplus, leaky_relu};
  network.model.bias = false;
  expect_numpy_agrees(network, rows);
  auto two_classes = network;
  two_classes.data.classes = 2;
  two_classes.model = {};
  two_classes.model.kind = model_kind::logistic_regression;
  for (const auto& [link, name] : name_table<link_kind>::entries) {
    two_classes.model.link = link;
    expect_numpy_agrees(two_classes, rows);
  }
  two_classes.model = {};
  two_classes.model.loss = loss_kind::squared_hinge;
  expect_numpy_agrees(two_classes, rows);
  auto numbers = network;
  numbers.data.synthetic = synthetic_kind::regression;
  numbers.model = {};
  numbers.model.kind = model_kind::linear_regression;
  expect_numpy_agrees(numbers, rows);
  numbers.model = {};
  numbers.data.targets = 2;
  for (const auto scale : {target_scale_kind::standardize, target_scale_kind::asinh}) {
    numbers.data.target_scale = scale;
    expect_numpy_agrees(numbers, rows);
  }
}

TEST(model_file, says_all_that_is_needed_to_predict) {
  const auto result = test::train_on(1, digits_job());
  const temporary_folder folder;
  const auto sha256 = write_model(folder.path("model.safetensors"), result);
  EXPECT_EQ(sha256, result.summary.parameters_sha256);
  const auto file = read_safetensors(folder.path("model.safetensors"));
  EXPECT_EQ(file.layout, result.layout);
  EXPECT_EQ(file.values, test::values_of(result.parameters));
  EXPECT_EQ(file.data_sha256, sha256);
  EXPECT_EQ(file.metadata.at("kind"), "neural-network");
  EXPECT_EQ(file.metadata.at("activation"), "tanh");
  EXPECT_EQ(file.metadata.at("loss"), "categorical-cross-entropy");
  EXPECT_EQ(file.metadata.count("link"), 0u);
  EXPECT_EQ(file.metadata.at("classes"), R"(["0","1","2","3","4","5","6","7","8","9"])");
  EXPECT_EQ(file.metadata.at("target"), R"(["64"])");
  EXPECT_EQ(file.metadata.at("feature_deviation").substr(0, 9), "3f800000 ")
    << "the first pixel is always blank: its deviation counts as 1";
  EXPECT_EQ(file.metadata.at("job_sha256"), result.summary.job_sha256);
}

TEST(model_file, read_back_judges_the_test_rows_as_training_did_bit_for_bit) {
  auto classes = digits_job();
  classes.data.test_fraction = 0.4; // 718 rows: two whole chunks and a part
  auto numbers = classes;
  numbers.data.file = std::string{TROUPE_SOURCE_DIR} + "/examples/data/diabetes.csv";
  numbers.model.hidden = {8};
  auto balanced = classes;
  balanced.training.class_weights.kind = class_weight_kind::balanced;
  auto weighted = test::small_job();
  weighted.data.classes = 2;
  weighted.model = {};
  weighted.model.kind = model_kind::logistic_regression;
  weighted.training.class_weights = {class_weight_kind::list, {0.3, 1.7}};
  auto robust = numbers;
  robust.model.loss = loss_kind::huber;
  robust.model.huber_threshold = 0.1; // no float32 is
  const temporary_folder folder;
  for (const auto& x : {classes, numbers, balanced, weighted, robust}) {
    const auto result = test::train_on(2, x);
    write_model(folder.path("model.safetensors"), result);
    auto model = read_model(folder.path("model.safetensors"));
    EXPECT_EQ(model.features, result.data->features);
    EXPECT_EQ(model.classes, result.data->train.classes);
    const auto& rows = result.data->test;
    model.features = {}; // the rows are standardised already
    const auto sums =
      predictor{model}.evaluate({rows.row_count, rows.features, rows.labels, rows.targets});
    EXPECT_EQ(sums.loss_sum / static_cast<double>(sums.sample_count), result.summary.test_loss);
  }
}

} // namespace
} // namespace troupe::model_writer_test
