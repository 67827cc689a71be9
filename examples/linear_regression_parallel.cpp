// Linear regression, split every way: the same loss at every step, on any actors.
//
//   build/bin/example_linear_regression_parallel
//
// Y = X W^T + b with 5 inputs and 3 outputs is fitted by gradient descent on 7 rows, none of which
// divides by 2. Rows, inputs and outputs are shared among actors:
//
//   single      one actor has everything
//   data        two actors have some of the rows each; their gradients are added
//   inputs      two have some of the columns of X and W ("row-parallel"): their products are added
//   outputs     two have some of the columns of Y, and rows of W ("column-parallel")
//   2 x 2       two groups have some of the rows each, two of a group some of the outputs each
//
// The cut of products is part of the job (model.cuts): another cut rounds differently, in the last
// of seven digits. The placement of parts is not: the bits are the same. It prints:
//
//   by hand: loss 51.3629, dW -6.776 -26.390 -6.716 -26.241, db -6.776 -6.716
//   cut by inputs: the same to 6 digits; cut by outputs: the same to 6 digits
//
//   step   single     data   inputs  outputs    2 x 2
//      1   4.0983   4.0983   4.0983   4.0983   4.0983
//      2   2.9132   2.9132   2.9132   2.9132   2.9132
//      3   2.1026   2.1026   2.1026   2.1026   2.1026
//      4   1.5448   1.5448   1.5448   1.5448   1.5448
//      5   1.1584   1.1584   1.1584   1.1584   1.1584
//      6   0.8887   0.8887   0.8887   0.8887   0.8887
//      7   0.6986   0.6986   0.6986   0.6986   0.6986
//      8   0.5632   0.5632   0.5632   0.5632   0.5632
//
//   parameters: single = data: yes; outputs = 2 x 2: yes; inputs on 1 actor = on 2: yes

#include <troupe/kinds.hpp>
#include <troupe/train.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace {

using troupe::layer_cut;

// ---- A step by hand, with published numbers ----

struct hand_worked {
  double loss;
  std::vector<float> gradient; ///< W by rows, then b
};

hand_worked step_by_hand(layer_cut cut) {
  troupe::neural_network_options options;
  options.features = 2;
  options.outputs = 2;
  options.loss = troupe::loss_kind::squared;
  options.parts = cut == layer_cut::none ? 1 : 2;
  options.cuts = {cut};
  const troupe::neural_network model{options};
  const std::vector<float> weights{-0.6661f, -0.1387f, -0.3396f, -0.1886f, -0.6247f, 0.2838f};
  const std::vector<float> x{1, 2, 1, 3, 1, 4, 1, 5};
  const std::vector<float> y{2, 3, 4, 5, 6, 7, 8, 9};
  troupe::batch rows;
  rows.row_count = 4;
  rows.features = x;
  rows.targets = y;
  std::vector<float> parameters(6), gradient(6), logical(6);
  model.layout().to_working(weights, parameters); // each part's parameters lie together
  troupe::workspace memory;
  const auto sums = model.gradient(parameters, rows, gradient, memory);
  model.layout().to_logical(gradient, logical);
  for (auto& value : logical)
    value /= 4; // sums over samples, to be divided when they are applied
  return {sums.loss_sum / 4, logical};
}

bool is_close(const hand_worked& a, const hand_worked& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-6 * std::abs(x); };
  return near(a.loss, b.loss) && std::ranges::equal(a.gradient, b.gradient, near);
}

void print_by_hand() {
  const auto whole = step_by_hand(layer_cut::none);
  std::printf("by hand: loss %.4f, dW", whole.loss);
  for (size_t i = 0; i < 4; ++i)
    std::printf(" %.3f", whole.gradient[i]);
  std::printf(", db %.3f %.3f\n", whole.gradient[4], whole.gradient[5]);
  const auto told = [&](layer_cut cut) {
    return is_close(whole, step_by_hand(cut)) ? "the same to 6 digits" : "NOT THE SAME";
  };
  std::printf("cut by inputs: %s; cut by outputs: %s\n\n", told(layer_cut::inputs),
              told(layer_cut::outputs));
}

// ---- Training, by actors ----

struct placement {
  const char* name;
  layer_cut cut;
  size_t data;
  size_t tensor;
};

troupe::training_result train_so(caf::actor_system& system, const placement& how) {
  troupe::job x;
  x.name = how.name;
  x.seed = 3;
  x.data.synthetic = troupe::synthetic_kind::regression;
  x.data.rows = 7;
  x.data.features = 5;
  x.data.targets = 3;
  x.model.kind = troupe::model_kind::linear_regression;
  x.model.cuts = how.cut == layer_cut::none ? 1 : 2;
  if (how.cut != layer_cut::none)
    x.model.cut = {how.cut};
  x.optimizer.learning_rate = 0.1;
  x.training.batch_size = 7;
  x.training.slices = 2;
  x.training.epochs = 8;
  x.parallel.data = how.data;
  x.parallel.tensor = how.tensor;
  return train(system, x);
}

bool same_bits(const troupe::training_result& a, const troupe::training_result& b) {
  return std::ranges::equal(a.parameters.values(), b.parameters.values());
}

const char* word(bool yes) {
  return yes ? "yes" : "NO";
}

void run() {
  print_by_hand();
  caf::actor_system_config config;
  troupe::configure(config);
  caf::actor_system system{config};
  std::vector<troupe::training_result> runs;
  std::printf("step");
  for (const auto& how :
       {placement{"single", layer_cut::none, 1, 1}, placement{"data", layer_cut::none, 2, 1},
        placement{"inputs", layer_cut::inputs, 1, 2},
        placement{"outputs", layer_cut::outputs, 1, 2},
        placement{"2 x 2", layer_cut::outputs, 2, 2}}) {
    runs.push_back(train_so(system, how));
    std::printf("  %7s", how.name);
  }
  for (size_t step = 0; step < runs[0].history.size(); ++step) {
    std::printf("\n%4zu", step + 1);
    for (const auto& result : runs)
      std::printf("  %7.4f", *result.history[step].train_loss);
  }
  const auto one_actor = train_so(system, {"inputs", layer_cut::inputs, 1, 1});
  std::printf(
    "\n\nparameters: single = data: %s; outputs = 2 x 2: %s; inputs on 1 actor = on 2: %s\n",
    word(same_bits(runs[0], runs[1])), word(same_bits(runs[3], runs[4])),
    word(same_bits(one_actor, runs[2])));
}

} // namespace

int main() try { run(); } catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
