// Chains of layers: what single layers do with rows, and what they refuse.

#include "models/base/bit_hash.hpp"
#include "models/kinds/chain_kind.hpp"
#include "models/verify/verify.hpp"
#include "tests/models/layers/chains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace troupe::layer_values_test {
namespace {

using test::chain_of;
using test::cross_entropy;
using test::rows_of;

// Patches of 10 rows at a time, then of 6: two whole groups or three, and a rest.
TEST(layer_chain, groups_of_rows_of_a_convolution_give_what_one_row_at_a_time_gives) {
  constexpr size_t row_count = 23;
  const auto x = chain_of("convolution channels=2 activation=tanh; "
                          "convolution channels=3 activation=tanh; pool over=mean",
                          {28, 28, 1});
  const auto all = made_values(3, 1, row_count * x->feature_count(), -1, 1);
  std::vector<int32_t> labels(row_count);
  for (size_t i = 0; i < row_count; ++i)
    labels[i] = static_cast<int32_t>(i % 3);
  std::vector<float> parameters(x->layout().size());
  x->initialize(1, parameters);
  workspace memory;
  std::vector<float> whole(parameters.size()), part(parameters.size());
  std::vector<double> sum(parameters.size());
  const auto rows = rows_of(row_count, all, labels);
  x->gradient(parameters, rows, whole, memory);
  for (size_t i = 0; i < row_count; ++i) {
    x->gradient(parameters, part_of(rows, i, 1), part, memory);
    for (size_t j = 0; j < part.size(); ++j)
      sum[j] += part[j];
  }
  for (size_t j = 0; j < sum.size(); ++j)
    EXPECT_NEAR(whole[j], sum[j], 1e-4);
}

struct no_options {};

/// Whoever walks back to it is told.
class untouched : public layer {
public:
  explicit untouched(const row_shape& shape) : layer(shape, shape) {}
  void forward(const layer_call&, std::span<const float> x, std::span<float> y) const override {
    std::ranges::copy(x, y.begin());
  }
  void backward(const layer_call&, std::span<const float>, std::span<const float>, std::span<float>,
                std::span<float>) const override {
    throw std::logic_error("walked back");
  }
};

TEST(layer_chain, a_layer_before_all_that_learn_is_not_walked_back) {
  layers().add<no_options>("untouched", {1, "x"}, {}, [](const auto&, const auto& input) {
    return std::make_unique<untouched>(input.shape);
  });
  const auto x = chain_of("untouched; pool size=2; dense units=4; dense units=4", {4, 4, 1});
  EXPECT_EQ(x->layout().tensors().front().name, "layers.2.weight");
  const auto rows = made_values(3, 1, 16, -1, 1);
  const std::vector<int32_t> labels{1};
  std::vector<float> parameters(x->layout().size()), gradient(parameters.size());
  x->initialize(1, parameters);
  workspace memory;
  EXPECT_NO_THROW(x->gradient(parameters, rows_of(1, rows, labels), gradient, memory));
  const auto walked = chain_of("dense units=4; untouched", {4});
  std::vector<float> other(walked->layout().size());
  EXPECT_THROW(walked->gradient(other, rows_of(1, std::span{rows}.first(4), labels), other, memory),
               std::logic_error);
}

// A row of the scores' Jacobian, in a workspace that nobody trained in before.
TEST(layer_chain, derivatives_of_scores_are_those_of_training) {
  for (const auto* text : {"dense units=4 activation=gelu; dense units=3 activation=silu",
                           "layer-norm; activation function=gelu; dense units=4"}) {
    const auto x = chain_of(text, {6}, 2, loss_kind::squared);
    const auto features = made_values(4, 1, 6, -1, 1);
    std::vector<float> parameters(x->layout().size()), found(parameters.size());
    x->initialize(3, parameters);
    workspace memory;
    x->score_derivatives(parameters, features, 1, found, memory);
    const auto score = [&](size_t i, float step) {
      auto moved = parameters;
      moved[i] += step;
      std::vector<float> scores(2);
      x->predict(moved, features, scores, memory);
      return static_cast<double>(scores[1]);
    };
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], (score(i, 0.01f) - score(i, -0.01f)) / 0.02, 2e-3) << text << ' ' << i;
  }
}

// Another code than those of the table is its last row, whatever it is.
TEST(layer_chain, an_embedding_has_a_row_for_what_no_code_is) {
  const auto x = chain_of("embedding categories=3 width=4 scale=1; pool over=mean", {1});
  std::vector<float> parameters(x->layout().size());
  x->initialize(1, parameters);
  workspace memory;
  const auto of = [&](float code) {
    std::vector<float> result(3);
    x->predict(parameters, std::span<const float>{&code, 1}, result, memory);
    return result;
  };
  for (const auto code : {4.0f, -1.0f, 0.5f, 1e30f, std::nanf("")})
    EXPECT_EQ(of(code), of(3));
  for (const auto code : {0.0f, 1.0f, 2.0f})
    EXPECT_NE(of(code), of(3));
  EXPECT_NE(of(0), of(2));
}

TEST(layer_chain, dropout_is_keyed_by_row_and_step) {
  const auto x = chain_of("dropout rate=0.5; dense units=4", {40});
  ASSERT_TRUE(x->is_random());
  const auto features = made_values(5, 1, 80, 1, 2);
  const std::vector<int32_t> labels{0, 1};
  std::vector<float> parameters(x->layout().size());
  x->initialize(1, parameters);
  workspace memory;
  const auto gradient_of = [&](batch rows) {
    std::vector<float> result(parameters.size());
    x->gradient(parameters, rows, result, memory);
    return result;
  };
  const auto both = rows_of(2, features, labels);
  auto later = both;
  later.step = 1;
  EXPECT_EQ(gradient_of(both), gradient_of(both));
  EXPECT_NE(gradient_of(both), gradient_of(later));
  auto second = part_of(both, 1, 1);
  const auto alone = gradient_of(second);
  const auto first = gradient_of(part_of(both, 0, 1));
  const auto together = gradient_of(both);
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_NEAR(together[i], first[i] + alone[i], 1e-5);
  const std::vector<double> evaluated{x->evaluate(parameters, both, memory).loss_sum,
                                      x->evaluate(parameters, later, memory).loss_sum};
  EXPECT_EQ(evaluated[0], evaluated[1]);
}

// With the same seed and step the same values are dropped, so the loss has differences.
TEST(layer_chain, dropout_has_the_derivative_of_what_it_dropped) {
  const auto x = chain_of("dense units=8 activation=tanh; dropout rate=0.25; "
                          "dense units=6 activation=tanh; dropout rate=0.5",
                          {5});
  const auto features = made_values(5, 1, 20, -1, 1);
  const std::vector<int32_t> labels{0, 1, 2, 0};
  const auto rows = rows_of(4, features, labels);
  std::vector<float> parameters(x->layout().size()), gradient(parameters.size()),
    scrap(parameters.size());
  x->initialize(2, parameters);
  workspace memory;
  x->gradient(parameters, rows, gradient, memory);
  const auto loss = [&](size_t i, float step) {
    auto moved = parameters;
    moved[i] += step;
    return x->gradient(moved, rows, scrap, memory).loss_sum;
  };
  for (size_t i = 0; i < gradient.size(); ++i)
    EXPECT_NEAR(gradient[i], (loss(i, 0.01f) - loss(i, -0.01f)) / 0.02, 3e-3) << i;
}

TEST(layer_chain, each_dropout_drops_values_of_its_own) {
  constexpr size_t width = 1000;
  const auto x = chain_of("dropout rate=0.5; dropout rate=0.5", {width});
  const std::vector<float> ones(width, 1.0f);
  const std::vector<int32_t> labels{1};
  std::vector<float> parameters(x->layout().size()), gradient(parameters.size());
  workspace memory;
  x->gradient(parameters, rows_of(1, ones, labels), gradient, memory);
  const auto kept =
    std::ranges::count_if(std::span{gradient}.first(width), [](float value) { return value != 0; });
  EXPECT_NEAR(static_cast<double>(kept), width / 4.0, 60) << "a quarter, not half";
}

TEST(layer_chain, a_value_that_is_none_is_passed_on) {
  for (const auto* layers :
       {"pool size=2", "pool size=2 over=mean", "convolution channels=2; layer-norm",
        "convolution channels=2 activation=relu"}) {
    const auto x = chain_of(layers, {4, 4, 1});
    auto features = made_values(5, 1, 16, 1, 2);
    features[5] = std::nanf("");
    std::vector<float> parameters(x->layout().size());
    x->initialize(1, parameters);
    workspace memory;
    const std::vector<int32_t> label{1};
    const auto sums = x->evaluate(parameters, rows_of(1, features, label), memory);
    EXPECT_FALSE(std::isfinite(sums.loss_sum)) << layers;
  }
}

TEST(layer_chain, refuses_layers_that_do_not_fit) {
  const auto why = [](const std::string& layers, const std::vector<size_t>& shape) {
    return test::complaint_of([&] { chain_of(layers, shape); });
  };
  EXPECT_EQ(
    why("dense units=4; convolution channels=2", {4, 4}),
    "layers.1, convolution: takes rows of height x width x channels, not 4 x 4: say so with "
    "'shape', as in [28, 28, 1]");
  EXPECT_EQ(why("convolution channels=2 kernel=[5,5]", {4, 4, 1}),
            "layers.0, convolution: a kernel of 5 x 5 does not fit into rows of 4 x 4 x 1: take a "
            "smaller one, or padding = \"same\"");
  EXPECT_EQ(why("convolution kernel=[5]", {4, 4, 1}),
            "layers.0, convolution: 'kernel' is two extents of at least 1, as in [3, 3]");
  EXPECT_EQ(why("pool size=5", {4, 4, 1}),
            "layers.0, pool: windows of 5 do not fit into rows of 4 x 4 x 1");
  EXPECT_EQ(why("attention heads=3", {4, 4}),
            "layers.0, attention: a width of 4 is not divided by 3 heads");
  EXPECT_EQ(why("attention", {4}), "layers.0, attention: takes rows of positions x width, not 4");
  EXPECT_EQ(why("positions", {4}), "layers.0, positions: takes rows of positions x width, not 4");
  EXPECT_EQ(why("residual { dense units=3 }", {4}),
            "layers.1, residual: its layers make 3 of 4, and what is added has one shape");
  EXPECT_EQ(why("block repeat=256 { block repeat=4 { dense units=2 } }", {4}),
            "layers.1000, dense: a chain has at most 1000 steps");
  EXPECT_EQ(
    why("convolution channels=16777216 kernel=[4096,4096] padding=same", {4, 4, 1}),
    "layers.0, convolution: 16777216 x 4096 x 4096 x 1 is too large: more than 2^40 values");
  EXPECT_EQ(why("pool stride=2", {4, 4, 1}),
            "layers.0, pool: 'stride' needs a 'size': without one a window is the whole row");
  EXPECT_EQ(why("pool over=mean", {1025, 1024, 1}),
            "layers.0, pool: a window of 1025 x 1024 has more than 2^20 places: take a smaller "
            "'size'");
  EXPECT_EQ(why("pool over=mean", {1024, 1024, 1}), "");
  EXPECT_EQ(why("layer-norm", {4, 4, 1}),
            "layers.0, layer-norm: the last extent of 4 x 4 x 1 is 1: of one value nothing is left "
            "when its mean is taken off");
  EXPECT_EQ(why("pool size=2; embedding categories=3 width=2; dense units=2; embedding", {4, 4, 1}),
            "layers.3, embedding: it reads codes, which have no derivative: the layers before it "
            "would never learn");
}

TEST(layer_chain, refuses_a_shape_or_scores_that_are_none) {
  EXPECT_THROW(make_chain({{4, 4}, "", true}, 15, 3, cross_entropy), std::invalid_argument);
  EXPECT_THROW(make_chain({{1, 2, 2, 4}, "", true}, 16, 3, cross_entropy), std::invalid_argument);
  EXPECT_THROW(make_chain({{1 << 24, 1 << 24, 1 << 16}, "", true}, 16, 3, cross_entropy),
               std::invalid_argument);
  EXPECT_THROW(make_chain({{}, "dense units=4", false}, 16, 3, cross_entropy),
               std::invalid_argument);
  EXPECT_NO_THROW(make_chain({{}, "dense units=3", false}, 16, 3, cross_entropy));
  EXPECT_THROW(make_chain({{}, "activation", false}, 3, 3, cross_entropy), std::invalid_argument);
}

// Chains of layers beside PyTorch's numbers (tests/reference/layers.py).

using test::append_flat;
using test::flat;
using test::load_reference;

std::unique_ptr<layer_chain> made_from(const nlohmann::json& given) {
  std::vector<size_t> shape = given["shape"];
  const auto features = size_of(shape);
  return make_chain({std::move(shape), given["layers"], true}, features, 3,
                    loss_kind::categorical_cross_entropy);
}

class reference_chain : public testing::TestWithParam<size_t> {
protected:
  reference_chain()
    : given_(load_reference("layers.json")["cases"][GetParam()]),
      features_(flat<float>(given_["features"])),
      labels_(flat<int32_t>(given_["labels"])),
      model_(made_from(given_)) {
    for (const auto& tensor : given_["tensors"])
      append_flat(tensor["values"], parameters_);
    rows_.row_count = labels_.size();
    rows_.features = features_;
    rows_.labels = labels_;
  }

  nlohmann::json given_;
  std::vector<float> features_;
  std::vector<int32_t> labels_;
  std::unique_ptr<layer_chain> model_;
  std::vector<float> parameters_;
  batch rows_;
  workspace memory_;
};

TEST_P(reference_chain, has_the_same_tensors) {
  ASSERT_EQ(model_->layout().tensors().size(), given_["tensors"].size());
  for (size_t i = 0; i < given_["tensors"].size(); ++i) {
    EXPECT_EQ(model_->layout().tensors()[i].name, given_["tensors"][i]["name"]);
    EXPECT_EQ(model_->layout().tensors()[i].shape, given_["tensors"][i]["shape"]);
  }
}

TEST_P(reference_chain, has_the_same_gradient) {
  std::vector<float> gradient(parameters_.size(), 7.0f);
  const auto sums = model_->gradient(parameters_, rows_, gradient, memory_);
  EXPECT_NEAR(sums.loss_sum, given_["loss_sum"].get<double>(), 2e-5);
  size_t i = 0;
  for (const auto& tensor : given_["tensors"])
    for (const auto& value : tensor["gradients"])
      EXPECT_NEAR(gradient[i++], value.get<double>(), 2e-5) << tensor["name"] << ", element " << i;
}

TEST_P(reference_chain, has_the_same_predictions) {
  std::vector<float> predictions(rows_.row_count * 3);
  model_->predict(parameters_, features_, predictions, memory_);
  const auto expected = flat<double>(given_["predictions"]);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(predictions[i], expected[i], 2e-6);
}

TEST_P(reference_chain, has_the_same_losses_over_twenty_steps) {
  std::vector<float> gradient(parameters_.size());
  const auto rate = given_["rate"].get<float>() / static_cast<float>(rows_.row_count);
  for (const auto& expected : given_["losses"]) {
    const auto sums = model_->gradient(parameters_, rows_, gradient, memory_);
    EXPECT_NEAR(sums.loss_sum / static_cast<double>(rows_.row_count), expected.get<double>(), 1e-5);
    for (size_t i = 0; i < gradient.size(); ++i)
      parameters_[i] -= rate * gradient[i];
  }
}

// Pieces that a listener is told of are final, and disjoint.
TEST_P(reference_chain, tells_final_pieces) {
  std::vector<float> gradient(parameters_.size());
  std::vector<float> seen(parameters_.size(), std::nanf(""));
  gradient_listener listener;
  listener.is_wanted_first = [](size_t element) { return element % 2 == 0; };
  listener.on_piece = [&](size_t begin, size_t end, const batch_sums&) {
    for (auto i = begin; i < end; ++i) {
      EXPECT_TRUE(std::isnan(seen[i])) << "element " << i << " comes twice";
      seen[i] = gradient[i];
    }
  };
  model_->gradient(parameters_, rows_, gradient, memory_, &listener);
  EXPECT_GT(std::ranges::count_if(seen, [](float x) { return !std::isnan(x); }), 0);
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_TRUE(std::isnan(seen[i]) || seen[i] == gradient[i]) << "element " << i;
}

// Whatever rows are computed beside it.
TEST_P(reference_chain, gives_a_row_alone_what_it_gives_among_others) {
  std::vector<float> all(rows_.row_count * 3), one(3);
  model_->predict(parameters_, features_, all, memory_);
  const auto width = model_->feature_count();
  for (size_t i = 0; i < rows_.row_count; ++i) {
    model_->predict(parameters_, std::span<const float>{features_}.subspan(i * width, width), one,
                    memory_);
    for (size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(one[c], all[i * 3 + c], 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(all, reference_chain, testing::Range<size_t>(0, 4), [](const auto& x) {
  return load_reference("layers.json")["cases"][x.param]["name"].template get<std::string>();
});

} // namespace
} // namespace troupe::layer_values_test
