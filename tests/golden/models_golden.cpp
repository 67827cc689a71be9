// What the models' room computes, part by part, as hashes: a program without CAF and test library, so that any compiler
// and emulator can build and run it. tests/golden/models_golden.py does, and compares with models_golden.txt.

#include "models/base/arithmetic.hpp"
#include "models/base/bit_hash.hpp"
#include "models/base/random.hpp"
#include "models/base/rounding.hpp"
#include "models/kinds/chain_kind.hpp"
#include "models/math/elementary.hpp"
#include "models/math/products.hpp"
#include "models/merging/ring_sum.hpp"
#include "models/merging/robust.hpp"
#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/privacy/accountant.hpp"
#include "models/privacy/private_sum.hpp"
#include "models/solvers/least_squares.hpp"

#include <cstdio>

namespace {

using namespace troupe;

/// The hash of gradients and parameters of some steps.
bit_hash trained(const model& network, size_t rows, size_t classes, optimizer_kind kind) {
  std::vector<float> parameters(network.layout().size()), gradient(parameters.size()),
    next(parameters.size());
  network.initialize(3, parameters);
  optimizer_options options;
  options.kind = kind;
  options.learning_rate = 0.01;
  const auto rule = make_optimizer(options);
  const optimizer_state state{rule->slot_count(), parameters.size()};
  workspace memory;
  bit_hash hash;
  for (uint64_t t = 0; t < 3; ++t) {
    const auto features = made_values(5, t, rows * network.feature_count(), -2, 2);
    std::vector<int32_t> labels(rows);
    for (size_t i = 0; i < rows; ++i)
      labels[i] = static_cast<int32_t>((i * 7 + t) % classes);
    batch some;
    some.row_count = rows;
    some.features = features;
    some.labels = labels;
    hash.add(network.gradient(parameters, some, gradient, memory).loss_sum);
    hash.add(gradient);
    rule->update(rule->begin_step(t, rows, direction::descent),
                 {gradient.data(), parameters.data(), next.data(), 0, parameters.size()}, state);
    parameters.swap(next);
  }
  hash.add(parameters);
  return hash;
}

/// Each form at the edges of tiles, with gaps between rows.
bit_hash all_products() {
  bit_hash hash;
  std::vector<float> out;
  const auto take = [&](const products::matrix_view& a, const products::matrix_view& b) {
    out.assign(a.rows * b.columns, 0.25f);
    products::multiply(a, b, products::result_of(out.data(), a.rows, b.columns, a.rows % 2 > 0));
    hash.add(out);
  };
  const auto values = made_values(5, 1, 2'000'000, -2, 2);
  const auto view = [&](size_t rows, size_t columns, bool flips) {
    const size_t lines = flips ? columns : rows, length = flips ? rows : columns, gap = rows % 3;
    const products::matrix_view x{values.data() + 11 * rows, lines, length, length + gap};
    return flips ? x.transposed() : x;
  };
  const size_t widths[] = {1, 2, 5, 8, 10, 15, 16, 17, 33, 70},
               terms[] = {1, 3, 4, 7, 30, 259, 515};
  for (size_t m = 1; m <= 16; ++m)
    for (const auto n : widths)
      for (size_t form = 0; form < 4; ++form) {
        const auto k = terms[(m + n + form) % 7];
        take(view(m, k, form % 2 > 0), view(k, n, form / 2 > 0));
      }
  // Half way between two floats but for what a double cannot hold (products_test.cpp).
  const float left[] = {1, 0x1p-24f * 8384513 * 0x1p-23f}, right[] = {1, 8392705 * 0x1p-23f};
  take(products::matrix_of(left, 1, 2), products::matrix_of(right, 2, 1));
  take(view(1100, 3, false), view(3, 2, true));
  take(view(600, 300, true), view(300, 90, false));
  return hash;
}

bit_hash dense_network() {
  neural_network_options x;
  x.features = 784;
  x.outputs = 10;
  x.hidden = {512, 512};
  x.activation = activation_kind::gelu;
  x.dropout = 0.1;
  return trained(neural_network{x}, 32, 10, optimizer_kind::adam);
}

bit_hash network_in_parts() {
  neural_network_options x;
  x.features = 100;
  x.outputs = 3;
  x.hidden = {70, 33};
  x.activation = activation_kind::tanh;
  x.parts = 4;
  return trained(neural_network{x}, 45, 3, optimizer_kind::rmsprop);
}

bit_hash convolutions() {
  const char* const layers = "convolution channels=16 kernel=[5,5] activation=relu\npool size=2\n"
                             "convolution channels=32 padding=same activation=silu\npool over=mean";
  return trained(*make_chain({{28, 28, 1}, layers}, 784, 10, loss_kind::categorical_cross_entropy),
                 16, 10, optimizer_kind::adamw);
}

bit_hash attention() {
  const char* const layers =
    "positions\nresidual {\nlayer-norm\nattention heads=4 causal=true\n}\nresidual {\nlayer-norm\n"
    "dense units=48 activation=gelu\ndense units=24\n}\nlayer-norm\n";
  return trained(*make_chain({{16, 24}, layers}, 384, 5, loss_kind::categorical_cross_entropy), 16,
                 5, optimizer_kind::nadam);
}

bit_hash solved() {
  const auto x = made_values(1, 1, 400 * 12, -1, 1), y = made_values(1, 2, 400 * 2, -1, 1);
  batch rows;
  rows.row_count = 400;
  rows.features = x;
  rows.targets = y;
  bit_hash hash;
  hash.add(least_squares(rows, 12, 2));
  return hash;
}

bit_hash merged() {
  std::vector<std::vector<float>> models;
  for (uint64_t i = 0; i < 7; ++i)
    models.push_back(made_values(9, i, 501, -1, 1));
  const std::vector<std::span<const float>> all{models.begin(), models.end()};
  bit_hash hash;
  hash.add(coordinate_median(all));
  hash.add(trimmed_mean(all, 2));
  hash.add(multi_krum(all, 2));
  hash.add(geometric_median(all, std::vector<double>(7, 1)).values);
  ring_sum sum{{16, 8, 8}, 501};
  for (size_t i = 1; i < 7; ++i)
    sum.add(models[0], models[i], i, measure_update(models[0], models[i]), 0.37);
  hash.add(sum.mean_onto(models[0]));
  return hash;
}

bit_hash privacy() {
  bit_hash hash;
  hash.add(noise_for(2, 1e-5, 0.01, 1000));
  privacy_accountant spent{1e-5};
  spent.add({0.02, 1.1}, 500);
  hash.add(spent.epsilon());
  const discrete_gaussian noise{123456};
  secret_stream source{secret_key{1, 2, 3}, {secret_purpose::noise, 1, 0}};
  for (int i = 0; i < 2000; ++i)
    hash.add(static_cast<double>(noise.draw(source)));
  return hash;
}

bit_hash distributions() {
  bit_hash hash;
  word_reader words{{1, random_purpose::partition, 3}};
  for (int i = 0; i < 3000; ++i) {
    hash.add(draw_normal(words));
    hash.add(draw_log_gamma(words, 0.1 + i * 0.01));
  }
  return hash;
}

bit_hash functions() {
  bit_hash hash;
  for (int i = -200'000; i < 200'000; ++i) {
    const double x = i * 0.00173, size = x < 0 ? -x : x;
    hash.add(elementary::exp_double(x));
    hash.add(double{elementary::tanh(static_cast<float>(x))});
    hash.add(elementary::softplus(x));
    hash.add(elementary::normal_cdf(x));
    hash.add(elementary::log(size + 1e-300));
    hash.add(elementary::atan(size));
    hash.add(double{elementary::expm1(static_cast<float>(x))});
    hash.add(elementary::pow(size, 0.37));
  }
  return hash;
}

} // namespace

/// A line a part, for each instruction set that is here.
int main() {
  const default_rounding rounding;
  for (const auto set : products::instructions_here()) {
    products::use(set);
    std::printf("instructions: %s\narithmetic: %s\n", std::string{name_of(set)}.c_str(),
                own_arithmetic().c_str());
    const auto show = [](const char* what, const bit_hash& hash) {
      std::printf("%s: %s\n", what, hash.hex().c_str());
    };
    show("products", all_products());
    show("dense network", dense_network());
    show("network in parts", network_in_parts());
    show("convolutions", convolutions());
    show("attention", attention());
    show("least squares", solved());
    show("merging", merged());
    show("privacy", privacy());
    show("distributions", distributions());
    show("elementary functions", functions());
  }
}
