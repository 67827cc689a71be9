// The text that says what layers a chain has.

#include "models/kinds/chain_kind.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/kinds/option.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

namespace troupe::layer_text_test {
namespace {

std::string problem_of(const std::string& text) {
  return test::complaint_of([&] { layers_from_text(text); });
}

TEST(layer_text, is_read) {
  const auto items =
    layers_from_text("# an image\nconvolution channels = 32 kernel=[5, 3]\t# wide\r\n\n"
                     "pool size=2; activation function=\"leaky-relu\"\n"
                     "block repeat=2 {\n  residual { layer-norm epsilon=1e-6 }\n} ;");
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[0].own.kind, "convolution");
  EXPECT_EQ(items[0].own.options.at("channels"), option_value{int64_t{32}});
  EXPECT_EQ(items[0].own.options.at("kernel"), (option_value{std::vector<int64_t>{5, 3}}));
  EXPECT_EQ(items[2].own.options.at("function"), option_value{std::string{"leaky-relu"}});
  ASSERT_EQ(items[3].inner.size(), 1u);
  EXPECT_EQ(items[3].inner[0].inner[0].own.options.at("epsilon"), option_value{1e-6});
  EXPECT_TRUE(layers_from_text("").empty());
  EXPECT_TRUE(layers_from_text(" # nothing").empty());
}

TEST(layer_text, comes_back_from_its_own_form) {
  const auto items = layers_from_text(
    "a b=true c=-2 d=0.1 e=[0.5, 2] f=[] g=\"two words\" h=word { i { j } }; k { }");
  EXPECT_EQ(text_of(items),
            "a b=true c=-2 d=0.1 e=[0.5, 2.0] f=[] g=\"two words\" h=\"word\" { i { j } }; k {  }");
  EXPECT_EQ(layers_from_text(text_of(items)), items);
}

TEST(layer_text, says_what_is_wrong_and_where) {
  EXPECT_EQ(
    problem_of("dense units"),
    "line 1: expected = and a value behind 'units', got the end; layers are separated by ; or "
    "stand in lines of their own");
  EXPECT_EQ(problem_of("pool\ndense units=\n"),
            "line 2: expected a value, got the end of the line");
  EXPECT_EQ(problem_of("dense units=4 units=5"), "line 1: 'units' is there twice");
  EXPECT_EQ(problem_of("residual {\n dense"), "line 2: a { without its }");
  EXPECT_EQ(problem_of("dense }"), "line 1: a } without its {");
  EXPECT_EQ(problem_of("dense, pool"),
            "line 1: expected an option, ; or the end of the line, got ','");
  EXPECT_EQ(problem_of("a k=[1, x]"), "line 1: expected a number, got 'x'");
  EXPECT_EQ(problem_of("a k=[1 2]"), "line 1: expected , or ], got '2'");
  EXPECT_EQ(problem_of("a k=[1,"), "line 1: expected a number, got the end");
  EXPECT_EQ(problem_of("a k=\"b"), "line 1: a \" without its other one");
  for (const auto* text : {"a k=\"b\n\"", "a k=\"b\t\"", "a k=\"b\\\""})
    EXPECT_EQ(problem_of(text),
              "line 1: expected a \" in the same line, and before it no tab and no \\");
  EXPECT_EQ(problem_of("a{a{a{a{a{a}}}}}"), "line 1: braces are at most 4 deep");
  EXPECT_EQ(problem_of("=4"), "line 1: expected the kind of a layer, got '='");
}

std::string problems_of(const std::string& layers) {
  std::string result;
  for (const auto& x : models().problems({"chain", {{"layers", layers}}}))
    result += x.name + ": " + x.why;
  return result;
}

TEST(chain_kind, tells_what_is_wrong_with_layers) {
  EXPECT_EQ(problems_of("dense units=4"), "");
  EXPECT_EQ(problems_of("dense units=0"),
            "layers: line 1: dense: units: expected integer from 1 to 16777216, got 0");
  EXPECT_EQ(problems_of("dense unit=1"), "layers: line 1: dense: unit: dense takes no unit");
  EXPECT_TRUE(problems_of("dens").starts_with(
    "layers: line 1: this program has no layer of kind 'dens'; it has residual, block, dense, "
    "activation, scale, dropout, convolution, pool, embedding, positions, layer-norm, attention"));
  EXPECT_EQ(problems_of("dense { dense }"), "layers: line 1: dense: takes no { }");
  EXPECT_EQ(problems_of("residual"), "layers: line 1: residual: expected layers in { }");
  EXPECT_EQ(problems_of("block { }"), "layers: line 1: block: there is no layer in { }");
  EXPECT_EQ(problems_of("block repeat=0 { dense }"),
            "layers: line 1: block: repeat: expected integer from 1 to 256, got 0");
  EXPECT_EQ(problems_of("dense version=2"),
            "layers: line 1: dense: this program has version 1 of it, not 2");
  EXPECT_EQ(problems_of("pool\nresidual {\n  dense\n  dense unit=2\n}"),
            "layers: line 4: dense: unit: dense takes no unit");
  EXPECT_EQ(problems_of("dense }"), "layers: line 1: a } without its {");
}

TEST(chain_kind, has_one_form) {
  const auto form = [](const std::string& layers) {
    const auto whole = models().complete({"chain", {{"layers", layers}}});
    return std::get<std::string>(whole.options.at("layers"));
  };
  EXPECT_EQ(form("dense version=1 units=4"), form("\n dense bias=true units=4 # as it is\n"));
  EXPECT_EQ(form("pool"), "pool over=\"max\" size=0 stride=0");
  EXPECT_EQ(form(form("residual { dense units=2; dropout }")),
            form("residual{dense units=2\ndropout}"));
}

// ---- A layer of an application

struct twice_options {
  double factor = 2;
};

class twice : public layer {
public:
  twice(const twice_options& x, const row_shape& shape)
    : layer(shape, shape), factor_(static_cast<float>(x.factor)) {}

  void forward(const layer_call&, std::span<const float> x, std::span<float> y) const override {
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = factor_ * x[i];
  }
  void backward(const layer_call&, std::span<const float>, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    for (size_t i = 0; i < dx.size(); ++i)
      dx[i] = factor_ * dy[i];
  }

private:
  float factor_;
};

TEST(chain_kind, takes_layers_of_an_application) {
  if (!layers().find("twice"))
    layers().add<twice_options>(
      "twice", {3, "times a factor"}, {option("factor", &twice_options::factor, above(0), "which")},
      [](const auto& x, const auto& input) { return std::make_unique<twice>(x, input.shape); });
  const loss_options loss = loss_kind::squared;
  const auto x = make_chain({{}, "dense units=3; twice factor=1.5", true}, 4, 2, loss);
  EXPECT_EQ(x->layout().tensors().back().name, "layers.2.bias");
  const auto whole = models().complete({"chain", {{"layers", std::string{"twice; dense"}}}});
  EXPECT_EQ(std::get<std::string>(whole.options.at("layers")).substr(0, 26),
            "twice factor=2.0 version=3");
  EXPECT_NO_THROW(make_own_model(whole, {4, 2, loss}));
  EXPECT_NE(problems_of("twice version=2"), "");
}

} // namespace
} // namespace troupe::layer_text_test
