#include "models/network/neural_network.hpp"

#include "models/base/random.hpp"
#include "models/layers/dense.hpp"
#include "models/math/reduction.hpp"
#include "models/network/activation.hpp"
#include "models/optimizers/optimizer.hpp"
#include "tests/support/counted_allocations.hpp"
#include "tests/support/double_network.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace troupe::neural_network_test {
namespace {

/// Parameters by name from a reference file, as a flat buffer.
std::vector<float> parameters_of(const model& network, const nlohmann::json& by_name) {
  std::vector<float> result(network.layout().size());
  for (const auto& tensor : network.layout().tensors())
    std::ranges::copy(test::flat<float>(by_name.at(tensor.name)),
                      result.begin() + static_cast<long>(tensor.offset));
  return result;
}

loss_options loss_of_case(const nlohmann::json& reference, const nlohmann::json& entry) {
  loss_options loss = *from_name<loss_kind>(entry.at("loss").get<std::string>());
  loss.huber_threshold = reference.at("huber_threshold").get<double>();
  if (entry.at("link").is_string())
    loss.link = *from_name<link_kind>(entry.at("link").get<std::string>());
  return loss;
}

const char* labels_of_case(loss_kind kind) {
  return is_binary(kind) ? "binary_classes" : "classes";
}

/// The rows and the network of a case: three scores a row, or one for a binary loss.
neural_network_options options_of(const loss_options& loss, std::vector<size_t> hidden,
                                  activation_list activation) {
  return {5,    is_binary(loss.kind) ? 1u : 3u, std::move(hidden), activation,
          loss, initialization_kind::xavier};
}

/// Five rows of random features and targets; for gamma and poisson these are above 0.
struct random_rows {
  explicit random_rows(const loss_options& loss) {
    fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, features);
    fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 1, targets);
    if (has_log_link(loss.kind))
      for (auto& target : targets)
        target = std::abs(target) + 0.1f;
    rows.row_count = 5;
    rows.features = features;
    if (!is_classification(loss.kind))
      rows.targets = targets;
    else
      rows.labels = is_binary(loss.kind) ? bits : labels;
  }

  std::vector<float> features = std::vector<float>(5 * 5);
  std::vector<float> targets = std::vector<float>(5 * 3);
  std::vector<int32_t> labels{0, 2, 1, 2, 1};
  std::vector<int32_t> bits{0, 1, 1, 0, 1};
  batch rows;
};

/// Every loss, and the binary cross-entropy with every link.
std::vector<loss_options> all_losses() {
  std::vector<loss_options> result;
  for (const auto& [kind, name] : name_table<loss_kind>::entries)
    result.emplace_back(kind);
  for (const auto& [link, name] : name_table<link_kind>::entries) {
    result.emplace_back(loss_kind::binary_cross_entropy);
    result.back().link = link;
  }
  return result;
}

void expect_gradient_as_by_differences(const neural_network_options& options) {
  const neural_network network{options};
  std::vector<float> parameters(network.layout().size());
  network.initialize(11, parameters);
  for (auto& p : parameters) // biases too should take part
    p += 0.05f;
  const random_rows data{options.loss};
  workspace memory;
  std::vector<float> gradient(parameters.size());
  network.gradient(parameters, data.rows, gradient, memory);
  const std::vector<double> exact{parameters.begin(), parameters.end()};
  for (size_t k = 0; k < gradient.size(); ++k) {
    const auto expected = test::central_difference(options, exact, data.rows, k);
    EXPECT_NEAR(gradient[k], expected, 3e-5 * std::max(1.0, std::abs(expected)))
      << name_of(options.activation.of(0)) << ' ' << name_of(options.loss.kind) << ' '
      << name_of(options.loss.link) << ' ' << options.hidden.size() << ' ' << k;
  }
}

TEST(neural_network, gradients_losses_and_predictions_match_pytorch) {
  const auto reference = test::load_reference("network.json");
  const auto features = test::flat<float>(reference.at("features"));
  ASSERT_GE(reference.at("cases").size(), 31u);
  for (const auto& entry : reference.at("cases")) {
    const auto loss = loss_of_case(reference, entry);
    const auto options =
      options_of(loss, {4}, *from_name<activation_kind>(entry.at("activation").get<std::string>()));
    const auto name =
      entry.at("activation").dump() + entry.at("loss").dump() + entry.at("link").dump();
    const neural_network network{options};
    const auto parameters = parameters_of(
      network, reference.at(is_binary(loss.kind) ? "binary_parameters" : "parameters"));
    const auto labels = test::flat<int32_t>(reference.at(labels_of_case(loss.kind)));
    const auto targets =
      test::flat<float>(reference.at(has_log_link(loss.kind) ? "positive_targets" : "targets"));
    batch rows{6, features, {}, {}};
    (is_classification(loss.kind) ? void(rows.labels = labels) : void(rows.targets = targets));
    workspace memory;
    std::vector<float> gradient(parameters.size());
    const auto sums = network.gradient(parameters, rows, gradient, memory);
    EXPECT_NEAR(sums.loss_sum, entry.at("loss_sum").get<double>(), 2e-5) << name;
    EXPECT_EQ(network.evaluate(parameters, rows, memory), sums) << name;
    const auto expected = parameters_of(network, entry.at("gradients"));
    for (size_t k = 0; k < gradient.size(); ++k)
      EXPECT_NEAR(gradient[k], expected[k], 1e-5) << name << ' ' << k;
    const auto expected_predictions = test::flat<float>(entry.at("predictions"));
    std::vector<float> predictions(6 * network.prediction_count());
    ASSERT_EQ(predictions.size(), expected_predictions.size()) << name;
    network.predict(parameters, features, predictions, memory);
    for (size_t k = 0; k < predictions.size(); ++k)
      EXPECT_NEAR(predictions[k], expected_predictions[k], 1e-6) << name << ' ' << k;
  }
}

TEST(neural_network, gradients_match_central_differences_in_double) {
  for (const auto& loss : all_losses()) {
    expect_gradient_as_by_differences(options_of(loss, {}, activation_kind::relu));
    expect_gradient_as_by_differences(options_of(loss, {6, 2}, activation_kind::tanh));
  }
  for (const auto& [kind, name] : name_table<activation_kind>::entries)
    expect_gradient_as_by_differences(options_of(loss_kind::squared, {6, 1, 4}, kind));
}

TEST(neural_network, each_hidden_layer_may_have_its_own_activation) {
  using enum activation_kind;
  expect_gradient_as_by_differences(
    options_of(loss_kind::squared, {4, 3, 4, 2}, std::vector{gelu, sigmoid, silu, elu}));
  EXPECT_THROW(neural_network{options_of(loss_kind::squared, {4, 3}, std::vector{gelu, elu, tanh})},
               std::invalid_argument);
}

TEST(neural_network, without_bias_has_weights_only) {
  auto options = options_of(loss_kind::squared, {4}, activation_kind::silu);
  options.bias = false;
  const neural_network network{options};
  EXPECT_EQ(network.layout().size(), 5u * 4 + 4 * 3);
  EXPECT_EQ(network.layout().find("layers.0.bias"), nullptr);
  expect_gradient_as_by_differences(options);
  std::vector<float> with(5 * 4 + 4 + 4 * 3 + 3), without(network.layout().size());
  network.initialize(3, without);
  options.bias = true;
  neural_network{options}.initialize(3, with);
  EXPECT_TRUE(std::equal(without.begin() + 20, without.end(), with.begin() + 24))
    << "a weight does not depend on whether there are biases";
}

TEST(neural_network, class_weights_multiply_loss_and_gradient) {
  for (loss_options loss : {loss_options{loss_kind::categorical_cross_entropy},
                            loss_options{loss_kind::binary_cross_entropy}}) {
    loss.class_weights =
      is_binary(loss.kind) ? std::vector<float>{0.25f, 3} : std::vector<float>{0.5f, 2, 0};
    expect_gradient_as_by_differences(options_of(loss, {3}, activation_kind::tanh));
  }
}

TEST(neural_network, a_binary_loss_has_one_output_and_two_predictions) {
  auto options = options_of(loss_kind::hinge, {}, activation_kind::relu);
  EXPECT_EQ(neural_network{options}.prediction_count(), 2u);
  options.outputs = 2;
  EXPECT_THROW(neural_network{options}, std::invalid_argument);
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

TEST(dense_layer, keeps_what_the_activation_read_where_its_derivative_needs_it) {
  const std::vector<float> parameters{1, 2, 10};
  const std::vector<float> x{1, 1, -3, 0};
  std::vector<float> y(2), before(2);
  dense_layer{2, 1, activation_kind::silu}.forward(parameters, x, y, before);
  EXPECT_EQ(before, (std::vector<float>{13, 7}));
  EXPECT_NEAR(y[1], 7 / (1 + std::exp(-7.0)), 1e-6);
  std::vector<float> one(1);
  EXPECT_THROW(dense_layer({2, 1, activation_kind::silu}).forward(parameters, x, y, one),
               std::invalid_argument);
}

TEST(dense_layer, without_bias_is_a_product) {
  const dense_layer layer{2, 1, activation_kind::identity, false};
  const std::vector<float> parameters{1, 2};
  const std::vector<float> x{1, 1, -3, 0};
  std::vector<float> y(2), gradient(2);
  layer.forward(parameters, x, y);
  EXPECT_EQ(y, (std::vector<float>{3, -3}));
  layer.gradient(x, y, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{12, 3}));
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

// A gradient that is handed over layer by layer is the same, and a layer is final when it is handed
// over.
TEST(neural_network, hands_over_its_gradient_by_layers_in_the_order_that_is_wanted) {
  neural_network_options options{5, 3, {7, 6}, activation_kind::tanh};
  const neural_network network{options};
  const random_rows data{loss_kind::categorical_cross_entropy};
  std::vector<float> parameters(network.layout().size());
  network.initialize(3, parameters);
  std::vector<float> expected(parameters.size()), gradient(parameters.size());
  workspace memory;
  const auto expected_sums = network.gradient(parameters, data.rows, expected, memory);
  // The layers have 42, 48 and 21 parameters.
  using piece = std::pair<size_t, size_t>;
  for (const auto& [wanted_first, order] : std::vector<std::pair<size_t, std::vector<piece>>>{
         {0, {{0, 42}, {42, 90}}}, {60, {{42, 90}, {90, 111}}}, {100, {{90, 111}, {0, 42}}}}) {
    std::vector<piece> seen;
    const gradient_listener listener{[&](size_t element) { return element >= wanted_first; },
                                     [&](size_t begin, size_t end, const batch_sums& sums) {
                                       seen.emplace_back(begin, end);
                                       EXPECT_EQ(sums, expected_sums);
                                       EXPECT_TRUE(
                                         std::equal(gradient.begin() + static_cast<long>(begin),
                                                    gradient.begin() + static_cast<long>(end),
                                                    expected.begin() + static_cast<long>(begin)));
                                     }};
    EXPECT_EQ(network.gradient(parameters, data.rows, gradient, memory, &listener), expected_sums);
    EXPECT_EQ(gradient, expected);
    EXPECT_EQ(seen, order) << wanted_first;
  }
}

// A step allocates nothing after the first: everything it needs is kept or pooled.

TEST(allocation, none_in_a_step_after_the_first) {
  neural_network_options shape{20, 5, {30, 10}, activation_kind::gelu};
  shape.dropout = 0.25;
  const neural_network network{shape};
  optimizer_options options;
  options.kind = optimizer_kind::adam;
  const auto rule = make_optimizer(options);
  const auto size = network.layout().size();
  const optimizer_state state{rule->slot_count(), size};
  buffer_pool pool{size};
  auto parameters = pool.acquire();
  network.initialize(1, parameters.values());
  std::vector<float> features(64 * 20);
  fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, features);
  const std::vector<int32_t> labels(64, 2);
  workspace memory;
  reducer sums;
  const reduction_plan plan{{0, 1, reduction_plan::add}};
  const auto step = [&](uint64_t t, size_t rows) {
    const batch part{rows, std::span{features}.first(rows * 20), std::span{labels}.first(rows), {}};
    const auto a = pool.acquire();
    const auto b = pool.acquire();
    network.gradient(parameters.values(), part, a.values(), memory);
    network.gradient(parameters.values(), part, b.values(), memory);
    const std::span<const float> inputs[] = {a.values(), b.values()};
    auto next = pool.acquire();
    sums.reduce_and_update(plan, inputs, *rule, rule->begin_step(t, 2 * rows, direction::descent),
                           state, parameters.values(), next.values());
    parameters = next;
  };
  step(0, 64);
  const auto before = allocation_count;
  EXPECT_GT(before, 0u) << "the counter counts";
  for (uint64_t t = 1; t < 20; ++t)
    step(t, t % 2 == 0 ? 64 : 17); // a short batch needs no other memory
  EXPECT_EQ(allocation_count, before);
}

TEST(activation, values_match_hand_worked_ones) {
  const std::vector<float> x{-2, -0.5f, 0, 1};
  const auto activated = [&](activation_kind kind) {
    auto y = x;
    activate(kind, y);
    return y;
  };
  EXPECT_EQ(activated(activation_kind::identity), x);
  EXPECT_EQ(activated(activation_kind::relu), (std::vector<float>{0, 0, 0, 1}));
  EXPECT_EQ(activated(activation_kind::leaky_relu), (std::vector<float>{-0.02f, -0.005f, 0, 1}));
  using enum activation_kind;
  const std::pair<activation_kind, std::array<double, 4>> curves[] = {
    {activation_kind::tanh, {-0.96402758, -0.46211716, 0, 0.76159416}},
    {sigmoid, {0.11920292, 0.37754067, 0.5, 0.73105858}},
    {elu, {-0.86466472, -0.39346934, 0, 1}},
    {gelu, {-0.04550026, -0.15426877, 0, 0.84134475}},
    {silu, {-0.23840584, -0.18877033, 0, 0.73105858}},
    {softplus, {0.12692801, 0.47407698, 0.69314718, 1.31326169}}};
  for (const auto& [kind, expected] : curves)
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(activated(kind)[i], expected[i], 1e-7) << name_of(kind);
}

TEST(activation, derivatives_match_central_differences) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries)
    for (float x : {-3.0f, -0.7f, 0.4f, 2.5f}) {
      const float h = 1e-2f;
      std::vector<float> points{x - h, x + h, x};
      activate(kind, points);
      std::vector<float> delta{3};
      std::vector<float> input{x};
      multiply_by_derivative(
        kind, derivative_needs_input(kind) ? std::span{input} : std::span{points}.last(1), delta);
      EXPECT_NEAR(delta[0] / 3, (points[1] - points[0]) / (2 * h), 2e-4) << name << ' ' << x;
    }
}

TEST(activation, both_at_once_are_what_they_are_apart) {
  std::vector<float> x;
  for (float value = -60; value < 60; value += 0.37f)
    x.push_back(value);
  for (const auto kind : {activation_kind::gelu, activation_kind::silu}) {
    auto y = x, expected = x;
    std::vector<float> derivative(x.size()), delta(x.size(), 1.0f);
    activate(kind, expected);
    multiply_by_derivative(kind, x, delta);
    activate_and_derive(kind, y, derivative);
    EXPECT_EQ(y, expected) << name_of(kind);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(derivative[i], delta[i], 1e-7) << name_of(kind) << ' ' << x[i];
  }
  EXPECT_THROW(activate_and_derive(activation_kind::relu, x, x), std::invalid_argument);
}

TEST(activation, relu_has_no_slope_at_zero_and_no_negative_zero) {
  std::vector<float> y{-0.0f};
  activate(activation_kind::relu, y);
  EXPECT_FALSE(std::signbit(y[0]));
  std::vector<float> delta{1};
  multiply_by_derivative(activation_kind::relu, y, delta);
  EXPECT_EQ(delta[0], 0);
}

TEST(activation, a_nan_stays_a_nan) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries) {
    std::vector<float> y{std::numeric_limits<float>::quiet_NaN()};
    activate(kind, y);
    EXPECT_TRUE(std::isnan(y[0])) << name;
  }
}

TEST(activation, slopes_far_out_are_those_of_the_lines) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries) {
    if (!is_rectifier(kind))
      continue;
    std::vector<float> kept{-80, 80}, delta{1, 1};
    if (!derivative_needs_input(kind))
      activate(kind, kept);
    multiply_by_derivative(kind, kept, delta);
    EXPECT_NEAR(delta[0], kind == activation_kind::leaky_relu ? 0.01 : 0, 1e-7) << name;
    EXPECT_NEAR(delta[1], 1, 1e-7) << name;
  }
}

TEST(activation_list, one_kind_is_for_all_layers) {
  const activation_list one = activation_kind::tanh;
  EXPECT_EQ(one.of(7), activation_kind::tanh);
  const activation_list two = std::vector{activation_kind::tanh, activation_kind::elu};
  EXPECT_EQ(two.of(1), activation_kind::elu);
  EXPECT_THROW(two.of(2), std::out_of_range);
}

TEST(activation, bias_is_added_to_each_row) {
  std::vector<float> y{1, -2, 3, -4};
  add_bias_and_activate(activation_kind::relu, std::vector<float>{10, 1}, y);
  EXPECT_EQ(y, (std::vector<float>{11, 0, 13, 0}));
  EXPECT_THROW(add_bias_and_activate(activation_kind::relu, std::vector<float>{1, 2, 3}, y),
               std::invalid_argument);
  EXPECT_THROW(multiply_by_derivative(activation_kind::relu, std::vector<float>{1}, y),
               std::invalid_argument);
}

} // namespace
} // namespace troupe::neural_network_test
