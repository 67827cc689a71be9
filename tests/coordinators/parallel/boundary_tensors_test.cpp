// Boundaries as tensors: what members of a group need of each other is what they send, no more and no less,
// and a group whose pieces travel as tensors has the bits of one whose pieces do not.

#include "coordinators/parallel/boundary_tensors.hpp"
#include "coordinators/parallel/tile_rule.hpp"
#include "coordinators/parallel/tile_window.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/part_company.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::boundary_tensors_test {
namespace {

using namespace test;

constexpr uint64_t version = 3;
constexpr uint64_t term = 7;

/// Each member is a process of its own: it expects what it needs, and is handed what is whole.
struct wired_company {
  struct awaited {
    size_t member;
    needed_boundary what;
    expected_tensor tensor;
    bool has_arrived = false;
  };

  wired_company(const split_problem& x, part_company& company, bool evaluates)
    : tensors(x.network, company.group) {
    for (size_t i = 0; i < company.group.size(); ++i)
      for (size_t slice = 0; slice < slice_count; ++slice)
        for (const auto& what :
             tensors.needs(i, version, {evaluates, slice, x.rows_of(slice).row_count}))
          expected.push_back({i, what, {expectation_of(what), {}}});
    company.carry = [this](const partition_work::sent& news) { return travel(news); };
  }

  static expectation expectation_of(const needed_boundary& what) {
    expectation result;
    result.kind = tensor_kind::boundary;
    result.key = version;
    result.elements = what.elements;
    const auto part = boundary_tensors::part_of(what.name, what.is_complete);
    result.parts = {part, part + 1};
    result.leaf_count = what.leaf_count;
    for (const auto& source : what.sources)
      result.sources.push_back({static_cast<peer_id>(source.member), what.elements, source.leaves});
    result.memory = [elements = what.elements](const tensor_name&) {
      return float_window{buffer{elements.size()}, elements.begin};
    };
    return result;
  }

  std::vector<boundary_piece> travel(const partition_work::sent& news) {
    const auto sent = tensors.tensor_of(term, news.piece);
    EXPECT_EQ(boundary_tensors::name_of(sent.of.key, sent.of.part), news.piece.name);
    std::vector<boundary_piece> result;
    size_t takers = 0;
    for (auto& one : expected) {
      const auto verdict =
        one.member == news.member
          ? one.tensor.offer({sent.of, sent.first_element, sent.values, sent.note, {}}, {})
          : piece_verdict::unexpected;
      EXPECT_NE(verdict, piece_verdict::conflict);
      EXPECT_NE(verdict, piece_verdict::malformed);
      takers += verdict >= piece_verdict::known ? 1 : 0;
      std::vector<exchange_effect> effects;
      one.tensor.take_arrived(effects);
      for (const auto& effect : effects)
        result.push_back(tensors.piece_of(one.what, std::get<tensor_arrived>(effect)));
    }
    EXPECT_EQ(takers, 1u) << "what is sent is needed, once";
    return result;
  }

  /// Nobody would ask for anything more.
  bool misses_nothing() {
    bool result = true;
    for (const auto& one : expected)
      one.tensor.ask(term, [&](peer_id, const tensor_want&) { result = false; });
    return result;
  }

  boundary_tensors tensors;
  std::vector<awaited> expected;
};

void expect_same_bits(const neural_network_options& options, const std::string& what) {
  const split_problem x{options};
  const auto parts = x.network->chain().part_count();
  for (size_t a = 1; a <= parts; ++a)
    for (size_t p = 1; p <= std::min<size_t>(x.network->chain().size(), 3); ++p)
      for (const auto kind : {tile_rule::work_kind::step, tile_rule::work_kind::evaluation}) {
        part_company direct{x, {1, a, p}, {}, 1};
        part_company company{x, {1, a, p}, {}, 2};
        wired_company wires{x, company, kind == tile_rule::work_kind::evaluation};
        const auto where =
          what + ", tensor " + std::to_string(a) + ", pipeline " + std::to_string(p);
        ASSERT_EQ(company.run(kind, version), direct.run(kind, version)) << where;
        ASSERT_TRUE(wires.misses_nothing()) << where;
        ASSERT_EQ(wires.expected.empty(), a * p == 1) << where;
      }
}

TEST(boundary_tensors, a_group_over_wires_has_the_bits_of_one_in_a_process) {
  for (const auto loss :
       {loss_kind::categorical_cross_entropy, loss_kind::squared, loss_kind::poisson})
    for (const auto* word : {"OIN", "OIO", "IOI", "NOIN", "INO"})
      expect_same_bits(network_of_letters(loss, word, 4),
                       std::string{word} + ", " + std::string{name_of(loss)});
}

TEST(boundary_tensors, parts_without_units_are_waited_for_by_nobody) {
  for (const auto* word : {"OI", "IO", "OIO", "NO"}) {
    auto options = network_of_letters(loss_kind::categorical_cross_entropy, word, 5);
    options.hidden.assign(options.hidden.size(), 3);
    options.outputs = 4;
    expect_same_bits(options, std::string{"few units, "} + word);
  }
}

TEST(boundary_tensors, names_come_back_from_their_numbers) {
  for (const auto evaluates : {false, true})
    for (const size_t item : {size_t{0}, size_t{5}, (size_t{1} << 40) + 1})
      for (const size_t boundary : {size_t{0}, size_t{7}, size_t{65535}})
        for (const auto way :
             {boundary_way::forward, boundary_way::backward, boundary_way::figures}) {
          const boundary_name name{version, evaluates, item, boundary, way};
          EXPECT_EQ(boundary_tensors::name_of(version, boundary_tensors::part_of(name, false)),
                    name);
          EXPECT_EQ(boundary_tensors::name_of(version, boundary_tensors::part_of(name, true)),
                    name);
          EXPECT_NE(boundary_tensors::part_of(name, true), boundary_tensors::part_of(name, false));
        }
}

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

TEST(segment_fetching, each_is_fetched_twice_a_step_but_the_last_ones_and_once_an_evaluation) {
  const std::pair<tile_rule::work_kind, const char*> rows[] = {
    {step, "+0 +1;-0 +2;-1 +3;-2 +4;;;-4 +2;-3 +1;-2 +0;-1;-0"},
    {evaluation, "+0 +1;-0 +2;-1 +3;-2 +4;-3;-4"}};
  for (const auto& [kind, fetched] : rows) {
    segment_fetching x{network().chain(), whole};
    x.begin(kind, 3, having({}));
    EXPECT_EQ(fetched_by(x, kind), fetched);
  }
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

} // namespace
} // namespace troupe::boundary_tensors_test
