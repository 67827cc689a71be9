// Your own optimizer in the troupe command: Lion (Chen et al. 2023), whose steps all have the same
// length. With g the mean gradient, a the learning rate and m the state:
//
//   p' = p - a (sign(beta1 m + (1 - beta1) g) + weight_decay p);  m' = beta2 m + (1 - beta2) g
//
// This program is the command, on one machine or as nodes of a cluster, with one kind more
// (docs/open.md):
//
//   build/bin/example_own_optimizer train examples/digits.toml --set optimizer.kind=lion

#include <troupe/command.hpp>

#include <memory>

namespace {

using namespace troupe;

struct lion_options {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
};

class lion : public optimizer {
public:
  lion(const lion_options& x, const optimizer_options& common)
    : optimizer(common),
      beta1_(static_cast<float>(x.beta1)),
      beta2_(static_cast<float>(x.beta2)),
      decay_(static_cast<float>(x.weight_decay)) {}

  size_t slot_count() const override { return 1; } // m

  // Elements are independent, so any piece of the parameters will do.
  void update(const update_step& step, const update_piece& x,
              const optimizer_state& state) const override {
    float* m = state.slot(0).data() + x.offset;
    for (size_t i = 0; i < x.count; ++i) {
      const float g = x.gradient_sum[i] * step.gradient_factor;
      const float c = beta1_ * m[i] + (1 - beta1_) * g;
      // NaN must not become a step: it is neither above 0 nor below.
      const float way = c > 0 ? 1.0f : c < 0 ? -1.0f : c;
      x.next[i] = x.parameters[i] - step.learning_rate * (way + decay_ * x.parameters[i]);
      m[i] = beta2_ * m[i] + (1 - beta2_) * g;
    }
  }

private:
  float beta1_, beta2_, decay_;
};

} // namespace

int main(int argc, char** argv) {
  optimizers().add<lion_options>(
    "lion", {1, "steps of one length, by the sign of the momentum"},
    {option("beta1", &lion_options::beta1, from_to_below(0, 1), "share of m in the step"),
     option("beta2", &lion_options::beta2, from_to_below(0, 1), "share of m that a step keeps"),
     option("weight_decay", &lion_options::weight_decay, at_least(0), "taken off each parameter")},
    [](const auto& x, const auto& common) { return std::make_unique<lion>(x, common); });
  return run_command(argc, argv);
}
