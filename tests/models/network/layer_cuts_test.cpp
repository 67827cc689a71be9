#include "models/segments/layer_cuts.hpp"

#include <gtest/gtest.h>

namespace troupe::layer_cuts_test {

namespace {

/// "OIN" for outputs, inputs, none.
std::string word_of(const std::vector<layer_cut>& cuts) {
  std::string result;
  for (auto cut : cuts)
    result += "NOI"[static_cast<size_t>(cut)];
  return result;
}

std::vector<layer_cut> cuts_of(std::string_view word) {
  std::vector<layer_cut> result;
  for (char letter : word)
    result.push_back(letter == 'O'   ? layer_cut::outputs
                     : letter == 'I' ? layer_cut::inputs
                                     : layer_cut::none);
  return result;
}

std::string cheapest(std::vector<size_t> widths, size_t parts) {
  return word_of(cheapest_cuts(widths, parts));
}

} // namespace

TEST(layer_cuts, wide_layers_are_cut_in_pairs_and_narrow_ones_not) {
  EXPECT_EQ(cheapest({784, 2048, 2048, 10}, 4), "OIN") << "20 k repeated beat a sum of 2,048";
  EXPECT_EQ(cheapest({2048, 2048, 2048, 2048, 2048}, 2), "OIOI");
  EXPECT_EQ(cheapest({784, 4096, 10}, 4), "OI");
  EXPECT_EQ(cheapest({784, 512, 50'000}, 4), "IO") << "OI would add up logits";
  EXPECT_EQ(cheapest({784, 10}, 2), "O");
  EXPECT_EQ(cheapest({100'000, 1}, 4), "I") << "one unit cannot be shared";
  EXPECT_EQ(cheapest({784, 2048, 2048, 10}, 1), "NNN");
  EXPECT_EQ(cheapest({64, 8, 6, 10}, 4), "OIN") << "it does not pay, but was asked for";
  EXPECT_EQ(cheapest({1, 1}, 2), "I");
}

// The law of the choice is its sum: no sentence of the grammar costs less.
TEST(layer_cuts, every_choice_keeps_the_grammar) {
  for (size_t seed = 1; seed < 3'000; ++seed) {
    std::vector<size_t> widths;
    auto rest = seed * 2'654'435'761u;
    for (size_t i = 0; i < 2 + seed % 5; ++i, rest = rest * 6'364'136'223'846'793'005u + 1)
      widths.push_back(1 + (rest >> 33) % (1 + (rest >> 13) % 3'000));
    const auto cuts = cheapest_cuts(widths, 1 + seed % 9);
    EXPECT_EQ(cut_problem(cuts, widths.size() - 1), "") << word_of(cuts);
  }
}

TEST(layer_cuts, what_cannot_be_cut_is_refused_by_layer) {
  for (const auto* good : {"", "N", "O", "I", "OI", "IOI", "NOIO", "IN"})
    EXPECT_EQ(cut_problem(cuts_of(good), std::string_view{good}.size()), "") << good;
  EXPECT_EQ(cut_problem(cuts_of("NON"), 3),
            "layer 1 is cut by outputs, so layer 2 must be cut by inputs");
  EXPECT_EQ(cut_problem(cuts_of("OOI"), 3),
            "layer 0 is cut by outputs, so layer 1 must be cut by inputs");
  EXPECT_EQ(cut_problem(cuts_of("NI"), 2),
            "layer 1 is cut by inputs, so layer 0 must be cut by outputs");
  EXPECT_EQ(cut_problem(cuts_of("N"), 2), "1 cuts for 2 layers");
}

TEST(layer_cuts, segments_lie_between_whole_activations) {
  const std::vector<layer_segment> expected{{0, 1, layer_cut::inputs},
                                            {1, 1, layer_cut::none},
                                            {2, 2, layer_cut::inputs},
                                            {4, 1, layer_cut::outputs}};
  EXPECT_EQ(segments_of(cuts_of("INOIO")), expected);
}

TEST(layer_cuts, only_wide_networks_are_cut_by_default) {
  EXPECT_EQ(default_part_count(std::vector<size_t>{}), 1u);
  EXPECT_EQ(default_part_count(std::vector<size_t>{1023, 4096}), 1u);
  EXPECT_EQ(default_part_count(std::vector<size_t>{1024}), 2u);
  EXPECT_EQ(default_part_count(std::vector<size_t>{4096, 2048}), 4u);
  EXPECT_EQ(default_part_count(std::vector<size_t>{3000}), 4u) << "parts of 750 units";
  EXPECT_EQ(default_part_count(std::vector<size_t>{100'000}), 8u);
}

} // namespace troupe::layer_cuts_test
