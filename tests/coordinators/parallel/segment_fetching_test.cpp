#include "coordinators/parallel/segment_fetching.hpp"

#include "coordinators/parallel/tile_window.hpp"
#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::segment_fetching_test {

namespace {

constexpr auto step = tile_rule::work_kind::step;
constexpr auto evaluation = tile_rule::work_kind::evaluation;

/// Five layers, none of them cut: as many segments.
const neural_network& network() {
  static const neural_network result{[] {
    neural_network_options options;
    options.features = 3;
    options.hidden = {4, 5, 6, 7};
    options.outputs = 2;
    options.loss = loss_kind::squared;
    return options;
  }()};
  return result;
}

const partition whole{{0, 4}, {0, 5}, {0, 1}};

/// A process that has the parameters of these segments.
windowed_buffer having(std::initializer_list<size_t> segments) {
  std::vector<index_range> elements;
  for (const auto k : segments)
    for (const auto& one : elements_read(network().chain(), {{}, {k, k + 1}, {0, 1}}))
      elements.push_back(one);
  elements.push_back({0, 1}); // which tells that others are announced
  const auto window = std::make_shared<const element_window>(elements);
  return {buffer{window->size()}, window};
}

/// "+0 +1 -0": asks for 0 and 1, lets 0 go.
std::string requests_of(segment_fetching& x) {
  std::string result;
  for (const auto& one : x.take_requests())
    result += (result.empty() ? "" : " ") + std::string(one.is_needed ? "+" : "-") +
              std::to_string(one.segment);
  return result;
}

/// Of a step of three slices: what is asked for before the first tile and after each segment's last.
/// Whatever was asked for arrives at once.
std::string fetched_by(segment_fetching& x, tile_rule::work_kind kind) {
  std::vector<std::pair<size_t, tile_way>> path;
  for (size_t k = 0; k < 5; ++k)
    path.emplace_back(k, tile_way::forward);
  for (size_t k = 5; kind == step && k-- > 0;)
    path.emplace_back(k, tile_way::backward);
  auto result = requests_of(x);
  for (const auto& [k, way] : path) {
    for (size_t other = 0; other < 5; ++other)
      x.on_arrived(other, buffer{100});
    EXPECT_EQ(std::ranges::count(x.missing(), k), 0) << "segment " << k;
    for (size_t item = 0; item < 3; ++item) {
      EXPECT_EQ(requests_of(x), "") << "before the last slice";
      x.on_computed({item, k, way});
      x.on_computed({item, k, tile_way::gradient});
    }
    result += ";" + requests_of(x);
  }
  return result;
}

} // namespace

TEST(segment_fetching, each_is_fetched_twice_a_step_but_the_last_ones) {
  segment_fetching x{network().chain(), whole};
  x.begin(step, 3, having({}));
  EXPECT_EQ(fetched_by(x, step), "+0 +1;-0 +2;-1 +3;-2 +4;;;-4 +2;-3 +1;-2 +0;-1;-0");
}

TEST(segment_fetching, an_evaluation_goes_forward_only) {
  segment_fetching x{network().chain(), whole};
  x.begin(evaluation, 3, having({}));
  EXPECT_EQ(fetched_by(x, evaluation), "+0 +1;-0 +2;-1 +3;-2 +4;-3;-4");
}

TEST(segment_fetching, what_the_process_has_is_not_fetched) {
  segment_fetching x{network().chain(), whole};
  x.begin(step, 3, having({1, 2, 4}));
  EXPECT_EQ(x.missing(), (std::vector<size_t>{0, 3}));
  EXPECT_EQ(fetched_by(x, step), "+0 +3;;;;;;;-3;;;-0");
  x.begin(step, 3, {buffer{200}});
  EXPECT_EQ(x.missing(), std::vector<size_t>{}) << "all of it in one buffer";
  EXPECT_EQ(requests_of(x), "");
}

TEST(segment_fetching, what_was_not_asked_for_or_comes_twice_is_ignored) {
  segment_fetching x{network().chain(), whole};
  x.begin(step, 1, having({}));
  EXPECT_FALSE(x.on_arrived(4, buffer{100}));
  EXPECT_TRUE(x.on_arrived(0, buffer{100}));
  EXPECT_FALSE(x.on_arrived(0, buffer{100}));
  EXPECT_EQ(x.missing(), (std::vector<size_t>{1, 2, 3, 4}));
}

TEST(segment_fetching, values_are_found_at_their_elements) {
  segment_fetching x{network().chain(), whole};
  x.begin(step, 1, having({}));
  const buffer first{100};
  first.values()[2] = 7;
  x.on_arrived(0, first);
  const auto elements = elements_read(network().chain(), {{}, {0, 1}, {0, 1}}).front();
  EXPECT_EQ(x.of(0).at({elements.begin + 2, elements.begin + 3}).front(), 7);
}

TEST(segment_fetching, what_is_given_up_is_let_go) {
  segment_fetching x{network().chain(), whole};
  x.begin(step, 2, having({}));
  EXPECT_EQ(requests_of(x), "+0 +1");
  x.on_arrived(0, buffer{100});
  x.end();
  EXPECT_EQ(requests_of(x), "-0 -1");
  x.begin(evaluation, 0, having({}));
  EXPECT_EQ(requests_of(x), "") << "without items";
}

} // namespace troupe::segment_fetching_test
