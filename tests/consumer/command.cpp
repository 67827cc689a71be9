// The troupe command with an optimizer of an application's own.

#include <troupe/command.hpp>

#include <memory>

namespace {

struct no_options {};

// p' = p - a g
class plain : public troupe::optimizer {
public:
  explicit plain(const troupe::optimizer_options& common) : optimizer(common) {}
  std::size_t slot_count() const override { return 0; }
  void update(const troupe::update_step& step, const troupe::update_piece& x,
              const troupe::optimizer_state&) const override {
    for (std::size_t i = 0; i < x.count; ++i)
      x.next[i] = x.parameters[i] - step.learning_rate * step.gradient_factor * x.gradient_sum[i];
  }
};

} // namespace

int main(int argc, char** argv) {
  troupe::optimizers().add<no_options>(
    "plain", {1, "a step along the gradient"}, {},
    [](const no_options&, const auto& common) { return std::make_unique<plain>(common); });
  return troupe::run_command(argc, argv);
}
