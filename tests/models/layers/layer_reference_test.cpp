// Chains of layers beside PyTorch's numbers (tests/reference/layers.py).

#include "models/kinds/chain_kind.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace troupe::layer_reference_test {
namespace {

using test::append_flat;
using test::flat;
using test::load_reference;

std::unique_ptr<layer_chain> made_from(const nlohmann::json& given) {
  std::vector<size_t> shape = given["shape"];
  const auto features = size_of(shape);
  return make_chain({std::move(shape), given["layers"], true}, features, 3,
                    loss_kind::categorical_cross_entropy);
}

class reference_chain : public testing::TestWithParam<size_t> {
protected:
  reference_chain()
    : given_(load_reference("layers.json")["cases"][GetParam()]),
      features_(flat<float>(given_["features"])),
      labels_(flat<int32_t>(given_["labels"])),
      model_(made_from(given_)) {
    for (const auto& tensor : given_["tensors"])
      append_flat(tensor["values"], parameters_);
    rows_.row_count = labels_.size();
    rows_.features = features_;
    rows_.labels = labels_;
  }

  nlohmann::json given_;
  std::vector<float> features_;
  std::vector<int32_t> labels_;
  std::unique_ptr<layer_chain> model_;
  std::vector<float> parameters_;
  batch rows_;
  workspace memory_;
};

TEST_P(reference_chain, has_the_same_tensors) {
  ASSERT_EQ(model_->layout().tensors().size(), given_["tensors"].size());
  for (size_t i = 0; i < given_["tensors"].size(); ++i) {
    EXPECT_EQ(model_->layout().tensors()[i].name, given_["tensors"][i]["name"]);
    EXPECT_EQ(model_->layout().tensors()[i].shape, given_["tensors"][i]["shape"]);
  }
}

TEST_P(reference_chain, has_the_same_gradient) {
  std::vector<float> gradient(parameters_.size(), 7.0f);
  const auto sums = model_->gradient(parameters_, rows_, gradient, memory_);
  EXPECT_NEAR(sums.loss_sum, given_["loss_sum"].get<double>(), 2e-5);
  size_t i = 0;
  for (const auto& tensor : given_["tensors"])
    for (const auto& value : tensor["gradients"])
      EXPECT_NEAR(gradient[i++], value.get<double>(), 2e-5) << tensor["name"] << ", element " << i;
}

TEST_P(reference_chain, has_the_same_predictions) {
  std::vector<float> predictions(rows_.row_count * 3);
  model_->predict(parameters_, features_, predictions, memory_);
  const auto expected = flat<double>(given_["predictions"]);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(predictions[i], expected[i], 2e-6);
}

TEST_P(reference_chain, has_the_same_losses_over_twenty_steps) {
  std::vector<float> gradient(parameters_.size());
  const auto rate = given_["rate"].get<float>() / static_cast<float>(rows_.row_count);
  for (const auto& expected : given_["losses"]) {
    const auto sums = model_->gradient(parameters_, rows_, gradient, memory_);
    EXPECT_NEAR(sums.loss_sum / static_cast<double>(rows_.row_count), expected.get<double>(), 1e-5);
    for (size_t i = 0; i < gradient.size(); ++i)
      parameters_[i] -= rate * gradient[i];
  }
}

// Pieces that a listener is told of are final, and disjoint.
TEST_P(reference_chain, tells_final_pieces) {
  std::vector<float> gradient(parameters_.size());
  std::vector<float> seen(parameters_.size(), std::nanf(""));
  gradient_listener listener;
  listener.is_wanted_first = [](size_t element) { return element % 2 == 0; };
  listener.on_piece = [&](size_t begin, size_t end, const batch_sums&) {
    for (auto i = begin; i < end; ++i) {
      EXPECT_TRUE(std::isnan(seen[i])) << "element " << i << " comes twice";
      seen[i] = gradient[i];
    }
  };
  model_->gradient(parameters_, rows_, gradient, memory_, &listener);
  EXPECT_GT(std::ranges::count_if(seen, [](float x) { return !std::isnan(x); }), 0);
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_TRUE(std::isnan(seen[i]) || seen[i] == gradient[i]) << "element " << i;
}

// Whatever rows are computed beside it.
TEST_P(reference_chain, gives_a_row_alone_what_it_gives_among_others) {
  std::vector<float> all(rows_.row_count * 3), one(3);
  model_->predict(parameters_, features_, all, memory_);
  const auto width = model_->feature_count();
  for (size_t i = 0; i < rows_.row_count; ++i) {
    model_->predict(parameters_, std::span<const float>{features_}.subspan(i * width, width), one,
                    memory_);
    for (size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(one[c], all[i * 3 + c], 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(all, reference_chain, testing::Range<size_t>(0, 4), [](const auto& x) {
  return load_reference("layers.json")["cases"][x.param]["name"].template get<std::string>();
});

} // namespace
} // namespace troupe::layer_reference_test
