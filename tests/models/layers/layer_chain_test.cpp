// Chains of layers: the contract of models, whole and in parts, and what they refuse.

#include "troupe/models/kinds/chain_kind.hpp"
#include "troupe/models/kinds/made_values.hpp"
#include "troupe/models/verify/verify.hpp"
#include "troupe/tests/support/walk/two_actors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace troupe {
namespace {

batch rows_of(size_t count, std::span<const float> features, std::span<const int32_t> labels) {
  batch result;
  result.row_count = count;
  result.features = features;
  result.labels = labels;
  return result;
}

const loss_options cross_entropy = loss_kind::categorical_cross_entropy;

std::unique_ptr<layer_chain> chain_of(const std::string& layers, std::vector<size_t> shape,
                                      size_t outputs = 3, loss_options loss = cross_entropy) {
  const auto features = size_of(shape);
  return make_chain({std::move(shape), layers, true}, features, outputs, loss);
}

// ---- The contract

struct kept_contract {
  const char* name;
  const char* layers;
  std::vector<size_t> shape;
};

void PrintTo(const kept_contract& x, std::ostream* out) {
  *out << x.layers;
}

class chain_contract : public testing::TestWithParam<kept_contract> {};

TEST_P(chain_contract, is_kept) {
  for (const auto& [loss, outputs] :
       {std::pair{loss_options{loss_kind::squared}, size_t{2}}, {cross_entropy, size_t{3}}}) {
    const auto x = chain_of(GetParam().layers, GetParam().shape, outputs, loss);
    EXPECT_EQ(findings_text(verify_model(*x, {.has_dropout = x->is_random()})), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
  all, chain_contract,
  testing::Values(
    kept_contract{"nothing_but_the_head", "", {5}},
    kept_contract{"dense", "dense units=4 activation=tanh; dense units=3 bias=false", {5}},
    kept_contract{"dense_by_position", "dense units=4 activation=gelu", {3, 5}},
    kept_contract{"dense_flattened", "dense units=4 activation=silu flatten=true", {3, 5}},
    kept_contract{
      "activation", "dense units=4; activation function=gelu; activation function=tanh", {5}},
    kept_contract{
      "scale", "dense units=4; scale factor=-0.5 offset=2; dense units=4 activation=tanh", {5}},
    kept_contract{"dropout", "dense units=8 activation=tanh; dropout rate=0.25", {5}},
    kept_contract{"convolution", "convolution channels=3 kernel=[2,3] activation=gelu", {5, 6, 2}},
    kept_contract{"convolution_strided",
                  "convolution channels=5 kernel=[3,2] stride=2 padding=same bias=false; "
                  "convolution channels=6 kernel=[1,1] activation=tanh",
                  {5, 6, 2}},
    kept_contract{
      "kernel_beyond_the_rows",
      "convolution channels=2 kernel=[5,7] padding=same; convolution channels=2 kernel=[3,4]",
      {3, 4, 1}},
    kept_contract{"pool_max", "convolution channels=3 kernel=[1,1]; pool size=2", {5, 4, 2}},
    kept_contract{"pool_max_overlaps",
                  "convolution channels=11 kernel=[1,1]; pool size=3 stride=2; "
                  "convolution channels=4 kernel=[1,2]",
                  {7, 7, 2}},
    kept_contract{"pool_overlaps", "dense units=4; pool size=2 stride=1 over=mean", {5, 3}},
    kept_contract{"pool_all", "convolution channels=3; pool over=mean", {5, 4, 2}},
    kept_contract{"pool_last", "dense units=4; pool over=last", {5, 3}},
    kept_contract{"layer_norm", "dense units=6; layer-norm; dense units=4", {3, 5}},
    kept_contract{
      "positions", "positions scale=0.5; dense units=4 activation=tanh; pool over=mean", {3, 5}},
    kept_contract{"attention", "dense units=6; attention heads=2", {4, 5}},
    kept_contract{"attention_causal", "attention heads=1 causal=true; pool over=last", {4, 5}},
    kept_contract{"residual_in_residual",
                  "dense units=4; residual { dense units=4 activation=tanh; residual { layer-norm; "
                  "dense units=4 } }; residual { dense units=4 }",
                  {3, 5}},
    kept_contract{"residual_from_the_features", "residual { dense units=5 activation=tanh }", {5}},
    kept_contract{"residual_around_what_learns_nothing",
                  "dense units=4; residual { activation function=tanh }",
                  {5}}),
  [](const auto& x) { return std::string{x.param.name}; });

// ---- In parts

constexpr const char* cut_layers =
  "dense units=8; positions scale=0.5; block repeat=2 { residual { layer-norm; attention heads=4 "
  "}; "
  "residual { dropout rate=0.2; dense units=12 activation=gelu; dense units=8 } }; "
  "residual { dense units=5 activation=tanh; dense units=8 bias=false }; "
  "residual { attention heads=2 causal=true }; residual { layer-norm; dense units=8 }; "
  "residual { residual { layer-norm; attention heads=4 } }; layer-norm; pool over=mean";

std::unique_ptr<layer_chain> cut_chain(size_t parts) {
  return make_chain({{6, 3}, cut_layers, true, parts}, 18, 3, cross_entropy);
}

TEST(layers_in_parts, are_segments) {
  std::string whole, cut;
  const auto one = cut_chain(1), four = cut_chain(4);
  for (const auto& x : one->chain().segments())
    whole += x.cut == layer_cut::none ? 'N' : 'I';
  for (const auto& x : four->chain().segments())
    cut += x.cut == layer_cut::none ? 'N' : 'I';
  EXPECT_EQ(whole, "NNNNNNNNNNNN");
  EXPECT_EQ(cut, "NNNINININIIINNNN");
  EXPECT_FALSE(four->chain().exists(11, 0)) << "two heads in four parts";
  EXPECT_TRUE(four->chain().exists(11, 1));
}

TEST(layers_in_parts, give_what_they_give_whole) {
  const auto whole = cut_chain(1);
  const auto all = made_values(5, 1, 9 * 18, -1, 1);
  const std::vector<int32_t> labels{0, 1, 2, 0, 1, 2, 0, 1, 2};
  const auto rows = rows_of(9, all, labels);
  workspace memory;
  std::vector<float> parameters(whole->layout().size()), expected(parameters.size());
  whole->initialize(3, parameters);
  const auto sums = whole->gradient(parameters, rows, expected, memory);
  for (const size_t parts : {2, 3, 4}) {
    const auto cut = cut_chain(parts);
    EXPECT_EQ(cut->layout().tensors(), whole->layout().tensors()) << "files do not know of parts";
    std::vector<float> working(parameters.size()), made(parameters.size()),
      logical(parameters.size());
    cut->initialize(3, working);
    cut->layout().to_logical(working, logical);
    EXPECT_EQ(logical, parameters) << parts;
    workspace own;
    EXPECT_NEAR(cut->gradient(working, rows, made, own).loss_sum, sums.loss_sum, 1e-4) << parts;
    cut->layout().to_logical(made, logical);
    for (size_t i = 0; i < logical.size(); ++i)
      EXPECT_NEAR(logical[i], expected[i], 2e-4) << parts << ", element " << i;
  }
}

TEST(layers_in_parts, have_bits_that_do_not_depend_on_who_computes_a_part) {
  const auto cut = cut_chain(4);
  const auto all = made_values(5, 1, 9 * 18, -1, 1);
  const std::vector<int32_t> labels{0, 1, 2, 0, 1, 2, 0, 1, 2};
  const auto rows = rows_of(9, all, labels);
  workspace memory;
  std::vector<float> parameters(cut->layout().size()), expected(parameters.size());
  cut->initialize(3, parameters);
  const auto sums = cut->gradient(parameters, rows, expected, memory);
  const auto made = gradient_by_two(*cut, parameters, rows);
  EXPECT_EQ(made.sums, sums);
  EXPECT_EQ(made.values, expected);
}

// A plan counts what a replica holds before it holds it.
TEST(layers_in_parts, take_the_memory_that_is_planned) {
  for (const size_t parts : {1, 4}) {
    const auto x = cut_chain(parts);
    const size_t count = 300;
    const auto all = made_values(5, 1, count * 18, -1, 1);
    const std::vector<int32_t> labels(count, 1);
    std::vector<float> parameters(x->layout().size()), gradient(parameters.size());
    x->initialize(3, parameters);
    workspace memory;
    x->gradient(parameters, rows_of(count, all, labels), gradient, memory);
    const auto& chain = x->chain();
    const auto planned =
      static_cast<double>(chain.memory_floats({0, chain.size()}, count, count) * sizeof(float));
    EXPECT_LT(static_cast<double>(memory.byte_count()), 1.2 * planned) << parts;
    EXPECT_GT(static_cast<double>(memory.byte_count()), 0.6 * planned) << parts;
    uint64_t one = 0, halves = 0;
    for (size_t k = 0; k < chain.size(); ++k) {
      one += chain.multiply_adds(k, {0, parts});
      halves += chain.multiply_adds(k, {0, parts / 2}) + chain.multiply_adds(k, {parts / 2, parts});
    }
    EXPECT_GT(one, 0u);
    if (parts > 1) { // what is not cut is computed by both, but for its gradient
      EXPECT_GT(halves, one);
      EXPECT_LT(halves, 2 * one);
    }
  }
}

TEST(layers_in_parts, keep_the_contract_of_models) {
  const auto x = make_chain({{4, 6},
                             "residual { layer-norm; attention heads=3 }; residual { layer-norm; "
                             "dense units=7 activation=silu; dense units=6 }",
                             true,
                             2},
                            24, 3, cross_entropy);
  EXPECT_EQ(findings_text(verify_model(*x)), "");
}

// ---- Shapes, and what is refused

TEST(layer_chain, groups_of_rows_of_a_convolution_give_what_one_row_at_a_time_gives) {
  // 4,096 positions of 9 values: a group is one row, of the others many.
  const auto large =
    chain_of("convolution channels=3 activation=tanh padding=same; pool size=0", {64, 64, 1});
  const auto all = made_values(3, 1, 7 * large->feature_count(), -1, 1);
  std::vector<int32_t> labels{0, 1, 2, 0, 1, 2, 0};
  std::vector<float> parameters(large->layout().size());
  large->initialize(1, parameters);
  workspace memory;
  std::vector<float> whole(parameters.size()), part(parameters.size());
  std::vector<double> sum(parameters.size());
  const auto rows = rows_of(7, all, labels);
  large->gradient(parameters, rows, whole, memory);
  for (size_t i = 0; i < 7; ++i) {
    large->gradient(parameters, part_of(rows, i, 1), part, memory);
    for (size_t j = 0; j < part.size(); ++j)
      sum[j] += part[j];
  }
  for (size_t j = 0; j < sum.size(); ++j)
    EXPECT_NEAR(whole[j], sum[j], 1e-4);
}

TEST(layer_chain, a_layer_before_all_that_learn_is_not_walked_back) {
  const auto x =
    chain_of("pool size=2; activation function=relu; dense units=4; dense units=4", {4, 4, 1});
  EXPECT_EQ(findings_text(verify_model(*x)), "");
  EXPECT_EQ(x->layout().tensors().front().name, "layers.2.weight");
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
  const auto why = [](const std::string& layers, std::vector<size_t> shape) -> std::string {
    try {
      chain_of(layers, std::move(shape));
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
    return "";
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
  EXPECT_EQ(why("convolution channels=16777216 kernel=[4096,4096] padding=same", {4, 4, 1}),
            "layers.0, convolution: it is too large");
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

} // namespace
} // namespace troupe
