#include "models/network/start_values.hpp"

#include "models/kinds/chain_kind.hpp"
#include "models/network/layer_chain.hpp"
#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace troupe::start_values_test {
namespace {

/// Tensors of 2 -> 3 -> 3 -> 2 units: layers.0 to layers.2.
neural_network network() {
  neural_network_options options;
  options.features = 2;
  options.outputs = 2;
  options.hidden = {3, 3};
  options.loss = loss_kind::categorical_cross_entropy;
  return neural_network{options};
}

parameter_layout file_of(const std::vector<std::pair<std::string, std::vector<size_t>>>& tensors) {
  parameter_layout result;
  for (const auto& [name, shape] : tensors)
    result.add(name, shape);
  return result;
}

const auto with_other_names = [] {
  return file_of({{"b.bias", {3}},
                  {"b.weight", {3, 3}},
                  {"a.weight", {3, 2}},
                  {"a.bias", {3}},
                  {"c.weight", {2, 3}},
                  {"c.bias", {2}}});
};

std::string text_of(const tensor_match& match, const model& own, const parameter_layout& file) {
  std::string result;
  for (const auto& [mine, other] : match.pairs)
    result += (result.empty() ? "" : ", ") + own.layout().tensors()[mine].name + '=' +
              file.tensors()[other].name;
  return result;
}

TEST(start_values, a_star_stands_for_any_letters) {
  for (const char* pattern :
       {"layers.1.weight", "*", "layers.*", "*weight", "l*s.1*t", "*1*", "**"})
    EXPECT_TRUE(is_like("layers.1.weight", pattern)) << pattern;
  for (const char* pattern :
       {"", "layers", "layers.2*", "*bias", "l*z*", "?ayers.1.weight", "layers.1.weight*x"})
    EXPECT_FALSE(is_like("layers.1.weight", pattern)) << pattern;
}

TEST(start_values, equal_names_are_each_other_in_any_order) {
  const auto own = network();
  auto tensors = own.layout().tensors();
  std::ranges::reverse(tensors);
  parameter_layout file;
  for (const auto& tensor : tensors)
    file.add(tensor.name, tensor.shape);
  const auto match = match_tensors(own, file, {}, true);
  EXPECT_EQ(match.problem, "");
  ASSERT_EQ(match.pairs.size(), 6u);
  for (const auto& [mine, other] : match.pairs)
    EXPECT_EQ(own.layout().tensors()[mine].name, file.tensors()[other].name);
}

TEST(start_values, shapes_that_one_has_are_each_other_and_order_says_nothing) {
  const auto own = network();
  const auto file = with_other_names();
  const auto match = match_tensors(own, file, {}, true);
  EXPECT_TRUE(match.pairs.empty());
  EXPECT_NE(match.problem.find("the model has 'layers.0.bias' (3), 'layers.1.bias' (3)"),
            std::string::npos)
    << match.problem;
  EXPECT_NE(match.problem.find("given are 'b.bias' (3), 'a.bias' (3)"), std::string::npos)
    << match.problem;
  EXPECT_NE(match.hint.find("start_names = { \"layers.0.bias\" = \"b.bias\", \"layers.1.bias\" = "
                            "\"a.bias\" }"),
            std::string::npos)
    << match.hint;
}

TEST(start_values, one_name_decides_what_shapes_leave_open) {
  const auto own = network();
  const auto file = with_other_names();
  start_options options;
  options.start_names = {{"layers.1.bias", "b.bias"}};
  const auto match = match_tensors(own, file, options, true);
  EXPECT_EQ(match.problem, "");
  EXPECT_EQ(text_of(match, own, file),
            "layers.0.weight=a.weight, layers.0.bias=a.bias, layers.1.weight=b.weight, "
            "layers.1.bias=b.bias, layers.2.weight=c.weight, layers.2.bias=c.bias");
}

TEST(start_values, a_bias_is_no_weight_of_the_same_shape) {
  neural_network_options options;
  options.features = 1;
  options.outputs = 1;
  options.loss = loss_kind::squared;
  const neural_network own{options};
  const auto file = file_of({{"scale.bias", {1, 1}}, {"shift", {1}}});
  EXPECT_NE(match_tensors(own, file, {}, true).problem, "") << "a weight called bias";
  EXPECT_EQ(match_tensors(own, file_of({{"w", {1, 1}}, {"bias", {1}}}), {}, true).problem, "");
}

TEST(start_values, the_file_s_tensor_of_a_fresh_one_s_name_is_not_used) {
  const auto own = network();
  const auto file = own.layout();
  start_options options;
  options.start_fresh = {"layers.2.*"};
  const auto match = match_tensors(own, file, options, true);
  EXPECT_EQ(match.problem, "");
  EXPECT_EQ(match.pairs.size(), 4u);
  options.start_names = {{"layers.1.bias", "layers.0.bias"}};
  const auto swapped = text_of(match_tensors(own, file, options, true), own, file);
  EXPECT_NE(swapped.find("layers.0.bias=layers.1.bias"), std::string::npos) << swapped;
}

struct refusal {
  start_options options;
  std::string why;
};

TEST(start_values, what_does_not_fit_is_refused_by_name) {
  const auto own = network();
  const auto file = with_other_names();
  const refusal refused[] = {
    {{{}, {"head.*"}, {}, {}}, "model.start_fresh: no tensor of the model is called \"head.*\""},
    {{{}, {}, {"head.*"}, {}}, "model.start_ignore: no given tensor is called \"head.*\""},
    {{{}, {}, {}, {{"layers.9.bias", "a.bias"}}},
     "no tensor of the model is called \"layers.9.bias\""},
    {{{}, {}, {}, {{"layers.0.bias", "z"}}}, "no given tensor is called \"z\""},
    {{{}, {}, {}, {{"layers.0.bias", "a.bias"}, {"layers.1.bias", "a.bias"}}},
     "\"a.bias\" has its place already"},
    {{{}, {"layers.0.*"}, {}, {{"layers.0.bias", "a.bias"}}}, "\"layers.0.bias\" has its place"},
    {{{}, {}, {}, {{"layers.0.bias", "c.bias"}}},
     "the given tensor 'c.bias' (2) has another shape than the model's 'layers.0.bias' (3)"},
    {{{}, {"layers.2.*"}, {}, {{"layers.1.bias", "b.bias"}}},
     "the model has none left, given are 'c.weight' (2 x 3), 'c.bias' (2)"}};
  for (const auto& [options, why] : refused) {
    const auto match = match_tensors(own, file, options, true);
    EXPECT_NE(match.problem.find(why), std::string::npos) << match.problem << "\nnot: " << why;
    EXPECT_FALSE(match.hint.empty());
    EXPECT_TRUE(match.pairs.empty());
  }
}

TEST(start_values, the_proposal_of_a_refusal_is_taken_when_it_is_pasted) {
  const auto own = network();
  const auto file = file_of({{"b.bias", {3}},
                             {"b.weight", {3, 3}},
                             {"a.weight", {3, 2}},
                             {"a.bias", {3}},
                             {"head", {9, 3}}});
  const auto first = match_tensors(own, file, {}, true);
  EXPECT_NE(first.hint.find("start_fresh = [\"layers.2.weight\", \"layers.2.bias\"]\n"
                            "start_ignore = [\"head\"]"),
            std::string::npos)
    << first.hint;
  start_options options;
  options.start_names = {{"layers.0.bias", "b.bias"}, {"layers.1.bias", "a.bias"}};
  options.start_fresh = {"layers.2.weight", "layers.2.bias"};
  options.start_ignore = {"head"};
  EXPECT_EQ(match_tensors(own, file, options, true).problem, "");
}

TEST(start_values, fresh_ones_have_the_values_of_the_seed) {
  const auto own = network();
  const auto& layout = own.layout();
  const auto file = file_of({{"layers.1.weight", {3, 3}}});
  std::vector<float> values(9);
  std::iota(values.begin(), values.end(), 100.0f);
  start_options options;
  options.start_fresh = {"layers.0.*", "layers.2.*", "*.1.b*s"};
  const auto match = match_tensors(own, file, options, false);
  ASSERT_EQ(match.problem, "");
  const auto started = started_values(own, match, file, values, false, 7);
  std::vector<float> by_seed(layout.size());
  own.initialize(7, by_seed);
  for (const auto& tensor : layout.tensors())
    for (size_t i = 0; i < tensor.size; ++i)
      EXPECT_EQ(started[tensor.offset + i], tensor.name == "layers.1.weight"
                                              ? 100.0f + static_cast<float>(i)
                                              : by_seed[tensor.offset + i])
        << tensor.name;
}

std::unique_ptr<layer_chain> images() {
  chain_options options;
  options.shape = {2, 3, 2};
  options.layers = "convolution channels=2 kernel=[1, 2]";
  return make_chain(options, 12, 3, loss_kind::categorical_cross_entropy);
}

TEST(start_values, images_have_channels_first_in_pytorch) {
  const auto own = images();
  // Weight [2, 1, 2, 2] is [2, 2, 1, 2] there: O, I, H, W. Behind it are 2 x 2 places of 2 channels.
  EXPECT_EQ(torch_shape(*own, 0), (std::vector<size_t>{2, 2, 1, 2}));
  EXPECT_EQ(torch_shape(*own, 2), (std::vector<size_t>{3, 8}));
  std::vector<float> theirs(8), mine(8);
  std::iota(theirs.begin(), theirs.end(), 0.0f);
  from_torch(*own, 0, theirs, mine);
  EXPECT_EQ(mine, (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  theirs.resize(24);
  mine.resize(24);
  std::iota(theirs.begin(), theirs.end(), 0.0f);
  from_torch(*own, 2, theirs, mine);
  EXPECT_EQ(std::vector<float>(mine.begin(), mine.begin() + 8),
            (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}));
  std::vector<float> back(24);
  to_torch(*own, 2, mine, back);
  EXPECT_EQ(back, theirs);
  EXPECT_TRUE(own->torch_order(1).empty()) << "a bias has one order";
}

TEST(start_values, frozen_elements_have_no_gradient_in_any_order) {
  auto own = network();
  std::vector<float> parameters(own.layout().size()), gradient(parameters.size());
  own.initialize(3, parameters);
  batch rows;
  rows.row_count = 2;
  const std::vector<float> features{1, 2, -1, 0.5f};
  const std::vector<int32_t> labels{0, 1};
  rows.features = features;
  rows.labels = labels;
  workspace memory;
  own.gradient(parameters, rows, gradient, memory);
  const auto whole = gradient;
  own.freeze(
    ranges_of(own.layout(), [](const tensor_info& x) { return is_like(x.name, "layers.1.*"); }));
  size_t pieces = 0;
  gradient_listener listener;
  listener.is_wanted_first = [](size_t) { return false; };
  listener.on_piece = [&](size_t begin, size_t end, const batch_sums&) {
    ++pieces;
    for (size_t i = begin; i < end; ++i)
      EXPECT_EQ(gradient[i], own.frozen().front().contains(i) ? 0 : whole[i]);
  };
  std::ranges::fill(gradient, 5.0f);
  own.gradient(parameters, rows, gradient, memory, &listener);
  const index_range middle{9, 21};
  EXPECT_EQ(own.frozen(), (std::vector<index_range>{middle}));
  for (size_t i = 0; i < gradient.size(); ++i)
    EXPECT_EQ(gradient[i], middle.contains(i) ? 0 : whole[i]);
  EXPECT_TRUE(std::ranges::any_of(std::span{whole}.subspan(9, 12), [](float x) { return x != 0; }));
  std::vector<float> window(4, 1);
  own.clear_frozen(window, 7);
  EXPECT_EQ(window, (std::vector<float>{1, 1, 0, 0}));
}

} // namespace
} // namespace troupe::start_values_test
