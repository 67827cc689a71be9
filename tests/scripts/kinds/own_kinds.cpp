// The command with a model and an optimizer of an application's own, for own_kinds_test.py. "verify" as
// the only argument holds both against their contract. The environment makes others of them:
// TROUPE_TEST_KIND_VERSION (1), and TROUPE_TEST_KIND_CHANGED for other arithmetic under the same version.

#include "app/commands/run_command.hpp"
#include "models/kinds/optimizer_kinds.hpp"
#include "models/verify/verify.hpp"
#include "tests/support/wave.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using namespace troupe;

struct drag_options {
  double share = 0.9;
};

// m' = share m + g;  p' = p - a m'
class drag : public optimizer {
public:
  drag(const drag_options& x, const optimizer_options& common)
    : optimizer(common),
      share_(static_cast<float>(x.share)),
      factor_(std::getenv("TROUPE_TEST_KIND_CHANGED") ? 1.000001f : 1) {}

  size_t slot_count() const override { return 1; }

  void update(const update_step& step, const update_piece& x,
              const optimizer_state& state) const override {
    float* m = state.slot(0).data() + x.offset;
    for (size_t i = 0; i < x.count; ++i) {
      m[i] = share_ * m[i] + step.gradient_factor * x.gradient_sum[i];
      x.next[i] = x.parameters[i] - factor_ * step.learning_rate * m[i];
    }
  }

private:
  float share_, factor_;
};

int verify() {
  const auto mine =
    make_own_model({"wave", {{"harmonics", int64_t{3}}}}, {1, 1, loss_kind::squared});
  optimizer_options options;
  options.own.kind = "drag";
  auto found = verify_model(*mine);
  for (auto& one : verify_optimizer(*make_own_optimizer(options)))
    found.push_back(one);
  std::fputs(findings_text(found).c_str(), stdout);
  return found.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  const char* version = std::getenv("TROUPE_TEST_KIND_VERSION");
  add_wave(version ? static_cast<uint32_t>(std::atoi(version)) : 1);
  optimizers().add<drag_options>(
    "drag", {1, "momentum"},
    {option("share", &drag_options::share, from_to_below(0, 1), "of m that a step keeps")},
    [](const auto& x, const auto& common) { return std::make_unique<drag>(x, common); });
  if (argc == 2 && std::string_view{argv[1]} == "verify")
    return verify();
  return run_command(argc, argv);
}
