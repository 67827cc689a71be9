// A model of one's own in the troupe command. Its scores see products of features, by K vectors each:
//
//   s(x) = w x + 1/2 sum_k (v_k x)^2
//
// This program is the command, on one machine or as nodes of a cluster, with one kind more (docs/open.md):
//
//   build/bin/example_own_model train examples/digits.toml --set model.hidden= --set model.kind=quadratic

#include "troupe/app/commands/run_command.hpp"
#include "troupe/models/base/random.hpp"
#include "troupe/models/kinds/model_kinds.hpp"
#include "troupe/models/losses/evaluate_loss.hpp"

#include <algorithm>

namespace {
using namespace troupe;
using values = std::span<const float>;

struct quadratic_options {
  size_t rank = 8; // K
};

// Tensors w [C, F] and v [C, K, F].
class quadratic : public model {
public:
  quadratic(const quadratic_options& x, const model_input& input)
    : model(input.features, input.outputs, input.loss), rank_(x.rank) {
    layout_.add("w", {output_count(), feature_count()});
    layout_.add("v", {output_count(), rank_, feature_count()});
  }

  batch_sums evaluate(values p, const batch& rows, workspace& memory) const override {
    return do_gradient(p, rows, {}, memory, nullptr);
  }

private:
  // A value depends on the seed and its place alone.
  void do_initialize(uint64_t seed, const index_range& all, std::span<float> out) const override {
    fill_uniform({seed, random_purpose::initialization}, all.begin, -0.01f, 0.01f, out);
  }

  // Of the sum over the rows, not of a mean.
  batch_sums do_gradient(values p, const batch& rows, std::span<float> out, workspace& memory,
                         const gradient_listener*) const override {
    const auto d = scores(p, rows, memory); // the loss's derivative takes their place
    const auto sums = evaluate_loss(loss_with_constants(), rows, d, output_count(), d);
    std::ranges::fill(out, 0.0f);
    for (size_t i = 0; i < d.size() && !out.empty(); ++i)
      score(p, rows, i, d[i], out);
    return sums;
  }

  void do_predict(values p, const batch& rows, std::span<float> out,
                  workspace& memory) const override {
    predict_from_scores(loss_with_constants(), scores(p, rows, memory), output_count(), out);
  }

  std::span<float> scores(values p, const batch& rows, workspace& memory) const {
    const auto out = memory.slot(0, rows.row_count * output_count());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = score(p, rows, i);
    return out;
  }

  // Score i of the rows; d times its derivative is added to `out`, if there is one.
  float score(values p, const batch& rows, size_t i, float d = 0, std::span<float> out = {}) const {
    const size_t n = feature_count(), c = i % output_count();
    const float* x = rows.features.data() + i / output_count() * n;
    float result = 0;
    for (size_t f = 0; f < n; ++f)
      result += p[c * n + f] * x[f];
    for (size_t f = 0; f < n && !out.empty(); ++f)
      out[c * n + f] += d * x[f];
    for (size_t k = 0; k < rank_; ++k) {
      const size_t v = (output_count() + c * rank_ + k) * n;
      float inner = 0;
      for (size_t f = 0; f < n; ++f)
        inner += p[v + f] * x[f];
      result += 0.5f * inner * inner;
      for (size_t f = 0; f < n && !out.empty(); ++f)
        out[v + f] += d * inner * x[f];
    }
    return result;
  }

  size_t rank_;
};

} // namespace

int main(int argc, char** argv) {
  models().add<quadratic_options>(
    "quadratic", {1, "scores with products of features"},
    {option("rank", &quadratic_options::rank, within(1, 1024), "vectors that weigh the products")},
    [](const auto& x, const auto& input) { return std::make_unique<quadratic>(x, input); });
  return run_command(argc, argv);
}
