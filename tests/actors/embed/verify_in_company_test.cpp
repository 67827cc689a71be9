#include "actors/embed/verify_in_company.hpp"
#include "tests/support/training.hpp"
#include "tests/support/wave.hpp"

#include <gtest/gtest.h>

namespace troupe::verify_in_company_test {
namespace {

struct no_options {};

// A wave that counts its calls where it should keep nothing: in the workspace, of which each replica
// has its own.
class counting_wave : public model {
public:
  explicit counting_wave(const model_input& input)
    : model(input.features, input.outputs, input.loss), inner_({}, input) {
    layout_ = inner_.layout();
  }
  batch_sums evaluate(std::span<const float> p, const batch& rows,
                      workspace& memory) const override {
    return inner_.evaluate(p, rows, memory);
  }

private:
  void do_initialize(uint64_t seed, const index_range& elements,
                     std::span<float> out) const override {
    inner_.initialize(seed, elements, out);
  }
  batch_sums do_gradient(std::span<const float> p, const batch& rows, std::span<float> out,
                         workspace& memory, const gradient_listener*) const override {
    const auto sums = inner_.gradient(p, rows, out, memory);
    auto& calls = memory.slot(9, 1)[0];
    out[0] += 1e-3f * ++calls;
    return sums;
  }
  void do_predict(std::span<const float> p, const batch& rows, std::span<float> out,
                  workspace& memory) const override {
    inner_.predict(p, rows, out, memory);
  }

  wave inner_;
};

job job_of(const std::string& kind) {
  auto x = test::small_job();
  x.data.synthetic = synthetic_kind::regression;
  x.data.features = 1;
  x.model = {};
  x.model.own.kind = kind;
  x.training.slices.reset();
  return x;
}

TEST(verify_in_company, finds_nothing_in_a_model_that_keeps_nothing) {
  add_wave();
  test::real_system host{3};
  EXPECT_EQ(findings_text(verify_in_company(*host.system, job_of("wave"))), "");
  auto members = job_of("wave");
  members.training.strategy = strategy_kind::parameters;
  members.training.members = 3;
  EXPECT_EQ(findings_text(verify_in_company(*host.system, members)), "");
}

TEST(verify_in_company, finds_a_model_whose_gradient_depends_on_who_asked_before) {
  models().add<no_options>("counting", {}, {}, [](const no_options&, const model_input& input) {
    return std::make_unique<counting_wave>(input);
  });
  test::real_system host{3};
  const auto found = verify_in_company(*host.system, job_of("counting"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].where, "replicas: 2");
  EXPECT_EQ(found[1].where, "replicas: 3");
}

} // namespace
} // namespace troupe::verify_in_company_test
