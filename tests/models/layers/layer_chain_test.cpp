// Chains of layers: the contract of models, whole and in parts.

#include "models/base/bit_hash.hpp"
#include "models/base/random.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/single_output.hpp"
#include "models/network/neural_network.hpp"
#include "models/verify/verify.hpp"
#include "tests/models/layers/chains.hpp"
#include "tests/support/walk/two_actors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace troupe::layer_chain_test {
namespace {

using test::chain_of;
using test::cross_entropy;
using test::rows_of;

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
    kept_contract{"embedding",
                  "embedding categories=4 width=3; dense units=4 activation=tanh flatten=true",
                  {5}},
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

// Products with one output against plain sums in double, for every kind of remainder.

std::vector<float> uniform(size_t count, uint64_t seed) {
  std::vector<float> result(count);
  fill_uniform({seed, random_purpose::synthetic_features, 0}, 0, -1, 1, result);
  return result;
}

TEST(single_output, products_are_those_of_a_plain_loop) {
  for (size_t inputs : {1, 3, 15, 16, 17, 48, 100, 128, 131, 250})
    for (size_t rows : {1, 2, 4, 5, 11}) {
      const auto x = uniform(rows * inputs, 1);
      const auto weight = uniform(inputs, 2);
      const auto delta = uniform(rows, 3);
      std::vector<float> y(rows);
      single_output_forward(weight, x, y);
      std::vector<float> gradient(inputs, 0.5f);
      add_single_output_gradient(x, delta, gradient);
      for (size_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (size_t j = 0; j < inputs; ++j)
          sum += double(x[i * inputs + j]) * double(weight[j]);
        EXPECT_NEAR(y[i], sum, 1e-5) << inputs << " " << rows;
      }
      for (size_t j = 0; j < inputs; ++j) {
        double sum = 0.5;
        for (size_t i = 0; i < rows; ++i)
          sum += double(x[i * inputs + j]) * double(delta[i]);
        EXPECT_NEAR(gradient[j], sum, 1e-5) << inputs << " " << rows;
      }
    }
}

// The kernels read beyond a row's end where there is a next row.
TEST(single_output, a_row_that_is_not_finite_does_not_show_in_its_neighbours) {
  constexpr size_t inputs = 19;
  constexpr size_t rows = 9;
  const auto weight = uniform(inputs, 2);
  const auto clean = uniform(rows * inputs, 1);
  std::vector<float> expected(rows);
  single_output_forward(weight, clean, expected);
  for (size_t bad = 0; bad < rows; ++bad) {
    auto x = clean;
    for (size_t j = 0; j < inputs; ++j)
      x[bad * inputs + j] = j % 2 ? std::numeric_limits<float>::infinity() : NAN;
    std::vector<float> y(rows);
    single_output_forward(weight, x, y);
    for (size_t i = 0; i < rows; ++i) {
      if (i == bad)
        EXPECT_TRUE(std::isnan(y[i]));
      else
        EXPECT_EQ(y[i], expected[i]) << "row " << i << " beside row " << bad;
    }
  }
}

TEST(single_output, a_rows_product_does_not_depend_on_how_many_rows_there_are) {
  constexpr size_t inputs = 37;
  const auto weight = uniform(inputs, 2);
  const auto x = uniform(7 * inputs, 1);
  std::vector<float> all(7);
  single_output_forward(weight, x, all);
  for (size_t i = 0; i < 7; ++i) {
    std::vector<float> alone(1);
    single_output_forward(weight, std::span{x}.subspan(i * inputs, inputs), alone);
    EXPECT_EQ(alone[0], all[i]);
  }
}

// A linear model's gradient is made in pieces of rows: their number does not show but in rounding.
TEST(single_output, gradient_of_many_rows_is_the_sum_of_those_of_its_parts) {
  const neural_network model{{100, 1, {}, activation_kind::relu, loss_kind::squared}};
  constexpr size_t rows = 1'001;
  const auto x = uniform(rows * 100, 1);
  const auto targets = uniform(rows, 4);
  const auto parameters = uniform(model.layout().size(), 5);
  workspace memory;
  const batch all{rows, x, {}, targets};
  std::vector<float> whole(model.layout().size());
  const auto sums = model.gradient(parameters, all, whole, memory);
  EXPECT_EQ(sums.sample_count, rows);
  std::vector<double> expected(whole.size());
  double loss = 0;
  for (size_t i = 0; i < rows; ++i) {
    std::vector<float> part(whole.size());
    loss += model.gradient(parameters, part_of(all, i, 1), part, memory).loss_sum;
    for (size_t j = 0; j < part.size(); ++j)
      expected[j] += double(part[j]);
  }
  EXPECT_NEAR(sums.loss_sum, loss, 1e-9 * loss);
  for (size_t j = 0; j < whole.size(); ++j)
    EXPECT_NEAR(whole[j], expected[j], 2e-3) << j;
}

} // namespace
} // namespace troupe::layer_chain_test
