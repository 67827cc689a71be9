// Your own model in the troupe command. Its scores have products of features, by K vectors each:
//
//   s(x) = w x + 1/2 sum_k (v_k x)^2
//
// This program is the command, on one machine or as nodes of a cluster, with one kind more
// (docs/open.md):
//
//   build/bin/example_own_model train examples/digits.toml --set model.hidden= --set model.kind=quadratic

#include <troupe/command.hpp>

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

  // N x F.
  auto features_of(const batch& rows) const {
    return xt::adapt(rows.features.data(), rows.features.size(), xt::no_ownership(),
                     std::array{rows.row_count, feature_count()});
  }

  // Of the sum over the rows, not of a mean.
  batch_sums do_gradient(values p, const batch& rows, std::span<float> out, workspace&,
                         const gradient_listener*) const override {
    auto [scores, inner] = computed(p, rows);
    const std::span<float> d{scores.data(), scores.size()}; // the derivative takes their place
    const auto sums = evaluate_loss(loss_with_constants(), rows, d, output_count(), d);
    if (out.empty())
      return sums;
    for (size_t i = 0; i < inner.size(); ++i)
      inner.flat(i) *= d[i / rank_];
    tensor_view(layout_, out, "w") = matrix_product(xt::transpose(scores), features_of(rows));
    const auto of_v = matrix_product(xt::transpose(inner), features_of(rows));
    std::ranges::copy(of_v, out.end() - static_cast<ptrdiff_t>(of_v.size()));
    return sums;
  }

  void do_predict(values p, const batch& rows, std::span<float> out, workspace&) const override {
    const auto scores = computed(p, rows).scores;
    predict_from_scores(loss_with_constants(), {scores.data(), scores.size()}, output_count(), out);
  }

  struct products_of_rows {
    float_matrix scores; // N x C
    float_matrix inner;  // v_k x: N x C K
  };

  // In xtensor, with the library's own products: the same bits on every machine.
  products_of_rows computed(values p, const batch& rows) const {
    const auto x = features_of(rows);
    const auto v =
      xt::reshape_view(tensor_view(layout_, p, "v"), {output_count() * rank_, feature_count()});
    products_of_rows result{matrix_product(x, xt::transpose(tensor_view(layout_, p, "w"))),
                            matrix_product(x, xt::transpose(v))};
    for (size_t i = 0; i < result.inner.size(); ++i)
      result.scores.flat(i / rank_) += 0.5f * result.inner.flat(i) * result.inner.flat(i);
    return result;
  }

  size_t rank_;
};

} // namespace

int main(int argc, char** argv) {
  models().add<quadratic_options>(
    "quadratic", {2, "scores with products of features"},
    {option("rank", &quadratic_options::rank, within(1, 1024), "vectors that weigh the products")},
    [](const auto& x, const auto& input) { return std::make_unique<quadratic>(x, input); });
  return run_command(argc, argv);
}
