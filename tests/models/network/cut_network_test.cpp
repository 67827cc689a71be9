// Networks whose layers are cut in parts: the same function as uncut, to rounding, and the same bits
// whoever computes which part.

#include "models/base/random.hpp"
#include "models/math/reduction.hpp"
#include "models/network/chained_model.hpp"
#include "models/network/neural_network.hpp"
#include "models/segments/layer_cuts.hpp"
#include "tests/support/walk/two_actors.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::cut_network_test {
namespace {

std::vector<layer_cut> cuts_of(std::string_view word) {
  std::vector<layer_cut> result;
  for (char letter : word)
    result.push_back(letter == 'O'   ? layer_cut::outputs
                     : letter == 'I' ? layer_cut::inputs
                                     : layer_cut::none);
  return result;
}

struct rows_of_case {
  rows_of_case(const neural_network_options& options, size_t row_count)
    : features(row_count * options.features), targets(row_count * options.outputs) {
    fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, features);
    fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 1, targets);
    for (auto& target : targets)
      target = std::abs(target) + 0.1f;
    for (size_t i = 0; i < row_count; ++i)
      labels.push_back(static_cast<int32_t>((i * 7 + 3) % options.outputs));
    rows.row_count = row_count;
    rows.features = features;
    if (is_classification(options.loss.kind))
      rows.labels = labels;
    else
      rows.targets = targets;
    rows.seed = 5;
    rows.step = 3;
    rows.first_row = 11;
  }

  std::vector<float> features, targets;
  std::vector<int32_t> labels;
  batch rows;
};

/// Parameters that follow from the seed, with biases that are not 0, in working order.
std::vector<float> parameters_of(const model& network) {
  std::vector<float> logical(network.layout().size());
  fill_normal({2, random_purpose::initialization, 0}, 0, 0.4f, logical);
  std::vector<float> result(logical.size());
  network.layout().to_working(logical, result);
  return result;
}

struct gradient_of_case {
  gradient_of_case(const model& network, const batch& rows)
    : values(network.layout().size()), logical(values.size()) {
    workspace memory;
    sums = network.gradient(parameters_of(network), rows, values, memory);
    network.layout().to_logical(values, logical);
  }

  std::vector<float> values, logical;
  batch_sums sums;
};

void expect_near(std::span<const float> expected, std::span<const float> actual,
                 const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size());
  double largest = 0;
  for (float x : expected)
    largest = std::max(largest, static_cast<double>(std::abs(x)));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(expected[i], actual[i], 2e-6 * std::max(largest, 1.0)) << what << ", element " << i;
}

void expect_same_function(neural_network_options options, const std::string& word, size_t parts) {
  const rows_of_case x{options, 7};
  const neural_network whole{options};
  options.parts = parts;
  options.cuts = cuts_of(word);
  const neural_network cut{options};
  const auto what = word + " in " + std::to_string(parts) + ", " +
                    std::string{name_of(options.loss.kind)} + ", " +
                    std::string{name_of(options.activation.of(0))};
  const gradient_of_case expected{whole, x.rows};
  const gradient_of_case actual{cut, x.rows};
  EXPECT_NEAR(actual.sums.loss_sum, expected.sums.loss_sum, 1e-5 * std::abs(expected.sums.loss_sum))
    << what;
  EXPECT_EQ(actual.sums.sample_count, 7u) << what;
  EXPECT_EQ(actual.sums.correct_count, expected.sums.correct_count) << what;
  EXPECT_NEAR(actual.sums.squared_error_sum, expected.sums.squared_error_sum,
              1e-4 * (1 + expected.sums.squared_error_sum))
    << what;
  expect_near(expected.logical, actual.logical, what);
  workspace memory;
  std::vector<float> predicted(7 * options.outputs), others(predicted.size());
  whole.predict(parameters_of(whole), x.features, predicted, memory);
  cut.predict(parameters_of(cut), x.features, others, memory);
  expect_near(predicted, others, what + ", predictions");
  EXPECT_NEAR(cut.evaluate(parameters_of(cut), x.rows, memory).loss_sum,
              whole.evaluate(parameters_of(whole), x.rows, memory).loss_sum,
              1e-5 * std::abs(expected.sums.loss_sum) + 1e-6)
    << what;
}

TEST(cut_network, is_the_same_function_for_every_cut_loss_and_activation) {
  for (const auto& [loss, loss_name] : name_table<loss_kind>::entries) {
    if (is_binary(loss))
      continue;
    for (const auto& [activation, name] : name_table<activation_kind>::entries)
      for (const double dropout : {0.0, 0.4})
        for (const auto* word : {"OIO", "IOI", "NNO", "OIN", "INN"})
          for (const size_t parts : {2, 3, 4}) {
            neural_network_options options{5, 3, {6, 7}, activation, loss};
            options.dropout = dropout;
            expect_same_function(options, word, parts);
          }
  }
}

// Sizes that parts do not divide, parts without units, layers of few outputs.
TEST(cut_network, sizes_need_not_divide) {
  for (const size_t parts : {2, 3, 4, 5, 8})
    for (const auto* word : {"OI", "IO", "NO", "IN"})
      for (const bool bias : {true, false}) {
        neural_network_options options{
          3, 5, {2}, activation_kind::gelu, loss_kind::categorical_cross_entropy};
        options.bias = bias;
        expect_same_function(options, word, parts);
        options.hidden = {11};
        options.features = 1;
        expect_same_function(options, word, parts);
      }
}

TEST(cut_network, a_binary_loss_and_class_weights_work) {
  neural_network_options options{5, 1, {6}, activation_kind::tanh, loss_kind::binary_cross_entropy};
  const neural_network whole{options};
  options.parts = 2;
  options.cuts = cuts_of("OI");
  const neural_network cut{options};
  std::vector<float> features(20);
  fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, features);
  const std::vector<int32_t> labels{0, 1, 1, 0};
  const batch rows{4, features, labels, {}};
  expect_near(gradient_of_case(whole, rows).logical, gradient_of_case(cut, rows).logical, "binary");

  neural_network_options weighted{
    5, 3, {6}, activation_kind::relu, loss_kind::categorical_cross_entropy};
  weighted.loss.class_weights = {0.5f, 2, 0};
  expect_same_function(weighted, "NO", 2);
}

// The linear model of requirement C, each way it can be cut, against its published values.
TEST(cut_network, a_linear_model_has_the_published_values_however_it_is_cut) {
  const std::vector<float> logical{-0.6661f, -0.1387f, -0.3396f, -0.1886f, -0.6247f, 0.2838f};
  const std::vector<float> features{1, 2, 1, 3, 1, 4, 1, 5};
  const std::vector<float> targets{2, 3, 4, 5, 6, 7, 8, 9};
  struct share {
    size_t begin, count;
    double loss;
    std::vector<float> dw, db;
  };
  const std::vector<share> shares{
    {0, 4, 51.36294, {-6.77625f, -26.39025f, -6.71590f, -26.24140f}, {-6.77625f, -6.71590f}},
    {0, 2, 22.17216, {-4.63755f, -12.12855f, -4.52730f, -11.86540f}, {}},
    {2, 2, 80.55373, {-8.91495f, -40.65195f, -8.90450f, -40.61740f}, {}}};
  for (const auto* word : {"N", "O", "I"})
    for (size_t parts = 1; parts <= 4; ++parts) {
      neural_network_options options{2, 2, {}, activation_kind::identity, loss_kind::squared};
      options.parts = parts;
      options.cuts = cuts_of(word);
      const neural_network network{options};
      std::vector<float> parameters(6), gradient(6), found(6);
      network.layout().to_working(logical, parameters);
      for (const auto& x : shares) {
        const batch rows{4, features, {}, targets};
        workspace memory;
        const auto sums =
          network.gradient(parameters, part_of(rows, x.begin, x.count), gradient, memory);
        network.layout().to_logical(gradient, found);
        const auto count = static_cast<float>(x.count);
        EXPECT_NEAR(sums.loss_sum / count, x.loss, 5e-6 * x.loss) << word << parts;
        for (size_t i = 0; i < 4; ++i)
          EXPECT_NEAR(found[i] / count, x.dw[i], 2e-6f * std::abs(x.dw[i])) << word << parts;
        for (size_t i = 0; i < x.db.size(); ++i)
          EXPECT_NEAR(found[4 + i] / count, x.db[i], 2e-6f * std::abs(x.db[i])) << word << parts;
      }
    }
}

// Full-batch descent by hand, 7 rows, 5 features, 3 targets: at each step the loss of the uncut model.
TEST(cut_network, descends_like_the_uncut_model_at_every_step) {
  for (const auto* word : {"O", "I"})
    for (size_t parts = 1; parts <= 4; ++parts) {
      neural_network_options options{5, 3, {}, activation_kind::identity, loss_kind::squared};
      const rows_of_case x{options, 7};
      const neural_network whole{options};
      options.parts = parts;
      options.cuts = cuts_of(word);
      const neural_network cut{options};
      auto a = parameters_of(whole), b = parameters_of(cut);
      std::vector<float> gradient(a.size());
      workspace memory;
      for (size_t step = 0; step < 50; ++step) {
        const auto expected = whole.gradient(a, x.rows, gradient, memory).loss_sum;
        for (size_t i = 0; i < a.size(); ++i)
          a[i] -= 0.02f * gradient[i];
        const auto actual = cut.gradient(b, x.rows, gradient, memory).loss_sum;
        for (size_t i = 0; i < b.size(); ++i)
          b[i] -= 0.02f * gradient[i];
        ASSERT_NEAR(actual, expected, 1e-6 * expected) << word << parts << ", step " << step;
      }
    }
}

// What actors do: each part in memory of its own, its share handed over as it is.
TEST(cut_network, bits_do_not_depend_on_who_computes_a_part) {
  for (const auto* word : {"OIOIN", "IOINO"}) {
    neural_network_options options{
      40, 30, {50, 60, 70, 20}, activation_kind::silu, loss_kind::categorical_cross_entropy};
    options.parts = 4;
    options.cuts = cuts_of(word);
    options.dropout = 0.2;
    const neural_network network{options};
    const rows_of_case x{options, 33};
    const auto parameters = parameters_of(network);
    const gradient_of_case expected{network, x.rows};

    const auto made = gradient_by_two(network, parameters, x.rows);
    EXPECT_EQ(made.sums, expected.sums) << word;
    EXPECT_EQ(made.values, expected.values) << word;
  }
}

TEST(cut_network, starts_from_the_parameters_of_the_uncut_one) {
  for (const auto& [kind, name] : name_table<initialization_kind>::entries) {
    neural_network_options options{5, 3, {6, 7}};
    options.initialization = kind;
    const neural_network whole{options};
    options.parts = 3;
    options.cuts = cuts_of("OIO");
    const neural_network cut{options};
    std::vector<float> expected(whole.layout().size()), working(expected.size()),
      logical(expected.size());
    whole.initialize(7, expected);
    cut.initialize(7, working);
    cut.layout().to_logical(working, logical);
    EXPECT_EQ(logical, expected) << name;
    std::vector<float> back(expected.size());
    cut.layout().to_working(logical, back);
    EXPECT_EQ(back, working) << name;
    EXPECT_EQ(cut.layout().tensors(), whole.layout().tensors()) << "files do not know of cuts";
  }
}

TEST(cut_network, scores_of_one_row_have_derivatives_however_they_are_cut) {
  neural_network_options options{4, 5, {6}, activation_kind::gelu, loss_kind::squared};
  const neural_network whole{options};
  options.parts = 3;
  options.cuts = cuts_of("NO");
  const neural_network cut{options};
  const rows_of_case x{options, 1};
  workspace memory;
  for (size_t output = 0; output < 5; ++output) {
    std::vector<float> expected(whole.layout().size()), working(expected.size()),
      logical(expected.size());
    whole.score_derivatives(parameters_of(whole), x.features, output, expected, memory);
    cut.score_derivatives(parameters_of(cut), x.features, output, working, memory);
    cut.layout().to_logical(working, logical);
    expect_near(expected, logical, "output " + std::to_string(output));
  }
}

TEST(cut_network, no_parts_and_no_cuts_are_refused) {
  neural_network_options options{4, 5, {6}};
  options.parts = 0;
  EXPECT_THROW(neural_network{options}, std::invalid_argument);
  options.parts = 2;
  options.cuts = cuts_of("ON");
  EXPECT_THROW(neural_network{options}, std::invalid_argument);
  neural_network_options binary{4, 1, {6}, activation_kind::tanh, loss_kind::hinge};
  binary.parts = 2;
  binary.cuts = cuts_of("NO");
  EXPECT_THROW(neural_network{binary}, std::invalid_argument);
}

/// "OIN" for outputs, inputs, none.
std::string word_of(const std::vector<layer_cut>& cuts) {
  std::string result;
  for (auto cut : cuts)
    result += "NOI"[static_cast<size_t>(cut)];
  return result;
}

std::string cheapest(std::vector<size_t> widths, size_t parts) {
  return word_of(cheapest_cuts(widths, parts));
}

TEST(layer_cuts, wide_layers_are_cut_in_pairs_and_narrow_ones_not) {
  EXPECT_EQ(cheapest({784, 2048, 2048, 10}, 4), "OIN") << "20 k repeated beat a sum of 2,048";
  EXPECT_EQ(cheapest({2048, 2048, 2048, 2048, 2048}, 2), "OIOI");
  EXPECT_EQ(cheapest({784, 4096, 10}, 4), "OI");
  EXPECT_EQ(cheapest({784, 512, 50'000}, 4), "IO") << "OI would add up logits";
  EXPECT_EQ(cheapest({784, 10}, 2), "O");
  EXPECT_EQ(cheapest({100'000, 1}, 4), "I") << "one unit cannot be shared";
  EXPECT_EQ(cheapest({784, 2048, 2048, 10}, 1), "NNN");
  EXPECT_EQ(cheapest({64, 8, 6, 10}, 4), "OIN") << "it does not pay, but was asked for";
  EXPECT_EQ(cheapest({1, 1}, 2), "I");
}

// The law of the choice is its sum: no sentence of the grammar costs less.
TEST(layer_cuts, every_choice_keeps_the_grammar) {
  for (size_t seed = 1; seed < 3'000; ++seed) {
    std::vector<size_t> widths;
    auto rest = seed * 2'654'435'761u;
    for (size_t i = 0; i < 2 + seed % 5; ++i, rest = rest * 6'364'136'223'846'793'005u + 1)
      widths.push_back(1 + (rest >> 33) % (1 + (rest >> 13) % 3'000));
    const auto cuts = cheapest_cuts(widths, 1 + seed % 9);
    EXPECT_EQ(cut_problem(cuts, widths.size() - 1), "") << word_of(cuts);
  }
}

TEST(layer_cuts, what_cannot_be_cut_is_refused_by_layer) {
  for (const auto* good : {"", "N", "O", "I", "OI", "IOI", "NOIO", "IN"})
    EXPECT_EQ(cut_problem(cuts_of(good), std::string_view{good}.size()), "") << good;
  EXPECT_EQ(cut_problem(cuts_of("NON"), 3),
            "layer 1 is cut by outputs, so layer 2 must be cut by inputs");
  EXPECT_EQ(cut_problem(cuts_of("OOI"), 3),
            "layer 0 is cut by outputs, so layer 1 must be cut by inputs");
  EXPECT_EQ(cut_problem(cuts_of("NI"), 2),
            "layer 1 is cut by inputs, so layer 0 must be cut by outputs");
  EXPECT_EQ(cut_problem(cuts_of("N"), 2), "1 cuts for 2 layers");
}

TEST(layer_cuts, segments_lie_between_whole_activations) {
  const std::vector<layer_segment> expected{{0, 1, layer_cut::inputs},
                                            {1, 1, layer_cut::none},
                                            {2, 2, layer_cut::inputs},
                                            {4, 1, layer_cut::outputs}};
  EXPECT_EQ(segments_of(cuts_of("INOIO")), expected);
}

TEST(layer_cuts, only_wide_networks_are_cut_by_default) {
  EXPECT_EQ(default_part_count(std::vector<size_t>{}), 1u);
  EXPECT_EQ(default_part_count(std::vector<size_t>{1023, 4096}), 1u);
  EXPECT_EQ(default_part_count(std::vector<size_t>{1024}), 2u);
  EXPECT_EQ(default_part_count(std::vector<size_t>{4096, 2048}), 4u);
  EXPECT_EQ(default_part_count(std::vector<size_t>{3000}), 4u) << "parts of 750 units";
  EXPECT_EQ(default_part_count(std::vector<size_t>{100'000}), 8u);
}

} // namespace
} // namespace troupe::cut_network_test
