#include "troupe/models/neural_network.hpp"

#include "troupe/models/layers/dense.hpp"
#include "troupe/models/random.hpp"
#include "troupe/tests/support/double_network.hpp"
#include "troupe/tests/support/reference.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

const std::vector<int32_t> no_labels;

/// Parameters by name from a reference file, as a flat buffer.
std::vector<float> parameters_of(const model& network, const nlohmann::json& by_name) {
  std::vector<float> result(network.layout().size());
  for (const auto& tensor : network.layout().tensors())
    std::ranges::copy(test::flat<float>(by_name.at(tensor.name)),
                      result.begin() + static_cast<long>(tensor.offset));
  return result;
}

} // namespace

TEST(neural_network, gradients_losses_and_predictions_match_pytorch) {
  const auto reference = test::load_reference("network.json");
  const auto features = test::flat<float>(reference.at("features"));
  const auto labels = test::flat<int32_t>(reference.at("classes"));
  const auto targets = test::flat<float>(reference.at("targets"));
  ASSERT_GE(reference.at("cases").size(), 8u);
  for (const auto& entry : reference.at("cases")) {
    neural_network_options options{5, 3, {4}};
    options.activation = *from_name<activation_kind>(entry.at("activation").get<std::string>());
    options.loss = *from_name<loss_kind>(entry.at("loss").get<std::string>());
    const auto name = entry.at("activation").dump() + entry.at("loss").dump();
    const neural_network network{options};
    const auto parameters = parameters_of(network, reference.at("parameters"));
    batch rows{6, features, {}, {}};
    (is_classification(options.loss) ? void(rows.labels = labels) : void(rows.targets = targets));
    workspace memory;
    std::vector<float> gradient(parameters.size());
    const auto sums = network.gradient(parameters, rows, gradient, memory);
    EXPECT_NEAR(sums.loss_sum, entry.at("loss_sum").get<double>(), 1e-5) << name;
    EXPECT_EQ(network.evaluate(parameters, rows, memory), sums) << name;
    const auto expected = parameters_of(network, entry.at("gradients"));
    for (size_t k = 0; k < gradient.size(); ++k)
      EXPECT_NEAR(gradient[k], expected[k], 2e-6) << name << ' ' << k;
    std::vector<float> predictions(18);
    network.predict(parameters, features, predictions, memory);
    const auto expected_predictions = test::flat<float>(entry.at("predictions"));
    for (size_t k = 0; k < predictions.size(); ++k)
      EXPECT_NEAR(predictions[k], expected_predictions[k], 1e-6) << name << ' ' << k;
  }
}

TEST(neural_network, gradients_match_central_differences_in_double) {
  for (const auto& [activation, activation_name] : name_table<activation_kind>::entries)
    for (const auto& [loss, loss_name] : name_table<loss_kind>::entries)
      for (const auto& hidden : std::vector<std::vector<size_t>>{{}, {5}, {6, 1, 4}}) {
        const neural_network_options options{3,          4,    hidden,
                                             activation, loss, initialization_kind::xavier};
        const neural_network network{options};
        std::vector<float> parameters(network.layout().size());
        network.initialize(11, parameters);
        for (auto& p : parameters) // biases too should take part
          p += 0.05f;
        std::vector<float> features(5 * 3), targets(5 * 4);
        fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, features);
        fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 1, targets);
        const std::vector<int32_t> labels{0, 3, 1, 2, 3};
        batch rows{5, features, {}, {}};
        (is_classification(loss) ? void(rows.labels = labels) : void(rows.targets = targets));
        workspace memory;
        std::vector<float> gradient(parameters.size());
        network.gradient(parameters, rows, gradient, memory);
        const std::vector<double> exact{parameters.begin(), parameters.end()};
        for (size_t k = 0; k < gradient.size(); ++k)
          EXPECT_NEAR(gradient[k], test::central_difference(options, exact, rows, k), 3e-5)
            << activation_name << ' ' << loss_name << ' ' << hidden.size() << ' ' << k;
      }
}

TEST(neural_network, a_batch_is_the_sum_of_its_rows) {
  const neural_network network{{4, 3, {7}}};
  std::vector<float> parameters(network.layout().size());
  network.initialize(3, parameters);
  std::vector<float> features(6 * 4);
  fill_normal({2, random_purpose::synthetic_features, 0}, 0, 1, features);
  const std::vector<int32_t> labels{0, 1, 2, 2, 1, 0};
  workspace memory;
  std::vector<float> whole(parameters.size()), part(parameters.size());
  std::vector<double> sum(parameters.size());
  const auto sums = network.gradient(parameters, {6, features, labels, {}}, whole, memory);
  batch_sums added;
  for (size_t i = 0; i < 6; ++i) {
    added =
      added + network.gradient(
                parameters,
                {1, std::span{features}.subspan(4 * i, 4), std::span{labels}.subspan(i, 1), {}},
                part, memory);
    for (size_t k = 0; k < part.size(); ++k)
      sum[k] += part[k];
  }
  EXPECT_EQ(added.sample_count, 6u);
  EXPECT_EQ(added.correct_count, sums.correct_count);
  EXPECT_NEAR(added.loss_sum, sums.loss_sum, 1e-5);
  for (size_t k = 0; k < sum.size(); ++k)
    EXPECT_NEAR(whole[k], sum[k], 1e-5);
}

TEST(neural_network, layout_names_weights_and_biases_layer_by_layer) {
  const neural_network network{{5, 2, {3}}};
  const auto& tensors = network.layout().tensors();
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[0].name, "layers.0.weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<size_t>{3, 5}));
  EXPECT_EQ(tensors[1].name, "layers.0.bias");
  EXPECT_EQ(tensors[2].shape, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(network.layout().size(), 3u * 5 + 3 + 2 * 3 + 2);
}

TEST(neural_network, initial_parameters_follow_from_the_seed) {
  const neural_network network{{5, 2, {3}}};
  std::vector<float> a(network.layout().size()), b(a.size()), other(a.size());
  network.initialize(1, a);
  network.initialize(1, b);
  network.initialize(2, other);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, other);
  for (size_t k = 15; k < 18; ++k)
    EXPECT_EQ(a[k], 0) << "biases start at zero";
}

TEST(neural_network, sizes_that_do_not_fit_are_refused) {
  const neural_network network{{2, 2, {}}};
  workspace memory;
  const std::vector<int32_t> labels{0};
  std::vector<float> six(6), five(5), two(2), three(3);
  EXPECT_THROW(network.gradient(five, {1, two, labels, {}}, six, memory), std::invalid_argument);
  EXPECT_THROW(network.gradient(six, {1, three, labels, {}}, six, memory), std::invalid_argument);
  EXPECT_THROW(network.gradient(six, {1, two, labels, {}}, five, memory), std::invalid_argument);
  EXPECT_THROW(network.predict(six, two, three, memory), std::invalid_argument);
  EXPECT_THROW(network.initialize(1, five), std::invalid_argument);
  EXPECT_THROW((neural_network{{0, 2, {}}}), std::invalid_argument);
  EXPECT_THROW((neural_network{{2, 2, {0}}}), std::invalid_argument);
}

TEST(dense_layer, matches_a_hand_worked_case) {
  const dense_layer layer{2, 3, activation_kind::relu};
  const std::vector<float> parameters{1, 2, 3, 4, -1, -1, 0.5f, -20, 1}; // W 3 x 2, b
  const std::vector<float> x{1, 1, 2, 0};
  std::vector<float> y(6);
  layer.forward(parameters, x, y);
  EXPECT_EQ(y, (std::vector<float>{3.5f, 0, 0, 2.5f, 0, 0}));
  const std::vector<float> delta{1, 0, 2, 0, 1, 3};
  std::vector<float> gradient(9), dx(4);
  layer.gradient(x, delta, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{1, 1, 2, 0, 8, 2, 1, 1, 5}));
  layer.backward(parameters, delta, dx);
  EXPECT_EQ(dx, (std::vector<float>{-1, 0, 0, 1}));
}

TEST(dense_layer, shapes_are_checked) {
  const dense_layer layer{2, 3, activation_kind::relu};
  std::vector<float> nine(9), eight(8), two(2), three(3), four(4), six(6);
  EXPECT_THROW(layer.forward(eight, two, three), std::invalid_argument);
  EXPECT_THROW(layer.forward(nine, three, three), std::invalid_argument);
  EXPECT_THROW(layer.forward(nine, four, three), std::invalid_argument);
  EXPECT_THROW(layer.gradient(four, three, nine), std::invalid_argument);
  EXPECT_THROW(layer.gradient(four, six, eight), std::invalid_argument);
  EXPECT_THROW(layer.backward(nine, four, four), std::invalid_argument);
  EXPECT_THROW(layer.backward(nine, six, three), std::invalid_argument);
}

TEST(workspace, slots_keep_their_memory) {
  workspace memory;
  const auto* first = memory.slot(1, 100).data();
  EXPECT_EQ(memory.slot(1, 50).data(), first);
  EXPECT_EQ(memory.slot(1, 50).size(), 50u);
  EXPECT_EQ(memory.slot(0, 10).size(), 10u);
  EXPECT_EQ(memory.slot(1, 100).data(), first);
}

} // namespace troupe
