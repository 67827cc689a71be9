#include "models/base/arithmetic.hpp"

#include "models/base/bit_hash.hpp"
#include "models/base/random.hpp"
#include "models/base/rounding.hpp"
#include "models/losses/evaluate_loss.hpp"
#include "models/math/products.hpp"
#include "models/network/activation.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/training/regularization.hpp"
#include "models/whole_model/whole_model_rule.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

struct product_shape {
  size_t rows;
  size_t inner;
  size_t columns;
};

// Shapes around the edges of kernels: vectors, tiny, not a multiple of any tile, deep, wide.
constexpr std::array product_shapes{
  product_shape{1, 64, 10},    product_shape{2, 7, 3},      product_shape{7, 64, 64},
  product_shape{16, 784, 33},  product_shape{32, 100, 1},   product_shape{33, 17, 65},
  product_shape{64, 512, 10},  product_shape{10, 64, 512},  product_shape{128, 61, 129},
  product_shape{100, 300, 50}, product_shape{5, 1000, 130}, product_shape{250, 3, 20}};

// The three forms of product a dense layer uses.
void add_products(bit_hash& hash) {
  using products::matrix_of, products::multiply;
  for (const auto& [m, k, n] : product_shapes) {
    const auto a = made_values(1, m, m * k, -1, 1);
    const auto b = made_values(1, n + 1000, k * n, -1, 1);
    std::vector<float> out(m * n);
    const auto result = products::result_of(out.data(), m, n);
    multiply(matrix_of(a.data(), m, k), matrix_of(b.data(), k, n), result);
    hash.add(out);
    multiply(matrix_of(a.data(), m, k), matrix_of(b.data(), n, k).transposed(), result);
    hash.add(out);
    multiply(matrix_of(a.data(), k, m).transposed(), matrix_of(b.data(), k, n), result);
    hash.add(out);
  }
}

void add_activations(bit_hash& hash) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries) {
    auto values = made_values(1, 1, 103, -12, 12);
    activate(kind, values);
    hash.add(values);
    auto slopes = made_values(1, 6, values.size(), -1, 1);
    multiply_by_derivative(kind, values, slopes);
    hash.add(slopes);
  }
}

void add_losses(bit_hash& hash) {
  const auto targets = made_values(1, 2, 105, 0.1f, 3); // the deviances want them above 0
  const auto add = [&](const loss_options& loss, std::span<const int32_t> labels, size_t columns) {
    auto scores = made_values(1, 3, labels.size() * columns, -9, 9);
    const auto fitting = std::span{targets}.first(scores.size());
    const auto sums =
      evaluate_loss(loss, {labels.size(), {}, labels, fitting}, scores, columns, scores);
    hash.add(sums.loss_sum);
    hash.add(scores);
  };
  const std::vector<int32_t> labels{0, 20, 3, 11, 7};
  const std::vector<int32_t> bits{0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0};
  for (const auto& [kind, name] : name_table<loss_kind>::entries)
    is_binary(kind) ? add(kind, bits, 1) : add(kind, labels, 21);
  for (const auto& [link, name] : name_table<link_kind>::entries) {
    loss_options loss = loss_kind::binary_cross_entropy;
    loss.link = link;
    add(loss, bits, 1);
  }
}

void add_optimizers(bit_hash& hash) {
  const size_t count = 103;
  for (const auto& [kind, name] : name_table<optimizer_kind>::entries) {
    if (scope_of(kind) != optimizer_scope::element_wise)
      continue;
    optimizer_options options;
    options.kind = kind;
    options.momentum = 0.9;
    options.schedule.kind = schedule_kind::cosine;
    options.schedule.steps = 5;
    const auto rule = make_optimizer(options);
    const optimizer_state state{rule->slot_count(), count};
    auto parameters = made_values(1, 4, count, -1, 1);
    std::vector<float> next(count);
    for (uint64_t t = 0; t < 3; ++t) {
      const auto gradient = made_values(1, 5 + t, count, -30, 30);
      rule->update(rule->begin_step(t, 31, direction::descent),
                   {gradient.data(), parameters.data(), next.data(), 0, count}, state);
      parameters.swap(next);
    }
    hash.add(parameters);
  }
}

void add_whole_model_rules(bit_hash& hash) {
  parameter_layout layout;
  layout.add("weight", {7, 13});
  layout.add("bias", {12});
  for (auto kind : {optimizer_kind::adafactor, optimizer_kind::lbfgs}) {
    optimizer_options options;
    options.kind = kind;
    const auto rule = make_whole_model_rule(options, layout);
    auto parameters = made_values(1, 10, layout.size(), -1, 1);
    auto state = rule->start(parameters);
    std::vector<float> next(parameters.size());
    for (uint64_t t = 0; t < 4; ++t) {
      const auto gradient = made_values(1, 11 + t, parameters.size(), -30, 30);
      update_alone(
        *rule,
        {t, {31.0 / static_cast<double>(t + 1), 31, 0, 0}, 0, true, gradient, parameters, next},
        state);
      parameters.swap(next);
    }
    hash.add(parameters);
    hash.add(state.slot(0));
  }
}

void add_gradient_changes(bit_hash& hash) {
  optimizer_options options;
  options.l1 = 0.01;
  options.l2 = 0.1;
  options.clip_value = 5;
  const size_t count = 103;
  auto gradient = made_values(1, 8, count, -30, 30);
  hash.add(square_sum(gradient, 0.3f));
  regularization{options, {{0, count}}}.apply(gradient, made_values(1, 9, count, -1, 1).data(), 0,
                                              1);
  hash.add(gradient);
}

void add_schedules(bit_hash& hash) {
  for (const auto& [kind, name] : name_table<schedule_kind>::entries) {
    schedule_options options{kind, 7, 0.9};
    options.power = 1.7;
    options.parts = {{schedule_kind::exponential, 5, 0.3}};
    for (uint64_t t = 0; t < 10; ++t)
      hash.add(schedule_factor(options, t));
  }
}

void add_normals(bit_hash& hash) {
  std::vector<float> normals(64);
  fill_normal({2, random_purpose::initialization, 0}, 0, 1, normals);
  hash.add(normals);
}

struct probe {
  const char* what;
  void (*add)(bit_hash&);
  std::string_view expected;
};

// A new kind in a table changes its probe's hash, and not the arithmetic: numeric_law_test shows which.
constexpr std::array probes{probe{"products", add_products, "502ada73c23668f7"},
                            probe{"activations", add_activations, "62f93e19515f9442"},
                            probe{"losses", add_losses, "cf6919eabbfa4952"},
                            probe{"optimizers", add_optimizers, "f595fd6b646c0177"},
                            probe{"whole-model rules", add_whole_model_rules, "ca3469489d9c5b71"},
                            probe{"changes of gradients", add_gradient_changes, "08d39e00c30b103e"},
                            probe{"schedules", add_schedules, "7d868b6ef832232c"},
                            probe{"normal numbers", add_normals, "7c216d99aaecd37b"}};

std::string find_problem() {
  const default_rounding rounding;
  std::string result;
  for (const auto& x : probes) {
    bit_hash hash;
    x.add(hash);
    if (const auto found = hash.hex(); found != x.expected)
      result += (result.empty() ? "" : ", ") + std::string{x.what} + ": " + found + " instead of " +
                std::string{x.expected};
  }
  return result;
}

} // namespace

std::string arithmetic_problem() {
  static std::mutex guard;
  static std::map<products::instruction_set, std::string> known;
  const std::lock_guard lock{guard};
  const auto [place, is_new] = known.try_emplace(products::in_use());
  if (is_new)
    place->second = find_problem();
  return place->second;
}

std::string own_arithmetic() {
  const auto problem = arithmetic_problem();
  return problem.empty() ? arithmetic_name
                         : problem + ", by " + std::string{name_of(products::in_use())};
}

} // namespace troupe
